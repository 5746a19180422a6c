//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// call is a system call that changes something, with arguments with which the
// kernel itself refuses it for another reason than permission: no descriptor,
// no address, no process is bad.
type call struct {
	name string
	nr   uintptr
	args args
}

type args [6]uintptr

const (
	bad  = ^uintptr(0)
	none = 0x7ffffff0 // no process has this number: PID_MAX_LIMIT is 2^22
)

// calls has a row for every rule of a check's filter.
var calls = append([]call{
	// attributeCalls
	{
		"fchmod",
		unix.SYS_FCHMOD,
		args{bad},
	}, {"fchmodat", unix.SYS_FCHMODAT, args{bad, bad}}, {"fchmodat2", unix.SYS_FCHMODAT2, args{bad, bad}},
	{"fchown", unix.SYS_FCHOWN, args{bad}}, {"fchownat", unix.SYS_FCHOWNAT, args{bad, bad}},
	{"setxattr", unix.SYS_SETXATTR, args{bad, bad, bad, 1}}, {"lsetxattr", unix.SYS_LSETXATTR, args{bad, bad, bad, 1}},
	{"fsetxattr", unix.SYS_FSETXATTR, args{bad, bad, bad, 1}}, {"setxattrat", unix.SYS_SETXATTRAT, args{bad, bad, 0, bad, bad, 16}},
	{"removexattr", unix.SYS_REMOVEXATTR, args{bad, bad}}, {"lremovexattr", unix.SYS_LREMOVEXATTR, args{bad, bad}},
	{"fremovexattr", unix.SYS_FREMOVEXATTR, args{bad, bad}}, {"removexattrat", unix.SYS_REMOVEXATTRAT, args{bad, bad, 0, bad}},
	{"utimensat", unix.SYS_UTIMENSAT, args{bad, bad, bad}}, {"file_setattr", unix.SYS_FILE_SETATTR, args{bad, bad, bad, bad}},
	// nameCalls
	{"mkdirat", unix.SYS_MKDIRAT, args{bad, bad}}, {"mknodat", unix.SYS_MKNODAT, args{bad, bad, unix.S_IFREG}},
	{"linkat", unix.SYS_LINKAT, args{bad, bad, bad, bad}}, {"symlinkat", unix.SYS_SYMLINKAT, args{bad, bad, bad}},
	{"renameat", unix.SYS_RENAMEAT, args{bad, bad, bad, bad}}, {"renameat2", unix.SYS_RENAMEAT2, args{bad, bad, bad, bad}},
	{
		"unlinkat",
		unix.SYS_UNLINKAT,
		args{bad, bad},
	}, {"truncate", unix.SYS_TRUNCATE, args{bad}}, {"mq_unlink", unix.SYS_MQ_UNLINK, args{bad}},
	// contentCalls
	{
		"fallocate",
		unix.SYS_FALLOCATE,
		args{bad, 0, 0, 1},
	}, {"ftruncate", unix.SYS_FTRUNCATE, args{bad}}, {"fsync", unix.SYS_FSYNC, args{bad}},
	{"fdatasync", unix.SYS_FDATASYNC, args{bad}}, {"sync_file_range", unix.SYS_SYNC_FILE_RANGE, args{bad}},
	// socketCalls
	{"socket", unix.SYS_SOCKET, args{unix.AF_UNIX, 99}}, {"socket-netlink", unix.SYS_SOCKET, args{unix.AF_NETLINK, 99}},
	{"connect", unix.SYS_CONNECT, args{bad}}, {"bind", unix.SYS_BIND, args{bad}}, {"sendto", unix.SYS_SENDTO, args{bad}},
	{"sendmsg", unix.SYS_SENDMSG, args{bad}}, {"sendmmsg", unix.SYS_SENDMMSG, args{bad}}, {"setsockopt", unix.SYS_SETSOCKOPT, args{bad}},
	// kernelCalls
	{
		"mount",
		unix.SYS_MOUNT,
		args{bad, bad, bad},
	}, {"umount2", unix.SYS_UMOUNT2, args{bad}}, {"pivot_root", unix.SYS_PIVOT_ROOT, args{bad, bad}},
	{"chroot", unix.SYS_CHROOT, args{bad}}, {"move_mount", unix.SYS_MOVE_MOUNT, args{bad, bad, bad, bad, 1 << 30}},
	{"open_tree", unix.SYS_OPEN_TREE, args{bad, bad}}, {"open_tree_attr", unix.SYS_OPEN_TREE_ATTR, args{bad, bad, 1 << 30, bad, 32}},
	{"fsopen", unix.SYS_FSOPEN, args{bad}}, {"fsconfig", unix.SYS_FSCONFIG, args{bad, 99}}, {"fsmount", unix.SYS_FSMOUNT, args{bad}},
	{"fspick", unix.SYS_FSPICK, args{bad, bad}}, {"mount_setattr", unix.SYS_MOUNT_SETATTR, args{bad, bad, 1 << 30, bad, 32}},
	{"unshare", unix.SYS_UNSHARE, args{unix.CLONE_THREAD | unix.CLONE_CHILD_SETTID}}, {"setns", unix.SYS_SETNS, args{bad, 1}},
	{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, args{bad, bad}},
	{"init_module", unix.SYS_INIT_MODULE, args{bad, 1, bad}}, {"finit_module", unix.SYS_FINIT_MODULE, args{bad, bad, 1 << 30}},
	{"delete_module", unix.SYS_DELETE_MODULE, args{bad}}, {"kexec_load", unix.SYS_KEXEC_LOAD, args{0, bad, 0, bad}},
	{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD, args{bad, bad, 0, 0, bad}}, {"reboot", unix.SYS_REBOOT, args{}},
	{"swapon", unix.SYS_SWAPON, args{bad}}, {"swapoff", unix.SYS_SWAPOFF, args{bad}}, {"acct", unix.SYS_ACCT, args{bad}},
	{"quotactl", unix.SYS_QUOTACTL, args{bad, bad}}, {"quotactl_fd", unix.SYS_QUOTACTL_FD, args{bad, bad}},
	{"settimeofday", unix.SYS_SETTIMEOFDAY, args{bad}}, {"clock_settime", unix.SYS_CLOCK_SETTIME, args{0, bad}},
	{"adjtimex", unix.SYS_ADJTIMEX, args{bad}}, {"clock_adjtime", unix.SYS_CLOCK_ADJTIME, args{0, bad}},
	{"sethostname", unix.SYS_SETHOSTNAME, args{bad, 1}}, {"setdomainname", unix.SYS_SETDOMAINNAME, args{bad, 1}},
	{"syslog", unix.SYS_SYSLOG, args{99}}, {"vhangup", unix.SYS_VHANGUP, args{}}, {"bpf", unix.SYS_BPF, args{99, bad, 8}},
	{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, args{bad, bad, bad, bad, bad}}, {"userfaultfd", unix.SYS_USERFAULTFD, args{1 << 30}},
	{"fanotify_init", unix.SYS_FANOTIFY_INIT, args{bad}}, {"add_key", unix.SYS_ADD_KEY, args{bad, bad, bad, 1}},
	{
		"request_key",
		unix.SYS_REQUEST_KEY,
		args{bad, bad},
	}, {"keyctl", unix.SYS_KEYCTL, args{9999}}, {"ptrace", unix.SYS_PTRACE, args{unix.PTRACE_CONT, none}},
	{
		"process_vm_readv",
		unix.SYS_PROCESS_VM_READV,
		args{none, 0, 0, 0, 0, 1},
	}, {"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, args{none, 0, 0, 0, 0, 1}},
	{"process_madvise", unix.SYS_PROCESS_MADVISE, args{bad, bad, 1, 0, 1}}, {"migrate_pages", unix.SYS_MIGRATE_PAGES, args{none}},
	{"move_pages", unix.SYS_MOVE_PAGES, args{none}}, {"pidfd_getfd", unix.SYS_PIDFD_GETFD, args{bad, 0, 1}},
	// processCalls
	{"execve", unix.SYS_EXECVE, args{bad}}, {"execveat", unix.SYS_EXECVEAT, args{bad, bad}},
	{
		"pidfd_send_signal",
		unix.SYS_PIDFD_SEND_SIGNAL,
		args{bad, 0, 0, bad},
	}, {"rt_sigqueueinfo", unix.SYS_RT_SIGQUEUEINFO, args{none, 0, bad}},
	{"rt_tgsigqueueinfo", unix.SYS_RT_TGSIGQUEUEINFO, args{none, none, 0, bad}}, {"tkill", unix.SYS_TKILL, args{none}},
	{"setpriority", unix.SYS_SETPRIORITY, args{99}}, {"ioprio_set", unix.SYS_IOPRIO_SET, args{99}},
	{"sched_setscheduler", unix.SYS_SCHED_SETSCHEDULER, args{none, 0, bad}}, {"sched_setparam", unix.SYS_SCHED_SETPARAM, args{none, bad}},
	{"sched_setattr", unix.SYS_SCHED_SETATTR, args{none, bad}}, {"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, args{none, 8, bad}},
	{"shmget", unix.SYS_SHMGET, args{0x0fe77e}}, {"shmat", unix.SYS_SHMAT, args{bad}}, {"shmctl", unix.SYS_SHMCTL, args{bad, 99}},
	{
		"semget",
		unix.SYS_SEMGET,
		args{0x0fe77e},
	}, {"semop", unix.SYS_SEMOP, args{bad, bad, 1}}, {"semtimedop", unix.SYS_SEMTIMEDOP, args{bad, bad, 1}},
	{
		"semctl",
		unix.SYS_SEMCTL,
		args{bad, 0, 99},
	}, {"msgget", unix.SYS_MSGGET, args{0x0fe77e}}, {"msgsnd", unix.SYS_MSGSND, args{bad, bad, 1}},
	{"msgrcv", unix.SYS_MSGRCV, args{bad, bad, 1}}, {"msgctl", unix.SYS_MSGCTL, args{bad, 99}}, {"mq_open", unix.SYS_MQ_OPEN, args{bad}},
	{"listen", unix.SYS_LISTEN, args{bad}}, {"socketpair", unix.SYS_SOCKETPAIR, args{unix.AF_UNIX, 99, 0, bad}},
	{"msync", unix.SYS_MSYNC, args{1, 1, unix.MS_SYNC}}, {"mbind", unix.SYS_MBIND, args{1, 1, 99}},
	{"inotify_init1", unix.SYS_INOTIFY_INIT1, args{99}},
	{"flock", unix.SYS_FLOCK, args{bad, unix.LOCK_EX}}, {"sync", unix.SYS_SYNC, args{}}, {"syncfs", unix.SYS_SYNCFS, args{bad}},
	{
		"fadvise64",
		unix.SYS_FADVISE64,
		args{bad},
	}, {"readahead", unix.SYS_READAHEAD, args{bad}}, {"io_setup", unix.SYS_IO_SETUP, args{0, bad}},
	{"process_mrelease", unix.SYS_PROCESS_MRELEASE, args{bad, 1}}, {"lsm_set_self_attr", unix.SYS_LSM_SET_SELF_ATTR, args{bad, bad, 1, 1}},
	// past any filter
	{"io_uring_setup", unix.SYS_IO_URING_SETUP, args{0, bad}}, {"io_uring_enter", unix.SYS_IO_URING_ENTER, args{bad}},
	{"io_uring_register", unix.SYS_IO_URING_REGISTER, args{bad}},
	// by argument
	{"openat-wronly", unix.SYS_OPENAT, args{bad, bad, unix.O_WRONLY}}, {"openat-rdwr", unix.SYS_OPENAT, args{bad, bad, unix.O_RDWR}},
	{"openat-creat", unix.SYS_OPENAT, args{bad, bad, unix.O_CREAT}}, {"openat-trunc", unix.SYS_OPENAT, args{bad, bad, unix.O_TRUNC}},
	{
		"openat-tmpfile",
		unix.SYS_OPENAT,
		args{bad, bad, unix.O_TMPFILE | unix.O_RDWR},
	}, {"openat2", unix.SYS_OPENAT2, args{bad, bad, bad, 24}},
	{
		"kill",
		unix.SYS_KILL,
		args{none},
	}, {"kill-group", unix.SYS_KILL, args{uintptr(1<<32 - none)}}, {"tgkill", unix.SYS_TGKILL, args{none, none}},
	{"prlimit64", unix.SYS_PRLIMIT64, args{none}}, {"clone-process", unix.SYS_CLONE, args{unix.CLONE_SIGHAND}},
	{"clone-namespace", unix.SYS_CLONE, args{unix.CLONE_THREAD | unix.CLONE_NEWNET}}, {"clone3", unix.SYS_CLONE3, args{0, 8}},
	{"ioctl-setflags", unix.SYS_IOCTL, args{bad, unix.FS_IOC_SETFLAGS}}, {"ioctl-setown", unix.SYS_IOCTL, args{bad, 0x8901 /* FIOSETOWN */}},
	{"ioctl-tiocsti", unix.SYS_IOCTL, args{bad, unix.TIOCSTI}},
	{"fcntl-setown", unix.SYS_FCNTL, args{bad, unix.F_SETOWN}}, {"fcntl-setown_ex", unix.SYS_FCNTL, args{bad, unix.F_SETOWN_EX}},
	{"fcntl-setsig", unix.SYS_FCNTL, args{bad, unix.F_SETSIG}}, {"fcntl-async", unix.SYS_FCNTL, args{bad, unix.F_SETFL, unix.O_ASYNC}},
	{"fcntl-setlease", unix.SYS_FCNTL, args{bad, unix.F_SETLEASE}}, {"fcntl-notify", unix.SYS_FCNTL, args{bad, unix.F_NOTIFY}},
	{"fcntl-setlk", unix.SYS_FCNTL, args{bad, unix.F_SETLK}}, {"fcntl-setlkw", unix.SYS_FCNTL, args{bad, unix.F_SETLKW}},
	{"fcntl-ofd_setlk", unix.SYS_FCNTL, args{bad, unix.F_OFD_SETLK}}, {"fcntl-ofd_setlkw", unix.SYS_FCNTL, args{bad, unix.F_OFD_SETLKW}},
	{"fcntl-setpipe_sz", unix.SYS_FCNTL, args{bad, unix.F_SETPIPE_SZ}}, {"fcntl-add_seals", unix.SYS_FCNTL, args{bad, unix.F_ADD_SEALS}},
	{"fcntl-set_rw_hint", unix.SYS_FCNTL, args{bad, unix.F_SET_RW_HINT}},
	{
		"madvise-hwpoison",
		unix.SYS_MADVISE,
		args{0, 4096, unix.MADV_HWPOISON},
	}, {"madvise-soft_offline", unix.SYS_MADVISE, args{0, 4096, 101 /* MADV_SOFT_OFFLINE */}},
	{
		"timerfd-alarm",
		unix.SYS_TIMERFD_CREATE,
		args{unix.CLOCK_BOOTTIME_ALARM, bad},
	}, {"timer-alarm", unix.SYS_TIMER_CREATE, args{unix.CLOCK_REALTIME_ALARM, bad, bad}},
}, legacyCalls...)

// permitted are calls that checks and the Go runtime need: no filter may answer them.
var permitted = []call{
	{
		"openat",
		unix.SYS_OPENAT,
		args{bad, bad, unix.O_RDONLY | unix.O_NONBLOCK | unix.O_DIRECTORY},
	}, {"fcntl-dupfd", unix.SYS_FCNTL, args{bad, unix.F_DUPFD_CLOEXEC}},
	{"fcntl-getfl", unix.SYS_FCNTL, args{bad, unix.F_GETFL}}, {"fcntl-nonblock", unix.SYS_FCNTL, args{bad, unix.F_SETFL, unix.O_NONBLOCK}},
	{"ioctl-getflags", unix.SYS_IOCTL, args{bad, unix.FS_IOC_GETFLAGS}}, {"read", unix.SYS_READ, args{bad}},
	{"setfsuid", unix.SYS_SETFSUID, args{bad}}, {"madvise", unix.SYS_MADVISE, args{1, 4096, unix.MADV_DONTNEED}},
	{"timerfd", unix.SYS_TIMERFD_CREATE, args{unix.CLOCK_MONOTONIC, bad}},
}

// untried are the calls that no arguments keep from acting: without the filter
// they are left alone.
var untried = []string{"fork", "vfork", "inotify_init", "sync", "vhangup"}

// tryCalls makes every call and tells the error number of each.
func tryCalls(all bool) map[string]int {
	out := map[string]int{}
	for _, c := range append(slices.Clone(calls), permitted...) {
		if !all && slices.Contains(untried, c.name) {
			continue
		}
		_, _, errno := unix.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		out[c.name] = int(errno)
	}
	return out
}

// tried is what a child reports of one layer.
type tried struct {
	Calls      map[string]int
	Files      map[string]int
	NewPrivs   int      // threads that may still gain privileges
	Able       []string // what each thread is capable of (proc_pid_status(5), CapPrm and CapEff)
	Confined   State
	CannotTell string // what went wrong
}

var capLine = regexp.MustCompile(`(?m)^Cap(Inh|Prm|Eff|Amb):\t[0-9a-f]+`)

// TestCapabilities: all threads of a check have the capabilities that are kept, with
// their reasons, and each other one is gone.
func TestCapabilities(t *testing.T) {
	means.Root(t)
	want := uint64(0)
	for c, why := range kept {
		if want |= 1 << c; why == "" {
			t.Errorf("capability %d is kept for nothing", c)
		}
	}
	for _, c := range []int{unix.CAP_PERFMON, unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_DAC_OVERRIDE, unix.CAP_NET_RAW,
		unix.CAP_FOWNER, unix.CAP_NET_ADMIN, unix.CAP_SYS_RAWIO, unix.CAP_SYS_NICE, unix.CAP_SYSLOG, unix.CAP_BPF, unix.CAP_SYS_MODULE} {
		if want&(1<<c) != 0 {
			t.Errorf("capability %d is kept", c)
		}
	}
	for _, layer := range []string{"filter", "both"} {
		got := asked(t, layer).Able
		if len(got) == 0 {
			t.Errorf("%s: no thread was looked at", layer)
		}
		for _, line := range got {
			is := uint64(0)
			if strings.HasPrefix(line, "CapPrm") || strings.HasPrefix(line, "CapEff") {
				is = want
			}
			if !strings.HasSuffix(line, fmt.Sprintf("\t%016x", is)) {
				t.Errorf("%s: %s, want %016x", layer, line, is)
			}
		}
	}
}

// tryLayer confines this process with one layer, or with both, and tries
// everything that it should refuse.
func tryLayer(layer, dir string) (out tried) {
	var err error
	switch layer {
	case "filter": // as on a kernel without Landlock
		out.Confined, err = confineSelf(Rules{}, 0)
	case "landlock":
		err = restrict(Rules{Read: []string{dir, "/proc", "/dev", "/bin", "/usr", "/lib"}})
	case "both":
		out.Confined, err = Self(Rules{})
	}
	if err != nil {
		out.CannotTell = err.Error()
		return out
	}
	runtime.GC() // which uses threads, and advises of memory
	if layer != "landlock" {
		out.Calls = tryCalls(layer != "nothing")
	}
	if layer == "landlock" || layer == "nothing" {
		out.Files = tryFiles(dir)
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/status")
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil && !strings.Contains(string(b), "NoNewPrivs:\t1") {
			out.NewPrivs++
		} else if err == nil {
			out.Able = append(out.Able, capLine.FindAllString(string(b), -1)...)
		}
	}
	return out
}

// errnoOf is the error number in err.
func errnoOf(err error) int {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return int(errno)
	}
	return -1
}

// access is one of Landlock's rights: since which ABI, and a try that works
// without Landlock.
type access struct {
	name string
	abi  int
	try  func(dir string) error
}

var accesses = []access{
	{"execute", 1, func(string) error { return exec.Command("/bin/true").Run() }},
	{"write_file", 1, func(d string) error { return opened(unix.Open(d+"/file", unix.O_WRONLY, 0)) }},
	{"read_file", 1, func(string) error { return opened(unix.Open("/etc/hostname", unix.O_RDONLY, 0)) }},
	{"read_dir", 1, func(string) error { return opened(unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY, 0)) }},
	{"remove_dir", 1, func(d string) error { return unix.Rmdir(d + "/folder") }},
	{"remove_file", 1, func(d string) error { return unix.Unlink(d + "/victim") }},
	{"make_char", 1, func(d string) error { return unix.Mknod(d+"/char", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) }},
	{"make_block", 1, func(d string) error { return unix.Mknod(d+"/block", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 99))) }},
	{"make_dir", 1, func(d string) error { return unix.Mkdir(d+"/dir", 0o700) }},
	{"make_reg", 1, func(d string) error { return opened(unix.Open(d+"/new", unix.O_RDONLY|unix.O_CREAT, 0o600)) }},
	{"make_sock", 1, func(d string) error { return unix.Mknod(d+"/sock", unix.S_IFSOCK|0o600, 0) }},
	{"make_fifo", 1, func(d string) error { return unix.Mkfifo(d+"/fifo", 0o600) }},
	{"make_sym", 1, func(d string) error { return unix.Symlink("x", d+"/sym") }},
	{"refer", 1, func(d string) error { return unix.Link(d+"/file", d+"/other/file") }},
	{"truncate", 3, func(d string) error { return unix.Truncate(d+"/file", 0) }},
	{"bind_tcp", 4, func(string) error { // by hand: Go's is multipath TCP, which Landlock does not know
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"connect_tcp", 4, func(string) error {
		err := dial(func() (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:9") })
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENETUNREACH) {
			return nil // nobody listens: it went out
		}
		return err
	}},
	{"ioctl_dev", 5, func(string) error {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err = unix.IoctlSetInt(fd, 0x4242, 0); err == unix.ENOTTY {
			return nil
		}
		return err
	}},
	{"abstract_unix_socket", 6, func(d string) error {
		return dial(func() (net.Conn, error) { return net.Dial("unix", "@fettle-"+filepath.Base(d)) })
	}},
	{"signal", 6, func(string) error { return unix.Kill(unix.Getppid(), 0) }},
}

func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func dial(f func() (net.Conn, error)) error {
	c, err := f()
	if c != nil {
		c.Close()
	}
	return err
}

func tryFiles(dir string) map[string]int {
	out := map[string]int{}
	for _, a := range accesses {
		out[a.name] = errnoOf(a.try(dir))
	}
	return out
}

// asked has a child of its own try one layer.
func asked(t *testing.T, layer string) (got tried) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"folder", "other"} {
		os.Mkdir(filepath.Join(dir, d), 0o700)
	}
	for _, f := range []string{"file", "victim"} {
		os.WriteFile(filepath.Join(dir, f), []byte("precious"), 0o600)
	}
	l, err := net.Listen("unix", "@fettle-"+filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := start(t, "try "+layer+" "+dir).Receive(t.Context())
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil || got.CannotTell != "" {
		t.Fatalf("%s: %v %s", layer, err, got.CannotTell)
	}
	return got
}

