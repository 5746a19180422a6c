package tune

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fettle/tools/measure/ksm"
)

// eyes look for guests that start and for what waits too much.
type eyes struct {
	kernel   *ksm.Kernel
	programs *ksm.Programs
	limit    float64 // share of the time
	begun    bool
	seen     ksm.Seen
	started  int
	suffers  string
	nodes    map[int]cpuTime
}

// most is how many cgroups of guests are asked each time.
const most = 1000

func (e *eyes) look() {
	e.started = 0
	if now, err := e.programs.Look(); err == nil {
		for _, pid := range now.Guests {
			if _, ok := slices.BinarySearch(e.seen.Guests, pid); !ok && e.begun {
				e.started++
			}
		}
		e.seen, e.begun = now, true
	}
	e.suffers = ""
	if e.limit >= 1 {
		return
	}
	if e.suffers = e.pressed("/proc/pressure", "the host"); e.suffers != "" {
		return
	}
	for i, dir := range e.guestGroups() {
		if i == most {
			break
		}
		if e.suffers = e.pressed(dir, filepath.Base(dir)); e.suffers != "" {
			return
		}
	}
	e.suffers = e.fullNode()
}

// guestGroups are the control groups of machines, as machined, libvirt and
// Proxmox VE lay them out.
func (e *eyes) guestGroups() []string {
	var out []string
	for _, slice := range []string{"machine.slice", "machine", "qemu.slice"} {
		found, _ := filepath.Glob(filepath.Join(e.kernel.Root, "/sys/fs/cgroup", slice, "*", "cpu.pressure"))
		for _, f := range found {
			dir, _ := filepath.Rel(filepath.Join("/", e.kernel.Root), filepath.Dir(f))
			out = append(out, "/"+dir)
		}
	}
	return out
}

// pressed reads pressure stall information
// (Documentation/accounting/psi.rst): for what share of the last ten seconds
// some task waited for a CPU, or all of them for memory.
func (e *eyes) pressed(dir, who string) string {
	for _, what := range []struct{ host, group, kind, said string }{
		{"cpu", "cpu.pressure", "some", "CPU"}, {"memory", "memory.pressure", "full", "memory"},
	} {
		name := what.group
		if dir == "/proc/pressure" {
			name = what.host
		}
		b, err := os.ReadFile(filepath.Join(e.kernel.Root, dir, name))
		if err != nil {
			continue // no PSI in this kernel, or switched off
		}
		if share, ok := stalled(b, what.kind); ok && share >= e.limit {
			return fmt.Sprintf("%s waits for %s %.0f %% of the time", who, what.said, 100*share)
		}
	}
	return ""
}

// stalled is avg10 of a line of pressure stall information, as a share.
func stalled(b []byte, kind string) (float64, bool) {
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 2 || f[0] != kind {
			continue
		}
		v, ok := strings.CutPrefix(f[1], "avg10=")
		share, err := strconv.ParseFloat(v, 64)
		return share / 100, ok && err == nil
	}
	return 0, false
}

// cpuTime is the time of some CPUs, in ticks.
type cpuTime struct{ all, idle uint64 }

// fullNode tells whether the NUMA node that ksmd last ran on has hardly an
// idle CPU. With one node, the host's own pressure tells that.
func (e *eyes) fullNode() string {
	dirs, _ := filepath.Glob(filepath.Join(e.kernel.Root, "/sys/devices/system/node/node[0-9]*"))
	if len(dirs) < 2 {
		return ""
	}
	per := e.perCPU()
	now := map[int]cpuTime{}
	said := ""
	ran := e.kernel.CPUOf()
	for _, dir := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, "cpulist"))
		if err != nil {
			continue
		}
		var sum cpuTime
		here := false
		for _, cpu := range cpuList(string(b)) {
			sum.all += per[cpu].all
			sum.idle += per[cpu].idle
			here = here || cpu == ran
		}
		now[n] = sum
		was, ok := e.nodes[n]
		if ok && here && sum.all > was.all && float64(sum.idle-was.idle) < 0.03*float64(sum.all-was.all) {
			said = fmt.Sprintf("NUMA node %d has no idle CPU", n)
		}
	}
	e.nodes = now
	return said
}

// perCPU reads /proc/stat, proc_stat(5).
func (e *eyes) perCPU() map[int]cpuTime {
	f, err := os.Open(filepath.Join(e.kernel.Root, "/proc/stat"))
	if err != nil {
		return nil
	}
	defer f.Close()
	out := map[int]cpuTime{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		v := strings.Fields(sc.Text())
		if len(v) < 6 || !strings.HasPrefix(v[0], "cpu") {
			continue
		}
		n, err := strconv.Atoi(v[0][3:])
		if err != nil {
			continue // all of them
		}
		var t cpuTime
		for i, s := range v[1:min(len(v), 9)] { // guest time is part of user time
			ticks, _ := strconv.ParseUint(s, 10, 64)
			t.all += ticks
			if i == 3 || i == 4 { // idle, iowait
				t.idle += ticks
			}
		}
		out[n] = t
	}
	return out
}

// cpuList reads "0-3,8".
func cpuList(s string) (out []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		lo, hi, ok := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			continue
		}
		b := a
		if ok {
			if b, err = strconv.Atoi(hi); err != nil {
				continue
			}
		}
		for n := a; n <= b && n < a+4096; n++ {
			out = append(out, n)
		}
	}
	return out
}
