package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// Calls that newer architectures no longer have.
var (
	legacyAttributeCalls = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
	legacyNameCalls      = []uint32{
		unix.SYS_MKDIR,
		unix.SYS_RMDIR,
		unix.SYS_MKNOD,
		unix.SYS_LINK,
		unix.SYS_SYMLINK,
		unix.SYS_RENAME,
		unix.SYS_UNLINK,
	}
	legacyProcessCalls = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_MODIFY_LDT, unix.SYS_INOTIFY_INIT}
	// _sysctl(2) writes kernel settings up to Linux 5.5.
	legacyKernelCalls = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS__SYSCTL, unix.SYS_USELIB}
)

func openLegacy(p *program) {
	p.without(unix.SYS_OPEN, 1, writing)
	p.when(refuse, unix.SYS_CREAT)
}