func refused(errno int) bool {
	return errno == int(unix.EPERM) || errno == int(unix.EACCES) || errno == int(unix.ENOSYS)
}

// TestEveryRule has a program try what each rule refuses: with the filter alone,
// as on a kernel without Landlock, with Landlock alone, and with both. Without
// either the kernel must answer otherwise, or the row proves nothing.
func TestEveryRule(t *testing.T) {
	free, filtered, both := asked(t, "nothing"), asked(t, "filter"), asked(t, "both")
	for _, c := range calls {
		before, made := free.Calls[c.name]
		switch {
		case made && before == int(unix.ENOSYS): // not in this kernel
			t.Logf("this kernel has no %s", c.name)
		case made && refused(before) && os.Geteuid() == 0:
			t.Errorf("%s: refused without a filter (%v): the row proves nothing", c.name, syscall.Errno(before))
		}
		for layer, got := range map[string]tried{"the filter": filtered, "both layers": both} {
			if errno, ok := got.Calls[c.name]; !ok || !refused(errno) {
				t.Errorf("%s under %s: %v", c.name, layer, syscall.Errno(errno))
			}
		}
	}
	for _, c := range permitted {
		if errno := filtered.Calls[c.name]; refused(errno) {
			t.Errorf("%s: %v, though checks need it", c.name, syscall.Errno(errno))
		}
	}
	for layer, got := range map[string]tried{"the filter": filtered, "both layers": both} {
		if got.NewPrivs > 0 || !got.Confined.Filter {
			t.Errorf("%s: %d threads may gain privileges; %+v", layer, got.NewPrivs, got.Confined)
		}
	}
	if free.NewPrivs == 0 {
		t.Error("no thread may gain privileges unconfined: that proves nothing")
	}
	abi := ABI()
	if abi == 0 {
		t.Log("SKIPPED, NOTHING PROVED of Landlock: this kernel has none")
		return
	}
	locked := asked(t, "landlock")
	for _, a := range accesses {
		switch before, errno := free.Files[a.name], locked.Files[a.name]; {
		case a.abi > abi:
			t.Logf("SKIPPED, NOTHING PROVED of %s: this kernel's Landlock is ABI %d", a.name, abi)
		case before != 0 && os.Geteuid() == 0:
			t.Errorf("%s: fails without Landlock (%v): the row proves nothing", a.name, syscall.Errno(before))
		case errno != int(unix.EACCES) && errno != int(unix.EPERM) && errno != int(unix.EXDEV): // EXDEV: landlock(7), refer
			t.Errorf("%s under Landlock: %v", a.name, syscall.Errno(errno))
		}
	}
}

