package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"

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

// hidden tells whether /proc keeps processes from this user (proc(5),
// hidepid): process 1 always exists; who does not see it does not see others
// either.
func hidden(pids []int) bool {
	return os.Geteuid() != 0 && (len(pids) == 0 || pids[0] != 1)
}

// readAt reads a small file of /proc relative to a folder's descriptor into
// buf; nil when it is not to be had, most often because the process has gone.
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

// processOf reads what /proc tells of one process to anyone. False: it has gone.
func processOf(dirfd, pid int, buf []byte) (Process, bool) {
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
	p.Unit = unitOf(readAt(dirfd, "cgroup", buf))
	return p, true
}

// kernelThread tells whether a process is a thread of the kernel's own:
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

func readProcesses(ctx context.Context) ([]byte, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	if hidden(all) {
		return nil, fmt.Errorf("processes of other users are hidden (proc(5), hidepid): %w", ErrDenied)
	}
	out := make([]Process, 0, len(all))
	buf := make([]byte, 8<<10)
	for _, pid := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fd, err := openProcess(pid)
		if err != nil {
			continue
		}
		if p, ok := processOf(fd, pid, buf); ok {
			out = append(out, p)
		}
		unix.Close(fd)
	}
	return json.Marshal(out)
}

// unitOf reads the unit of the system's own systemd out of /proc/PID/cgroup:
// the outermost service or scope, below nothing but slices, of version 2 or
// of the name=systemd hierarchy (cgroups(7), systemd.slice(5)). What lies
// deeper belongs to somebody else: a user's manager (user@1000.service/…), a
// systemd in a container (lxc.payload.x/system.slice/ssh.service).
func unitOf(cgroup []byte) string {
	for line := range bytes.Lines(cgroup) {
		f := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(":"), 3)
		if len(f) != 3 || len(f[1]) != 0 && string(f[1]) != "name=systemd" {
			continue
		}
		for part := range bytes.SplitSeq(bytes.TrimPrefix(f[2], []byte("/")), []byte("/")) {
			if bytes.HasSuffix(part, []byte(".service")) || bytes.HasSuffix(part, []byte(".scope")) {
				return string(part)
			}
			if !bytes.HasSuffix(part, []byte(".slice")) {
				break
			}
		}
	}
	return ""
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
