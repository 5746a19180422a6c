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
	allow  = unix.SECCOMP_RET_ALLOW
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unheld = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // callers have something older to fall back on
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
func (p *program) without(nr, arg, bits uint32) { p.bits(nr, arg, bits, refuse, allow) }

// with lets it through when one of bits is set.
func (p *program) with(nr, arg, bits uint32) { p.bits(nr, arg, bits, allow, refuse) }

func (p *program) bits(nr, arg, bits, set, unset uint32) {
	var body program
	body.load(offArgs + 8*arg)
	body = append(body, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: bits})
	body.ret(set)
	body.ret(unset)
	p.sub(nr, body)
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
	p.ret(unheld)
	p.when(refuse, attributeCalls...)
	p.when(refuse, kernelCalls...)
	p.when(unheld, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER) // past any filter
	if len(r.Write) == 0 {
		p.when(refuse, nameCalls...)
	}
	if r.Program {
		p.ret(allow)
		return p
	}
	if len(r.Write) == 0 {
		p.without(unix.SYS_OPENAT, 2, writing)
		p.when(refuse, unix.SYS_FALLOCATE, unix.SYS_FTRUNCATE)
		openLegacy(&p)
	}
	if !r.Resolve {
		p.when(unheld, unix.SYS_OPENAT2)
	}
	p.when(refuse, processCalls...)
	self := uint32(os.Getpid())
	p.only(unix.SYS_KILL, 0, self) // the Go runtime ends, and preempts, itself with signals
	p.only(unix.SYS_TGKILL, 0, self)
	p.only(unix.SYS_PRLIMIT64, 0, 0, self)
	p.with(unix.SYS_CLONE, 0, unix.CLONE_THREAD)
	p.when(unheld, unix.SYS_CLONE3) // its flags are behind a pointer; callers fall back on clone
	p.only(unix.SYS_IOCTL, 1, ioctls...)
	if r.Network {
		p.only(unix.SYS_SOCKET, 0, unix.AF_INET, unix.AF_INET6)
	} else {
		p.when(refuse, unix.SYS_SOCKET)
	}
	p.ret(allow)
	return p
}

// installFilter puts the filter on all threads. The calling thread has no_new_privs.
func installFilter(p program) error {
	if p == nil {
		return errNoFilter
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	// Without SPEC_ALLOW kernels before 5.16 slow the process down for the sake of
	// speculation attacks, which are no concern here; before 4.17 they don't know the flag.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, unix.SECCOMP_FILTER_FLAG_TSYNC} {
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