// filterAnswers runs a filter as classic BPF, by golang.org/x/net's machine.
func filterAnswers(t *testing.T, p program, arch, nr uint32, a args) uint32 {
	t.Helper()
	var ins []bpf.Instruction
	for _, f := range p {
		ins = append(ins, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}.Disassemble())
	}
	vm, err := bpf.NewVM(ins)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64) // struct seccomp_data, in the byte order of this machine for the packet filter
	binary.BigEndian.PutUint32(data[offNr:], nr)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, v := range a {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(v))
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// TestUnknownCalls: other architectures' calls, x32's and those that came after
// the list was read are refused, which no kernel here can show.
func TestUnknownCalls(t *testing.T) {
	for name, r := range map[string]Rules{"check": {}, "command": {Program: true}, "network": {Network: true},
		"writing": {Write: []string{"/x"}}} {
		p := filter(r)
		for what, c := range map[string]struct{ arch, nr, want uint32 }{
			"newer":      {auditArch, newest + 1, notImplemented},
			"x32":        {auditArch, 0x40000000 + unix.SYS_GETPID, notImplemented},
			"x32 chmod":  {auditArch, 0x40000000 + 90, notImplemented},
			"other arch": {auditArch + 1, unix.SYS_GETPID, refuse},
			"getpid":     {auditArch, unix.SYS_GETPID, allow},
		} {
			if got := filterAnswers(t, p, c.arch, c.nr, args{}); got != c.want {
				t.Errorf("%s: %s: %#x, want %#x", name, what, got, c.want)
			}
		}
	}
}

