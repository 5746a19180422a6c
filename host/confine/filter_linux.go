package confine

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNoFilter: the kernel, or fettle on this architecture, has no system call filter.
var errNoFilter = errors.New("no system call filters here")

// A filter's answers.
const (
	allow          = unix.SECCOMP_RET_ALLOW
	refuse         = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	notImplemented = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // callers have something older to fall back on
)

// Offsets in struct seccomp_data, include/uapi/linux/seccomp.h; of arguments
// the low half on little-endian machines.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

type program []unix.SockFilter

func (p *program) stmt(code uint16, k uint32) { *p = append(*p, unix.SockFilter{Code: code, K: k}) }

func (p *program) load(off uint32) { p.stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off) }
func (p *program) ret(k uint32)    { p.stmt(unix.BPF_RET|unix.BPF_K, k) }

// unless goes past the next statement when what was loaded is not k.
func (p *program) unless(k uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: k})
}

// when answers k for system call nr, whatever its arguments.
func (p *program) when(k uint32, nrs ...uint32) {
	for _, nr := range nrs {
		p.unless(nr)
		p.ret(k)
	}
}

// only lets system call nr through when the low half of argument arg is one of
// values.
func (p *program) only(nr uint32, arg uint32, values ...uint32) {
	var body program
	body.load(offArgs + 8*arg)
	body.when(allow, values...)
	body.ret(refuse)
	p.sub(nr, body)
}

// without lets system call nr through when none of bits is set in argument arg.
func (p *program) without(nr, arg, bits uint32) {
	var body program
	body.load(offArgs + 8*arg)
	body.set(refuse, bits)
	body.ret(allow)
	p.sub(nr, body)
}

// not lets system call nr through unless its first argument is one of values.
func (p *program) not(nr uint32, values ...uint32) {
	var body program
	body.load(offArgs)
	body.when(refuse, values...)
	body.ret(allow)
	p.sub(nr, body)
}

// set answers k when one of bits is set in what was loaded.
func (p *program) set(k, bits uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: bits})
	p.ret(k)
}

// thread lets clone(2) make threads of this process, in its own namespaces.
func (p *program) thread() {
	var body program
	body.load(offArgs)
	body.set(refuse, namespaces)
	body.set(allow, unix.CLONE_THREAD)
	body.ret(refuse)
	p.sub(unix.SYS_CLONE, body)
}

// inet lets TCP and UDP sockets be made: no raw ones.
func (p *program) inet() {
	var kind, body program
	kind.load(offArgs + 8*1)
	kind.stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, ^uint32(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK))
	kind.when(allow, unix.SOCK_STREAM, unix.SOCK_DGRAM)
	kind.ret(refuse)
	body.load(offArgs)
	body = append(body, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: unix.AF_INET},
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.AF_INET6})
	body.ret(refuse)
	body = append(body, kind...)
	p.sub(unix.SYS_SOCKET, body)
}

// fcntl lets a descriptor be copied, and its flags be read and set. Not leases
// and locks, which hold others up, nor owners of signals: a descriptor signals
// whoever F_SETOWN names, which Landlock refuses from Linux 6.12 on only.
func (p *program) fcntl() {
	var flags, body program
	flags.load(offArgs + 8*2)
	flags.set(refuse, unix.O_ASYNC)
	flags.ret(allow)
	body.load(offArgs + 8*1)
	body.sub(unix.F_SETFL, flags)
	body.when(allow, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL)
	body.ret(refuse)
	p.sub(unix.SYS_FCNTL, body)
}

// sub runs body, which must end with an answer, for system call nr.
func (p *program) sub(nr uint32, body program) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(body)), K: nr})
	*p = append(*p, body...)
}

// writing are the open(2) flags of somebody who wants to change something.
// The last is __O_TMPFILE.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | 0x400000

