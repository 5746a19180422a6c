//go:build amd64 || arm64

package confine

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestAnswersByArgument: calls that are let through with some arguments only, with each that matters.
func TestAnswersByArgument(t *testing.T) {
	check, network := Rules{}, Rules{Network: true}
	for name, c := range map[string]struct {
		r    Rules
		nr   uint32
		a    args
		want uint32
	}{
		"TCP":                  {network, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_STREAM}, allow},
		"TCP, flags":           {network, unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, allow},
		"UDP":                  {network, unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_DGRAM}, allow},
		"raw":                  {network, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_RAW}, refuse},
		"raw, 6":               {network, unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_RAW | unix.SOCK_CLOEXEC}, refuse},
		"Unix":                 {network, unix.SYS_SOCKET, args{unix.AF_UNIX, unix.SOCK_STREAM}, refuse},
		"Unix, datagrams":      {network, unix.SYS_SOCKET, args{unix.AF_UNIX, unix.SOCK_DGRAM}, refuse},
		"netlink":              {network, unix.SYS_SOCKET, args{unix.AF_NETLINK, unix.SOCK_DGRAM}, refuse},
		"packets":              {network, unix.SYS_SOCKET, args{unix.AF_PACKET, unix.SOCK_RAW}, refuse},
		"TCP, of a check":      {check, unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_STREAM}, refuse},
		"a thread":             {check, unix.SYS_CLONE, args{unix.CLONE_THREAD | unix.CLONE_VM}, allow},
		"a process":            {check, unix.SYS_CLONE, args{unix.CLONE_VM}, refuse},
		"a thread, elsewhere":  {check, unix.SYS_CLONE, args{unix.CLONE_THREAD | unix.CLONE_NEWNET}, refuse},
		"a copy":               {check, unix.SYS_FCNTL, args{3, unix.F_DUPFD_CLOEXEC}, allow},
		"flags":                {check, unix.SYS_FCNTL, args{3, unix.F_SETFL, unix.O_NONBLOCK}, allow},
		"signals":              {check, unix.SYS_FCNTL, args{3, unix.F_SETFL, unix.O_ASYNC}, refuse},
		"an owner":             {check, unix.SYS_FCNTL, args{3, unix.F_SETOWN}, refuse},
		"a lock":               {check, unix.SYS_FCNTL, args{3, unix.F_SETLK}, refuse},
		"a size":               {check, unix.SYS_IOCTL, args{3, unix.TIOCGWINSZ}, allow},
		"typing":               {check, unix.SYS_IOCTL, args{3, unix.TIOCSTI}, refuse},
		"the third argument":   {check, unix.SYS_IOCTL, args{unix.TIOCGWINSZ, unix.TIOCSTI, unix.TIOCGWINSZ}, refuse},
		"a timer":              {check, unix.SYS_TIMERFD_CREATE, args{unix.CLOCK_MONOTONIC}, allow},
		"one that wakes":       {check, unix.SYS_TIMERFD_CREATE, args{unix.CLOCK_BOOTTIME_ALARM}, refuse},
		"another that wakes":   {check, unix.SYS_TIMER_CREATE, args{unix.CLOCK_REALTIME_ALARM}, refuse},
		"reading":              {check, unix.SYS_OPENAT, args{3, 0, unix.O_RDONLY | unix.O_CLOEXEC}, allow},
		"writing":              {check, unix.SYS_OPENAT, args{3, 0, unix.O_WRONLY}, refuse},
		"reading and writing":  {check, unix.SYS_OPENAT, args{3, 0, unix.O_RDWR}, refuse},
		"truncating":           {check, unix.SYS_OPENAT, args{3, 0, unix.O_RDONLY | unix.O_TRUNC}, refuse},
		"making":               {check, unix.SYS_OPENAT, args{3, 0, unix.O_RDONLY | unix.O_CREAT}, refuse},
		"the others' argument": {check, unix.SYS_OPENAT, args{unix.O_WRONLY, unix.O_WRONLY, unix.O_RDONLY, unix.O_WRONLY}, allow},
		"advice":               {check, unix.SYS_MADVISE, args{0, 0, unix.MADV_DONTNEED}, allow},
		"bad advice":           {check, unix.SYS_MADVISE, args{0, 0, unix.MADV_HWPOISON}, refuse},
	} {
		if got := filterAnswers(t, filter(c.r), auditArch, c.nr, c.a); got != c.want {
			t.Errorf("%s: %#x, not %#x", name, got, c.want)
		}
	}
}