// TestRulesOfOthers: what commands, network checks and the reader of a root
// folder may do besides, and no more.
func TestRulesOfOthers(t *testing.T) {
	self := uintptr(os.Getpid())
	for _, c := range []struct {
		who  string
		r    Rules
		what string
		nr   uint32
		a    args
		want uint32
	}{
		{"check", Rules{}, "kill itself", unix.SYS_KILL, args{self}, allow},
		{"check", Rules{}, "kill init", unix.SYS_KILL, args{1}, refuse},
		{"check", Rules{}, "prlimit of itself", unix.SYS_PRLIMIT64, args{0}, allow},
		{"check", Rules{}, "make a thread", unix.SYS_CLONE, args{unix.CLONE_THREAD | unix.CLONE_VM | unix.CLONE_SIGHAND}, allow},
		{"command", Rules{Program: true}, "execve", unix.SYS_EXECVE, args{}, allow},
		{"command", Rules{Program: true}, "socket", unix.SYS_SOCKET, args{unix.AF_UNIX}, allow},
		{"command", Rules{Program: true}, "chmod", unix.SYS_FCHMODAT, args{}, refuse},
		{"command", Rules{Program: true}, "unlink", unix.SYS_UNLINKAT, args{}, refuse},
		{"command", Rules{Program: true}, "bpf", unix.SYS_BPF, args{}, refuse},
		{"command", Rules{Program: true}, "setns", unix.SYS_SETNS, args{}, refuse},
		{"locking command", Rules{Program: true, Write: []string{"/x"}}, "unlink", unix.SYS_UNLINKAT, args{}, allow},
		{"network", Rules{Network: true}, "TCP", unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow},
		{"network", Rules{Network: true}, "UDP", unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}, allow},
		{"network", Rules{Network: true}, "raw IPv4", unix.SYS_SOCKET, args{unix.AF_INET, unix.SOCK_RAW}, refuse},
		{"network", Rules{Network: true}, "raw IPv6", unix.SYS_SOCKET, args{unix.AF_INET6, unix.SOCK_RAW | unix.SOCK_CLOEXEC}, refuse},
		{"network", Rules{Network: true}, "Unix socket", unix.SYS_SOCKET, args{unix.AF_UNIX}, refuse},
		{"network", Rules{Network: true}, "netlink", unix.SYS_SOCKET, args{unix.AF_NETLINK}, refuse},
		{"network", Rules{Network: true}, "listen", unix.SYS_LISTEN, args{}, refuse},
		{"root folder", Rules{Resolve: true}, "openat2", unix.SYS_OPENAT2, args{}, allow},
		{"check", Rules{}, "openat2", unix.SYS_OPENAT2, args{}, notImplemented},
		{"writing", Rules{Write: []string{"/x"}}, "open for writing", unix.SYS_OPENAT, args{0, 0, unix.O_RDWR}, allow},
		{"writing", Rules{Write: []string{"/x"}}, "chmod", unix.SYS_FCHMODAT, args{}, refuse},
	} {
		if got := filterAnswers(t, filter(c.r), auditArch, c.nr, c.a); got != c.want {
			t.Errorf("%s: %s: %#x, want %#x", c.who, c.what, got, c.want)
		}
	}
}