// ioctls that only read: terminal settings and sizes, bytes to read, file attributes.
var ioctls = []uint32{unix.TCGETS, 0x802c542a /* TCGETS2 */, unix.TIOCGWINSZ, 0x541b, /* FIONREAD */
	0x5451 /* FIOCLEX */, 0x5421 /* FIONBIO */, unix.FS_IOC_GETFLAGS, 0x801c581f /* FS_IOC_FSGETXATTR */}

// namespaces are the flags of clone(2) that make a new one.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// advice is what the Go runtime, the race detector and libc say of their own
// memory. Root's MADV_HWPOISON takes a page from the whole machine.
var advice = []uint32{unix.MADV_NORMAL, unix.MADV_RANDOM, unix.MADV_SEQUENTIAL, unix.MADV_WILLNEED, unix.MADV_DONTNEED, unix.MADV_FREE,
	unix.MADV_DONTFORK, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_DONTDUMP, unix.MADV_DODUMP, unix.MADV_POPULATE_READ,
	unix.MADV_POPULATE_WRITE, unix.MADV_COLLAPSE}

// filter writes the program for r. It refuses by name what changes something,
// and as unknown what is newer than this list. Nil: not on this architecture.
func filter(r Rules) program {
	if auditArch == 0 {
		return nil
	}
	var p program
	p.load(offArch)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: auditArch})
	p.ret(refuse)
	p.load(offNr)
	// Also the x32 calls of amd64, whose numbers have bit 30 set.
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, Jf: 1, K: newest})
	p.ret(notImplemented)
	p.when(refuse, attributeCalls...)
	p.when(refuse, kernelCalls...)
	p.when(notImplemented, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER) // past any filter
	if len(r.Write) == 0 {
		p.when(refuse, nameCalls...)
	}
	if r.Program {
		p.ret(allow)
		return p
	}
	if len(r.Write) == 0 {
		p.without(unix.SYS_OPENAT, 2, writing)
		p.when(refuse, contentCalls...)
		openLegacy(&p)
	}
	if !r.Resolve {
		p.when(notImplemented, unix.SYS_OPENAT2)
	}
	p.when(refuse, processCalls...)
	self := uint32(os.Getpid())
	p.only(unix.SYS_KILL, 0, self) // the Go runtime ends, and preempts, itself with signals
	p.only(unix.SYS_TGKILL, 0, self)
	p.only(unix.SYS_PRLIMIT64, 0, 0, self)
	p.thread()
	p.when(notImplemented, unix.SYS_CLONE3) // its flags are behind a pointer; callers fall back on clone
	p.only(unix.SYS_IOCTL, 1, ioctls...)
	p.fcntl()
	p.only(unix.SYS_MADVISE, 2, advice...)
	for _, nr := range []uint32{unix.SYS_TIMERFD_CREATE, unix.SYS_TIMER_CREATE} {
		p.not(nr, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_BOOTTIME_ALARM) // wakes a machine that sleeps
	}
	if r.Network {
		p.inet()
	} else {
		p.when(refuse, socketCalls...)
	}
	p.ret(allow)
	return p
}

// installFilter puts the filter on the calling thread, which has no_new_privs,
// and with SECCOMP_FILTER_FLAG_TSYNC as threads on all others.
func installFilter(p program, threads uintptr) error {
	if p == nil {
		return errNoFilter
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	// Without SPEC_ALLOW kernels before 5.16 slow the process down for the sake of
	// speculation attacks, which are no concern here; before 4.17 they don't know the flag.
	for _, flags := range []uintptr{threads | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, threads} {
		r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		runtime.KeepAlive(p)
		switch {
		case errno == 0 && r == 0:
			return nil
		case errno == 0: // the thread that could not be reached, seccomp(2)
			return errors.New("a thread already has a filter of its own")
		case errno == unix.ENOSYS:
			return errNoFilter
		case errno != unix.EINVAL:
			return errno
		}
	}
	return errNoFilter // EINVAL twice: built without CONFIG_SECCOMP_FILTER
}
