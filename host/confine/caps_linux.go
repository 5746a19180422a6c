package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// kept are the capabilities (capabilities(7)) that a check of root's needs, and for
// what. It is given no other: with fewer than another process of root's has, it may
// not look into that either (ptrace(2), PTRACE_MODE_READ), whatever Landlock knows.
// CAP_PERFMON alone would open all of them (may_access_mm, kernel/fork.c, Linux 6.15).
var kept = map[int]string{
	unix.CAP_DAC_READ_SEARCH: "reads files and folders of all users",
	unix.CAP_SETUID:          "reads a user's files with that user's rights (setfsuid(2))",
	unix.CAP_SETGID:          "and with that user's groups",
}

// dropCapabilities gives up, in all threads, the capabilities that are not kept.
func dropCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("reading this process's capabilities: %w", err)
	}
	var mask [2]uint32
	for c := range kept {
		mask[c/32] |= 1 << (c % 32)
	}
	for i := range data {
		data[i].Permitted &= mask[i]
		data[i].Effective = data[i].Permitted
		data[i].Inheritable = 0
	}
	if _, _, e := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&data[0])), 0); e != 0 {
		return fmt.Errorf("giving up capabilities: %w", e)
	}
	return nil
}