// TestSignalByDescriptor: below Linux 6.12 no layer but the filter keeps a
// descriptor from signalling whoever it names. The attack, as it worked.
func TestSignalByDescriptor(t *testing.T) {
	for _, layer := range []string{"filter", "nothing"} { // which signals once more when it ends
		got := make(chan os.Signal, 1)
		signal.Notify(got, unix.SIGWINCH) // which is ignored by whoever else gets it
		b, err := start(t, "attack "+layer).Receive(t.Context())
		if err != nil || len(b) > 0 && layer == "nothing" {
			t.Errorf("%s: %s %v", layer, b, err)
		}
		signalled := false
		select {
		case <-got:
			signalled = true
		case <-time.After(300 * time.Millisecond):
		}
		signal.Stop(got)
		if signalled != (layer == "nothing") {
			t.Errorf("%s: signalled: %v (%s)", layer, signalled, b)
		}
	}
}

// attack has the read end of a pipe signal the parent when there is data.
func attack(layer string) (refused string) {
	if layer == "filter" {
		if _, err := confineSelf(Rules{}, 0); err != nil {
			return err.Error()
		}
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_NONBLOCK); err != nil {
		return err.Error()
	}
	for _, c := range []struct{ cmd, arg int }{{unix.F_SETOWN, unix.Getppid()}, {unix.F_SETSIG, int(unix.SIGWINCH)},
		{unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}} {
		if _, err := unix.FcntlInt(uintptr(p[0]), c.cmd, c.arg); err != nil {
			refused += fmt.Sprintf("fcntl %d: %v, ", c.cmd, err)
		}
	}
	unix.Write(p[1], []byte("x"))
	return refused
}
