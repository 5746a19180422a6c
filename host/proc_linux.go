package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pids lists the processes of this PID namespace, in ascending order.
func pids() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var out []int
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out, err
}

// hidden reports whether /proc keeps processes from this user (proc(5),
// hidepid): process 1 always exists; who does not see it does not see others
// either.
func hidden(pids []int) bool {
	return os.Geteuid() != 0 && (len(pids) == 0 || pids[0] != 1)
}

// readAt reads a small file of /proc relative to a folder's descriptor into
// buf; nil when it is not available, most often because the process has gone.
func readAt(dirfd int, name string, buf []byte) []byte {
	fd, err := retry(func() (int, error) { return unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := retry(func() (int, error) { return unix.Read(fd, buf) })
	if err != nil {
		return nil
	}
	return buf[:n]
}

// openProcess opens /proc/PID. A descriptor of it goes on meaning this
// process, also when the number is given to another one.
func openProcess(pid int) (int, error) {
	return retry(func() (int, error) {
		return unix.Open("/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
}

// home is the container whose processes these are: that of process 1; empty on
// a host.
func home() string {
	b, _ := os.ReadFile("/proc/1/cgroup")
	return OwnerOf(string(b)).Container
}

// processOf reads what /proc tells of one process to anyone; home is home().
// False: it has gone.
func processOf(dirfd, pid int, home string, buf []byte) (Process, bool) {
	comm := readAt(dirfd, "comm", buf)
	if comm == nil {
		return Process{}, false
	}
	p := Process{PID: pid, Comm: string(bytes.TrimSuffix(comm, []byte("\n")))}
	var st unix.Stat_t
	if unix.Fstat(dirfd, &st) != nil {
		return Process{}, false
	}
	p.UID = st.Uid
	o := OwnerOf(string(readAt(dirfd, "cgroup", buf))).SeenFrom(home)
	p.Unit, p.Container, p.Inside = o.Unit, o.Container, o.Inside
	return p, true
}

// pidNamespace is the PID namespace of a process: as root the link, which
// nobody else may read of others (ptrace(2)); 0 where that is refused.
func pidNamespace(dirfd int) uint64 {
	var st unix.Stat_t
	if unix.Fstatat(dirfd, "ns/pid", &st, 0) != nil {
		return 0
	}
	return st.Ino
}

// deeper tells the same of anyone's process: whether it has a number in a PID
// namespace below this one (NSpid in /proc/PID/status, proc_pid_status(5)).
func deeper(dirfd int, buf []byte) bool {
	_, rest, found := bytes.Cut(readAt(dirfd, "status", buf), []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return found && len(bytes.Fields(line)) > 1
}

// kernelThread reports whether a process is a thread of the kernel's own:
// PF_KTHREAD among the flags of /proc/PID/stat (include/linux/sched.h,
// proc_pid_stat(5) field 9). It has no files and no memory.
func kernelThread(dirfd int, buf []byte) bool {
	const pfKthread = 0x00200000
	stat := readAt(dirfd, "stat", buf)
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	f := bytes.Fields(rest)
	if len(f) < 7 {
		return false
	}
	flags, _ := strconv.ParseUint(string(f[6]), 10, 64)
	return flags&pfKthread != 0
}

// processTable are the processes as they were a moment ago: who asks for listeners wants them, too,
// and thousands of them take a tenth of a second.
type processTable struct {
	mu  sync.Mutex
	at  time.Time
	all []Process
}

// fresh is for how long a table serves others that ask.
const fresh = 2 * time.Second

func (t *processTable) read(ctx context.Context) ([]Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) < fresh {
		return t.all, nil
	}
	all, err := readProcesses(ctx)
	if err == nil {
		t.all, t.at = all, time.Now()
	}
	return all, err
}

func (t *processTable) json(ctx context.Context) ([]byte, error) {
	all, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func readProcesses(ctx context.Context) ([]Process, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	if hidden(all) {
		return nil, fmt.Errorf("processes of other users are hidden (proc(5), hidepid): %w", ErrDenied)
	}
	out := make([]Process, 0, len(all))
	buf := make([]byte, 8<<10)
	here, own := home(), uint64(0)
	if fd, err := openProcess(1); err == nil {
		own = pidNamespace(fd)
		unix.Close(fd)
	}
	for _, pid := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fd, err := openProcess(pid)
		if err != nil {
			continue
		}
		if p, ok := processOf(fd, pid, here, buf); ok {
			if ns := pidNamespace(fd); ns != 0 && own != 0 {
				p.OtherPIDs = ns != own
			} else {
				p.OtherPIDs = deeper(fd, buf)
			}
			out = append(out, p)
		}
		unix.Close(fd)
	}
	return out, nil
}

func readFilesystems(ctx context.Context, m *mountTable) ([]byte, error) {
	m.load()
	out := []Filesystem{}
	for _, mt := range m.mounts {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		v := Filesystem{Device: mt.device, Mount: mt.point, Type: mt.fstype, Options: mt.options, Network: mt.network, Dev: mt.dev}
		if !mt.network {
			var st unix.Statfs_t
			if unix.Statfs(mt.point, &st) == nil {
				bs := uint64(st.Frsize)
				v.Size, v.Free, v.Avail = st.Blocks*bs, st.Bfree*bs, st.Bavail*bs
				v.Files, v.FFree = st.Files, st.Ffree
			}
		}
		out = append(out, v)
	}
	return json.Marshal(out)
}
