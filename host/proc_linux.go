package host

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pids lists the processes of this PID namespace.
func pids() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out, err
}

// readProcess reads what /proc tells of one process to anyone. False: it has gone.
func readProcess(pid int) (Process, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	comm, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return Process{}, false
	}
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return Process{}, false
	}
	cg, _ := os.ReadFile(dir + "/cgroup")
	return Process{PID: pid, Comm: strings.TrimSpace(string(comm)), UID: st.Uid, Unit: unitOf(string(cg))}, true
}

func readProcesses(ctx context.Context) ([]byte, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	out := []Process{}
	for _, pid := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p, ok := readProcess(pid); ok {
			out = append(out, p)
		}
	}
	return json.Marshal(out)
}

// unitOf reads the systemd unit out of /proc/PID/cgroup: the last component
// of the path that names a service or a scope, of version 2 or of the
// name=systemd hierarchy (cgroups(7)).
func unitOf(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || f[1] != "" && f[1] != "name=systemd" {
			continue
		}
		for p := f[2]; p != "/" && p != "."; p = path.Dir(p) {
			if b := path.Base(p); strings.HasSuffix(b, ".service") || strings.HasSuffix(b, ".scope") {
				return b
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
