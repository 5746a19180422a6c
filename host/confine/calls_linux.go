//go:build amd64 || arm64

package confine

import "golang.org/x/sys/unix"

// newest is the newest system call that this list was read against (Linux
// 7.0, include/uapi/asm-generic/unistd.h and
// arch/x86/entry/syscalls/syscall_64.tbl). What came later may change things
// in ways not known here, and is answered as unknown.
const newest = unix.SYS_RSEQ_SLICE_YIELD

// attributeCalls change what a file is like. Landlock does not cover them
// (landlock(7), "Current limitations").
var attributeCalls = append([]uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_UTIMENSAT, unix.SYS_FILE_SETATTR,
}, legacyAttributeCalls...)

// nameCalls change which files there are.
var nameCalls = append([]uint32{
	unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT,
	unix.SYS_TRUNCATE, unix.SYS_RENAMEAT, unix.SYS_MQ_UNLINK,
}, legacyNameCalls...)

// contentCalls change what is in a file, or have the disk work for it.
var contentCalls = []uint32{unix.SYS_FALLOCATE, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE}

// socketCalls use a socket for something other than the talk with the parent,
// which reads and writes.
var socketCalls = []uint32{
	unix.SYS_SOCKET,
	unix.SYS_CONNECT,
	unix.SYS_BIND,
	unix.SYS_SENDTO,
	unix.SYS_SENDMSG,
	unix.SYS_SENDMMSG,
	unix.SYS_SETSOCKOPT,
}

// kernelCalls change mounts, the kernel, its clock, its keys, other namespaces.
var kernelCalls = append([]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PIDFD_GETFD,
}, legacyKernelCalls...)

// processCalls start programs, or act on other processes and on what they
// share. A check has no use for them.
var processCalls = append([]uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_TKILL,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
	unix.SYS_SCHED_SETAFFINITY,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN,
	unix.SYS_LISTEN, // Landlock does not know multipath TCP, which is what Go listens with
	// A datagram socket of a pair sends to any other by name (unix(7)).
	unix.SYS_SOCKETPAIR,
	unix.SYS_FLOCK, unix.SYS_SYNC, unix.SYS_SYNCFS, unix.SYS_FADVISE64, unix.SYS_READAHEAD,
	// msync writes a page that somebody else has changed; mbind moves pages of others;
	// watches count against root's limit.
	unix.SYS_MSYNC, unix.SYS_MBIND, unix.SYS_INOTIFY_INIT1,
	unix.SYS_IO_SETUP, unix.SYS_PROCESS_MRELEASE, unix.SYS_LSM_SET_SELF_ATTR,
}, legacyProcessCalls...)
