package blockcache

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from fio: fettle stops it, in order. fio
// dies with fettle.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
