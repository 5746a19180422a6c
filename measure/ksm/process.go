package ksm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Process is a program that offers memory for merging, or has merged pages.
type Process struct {
	PID  int
	Comm string // as the kernel says it: any bytes
	// Merging is how many of its pages are merged (/proc/PID/ksm_merging_pages,
	// 5.19); Known is how many ksmd has records of (ksm_stat, 6.1).
	Merging, Known uint64
	// Profit is what is saved less the records, in bytes (ksm_stat, 6.4).
	Profit    int64
	HasProfit bool
}

// ErrPerProcess: the kernel does not say who has merged pages.
var ErrPerProcess = errors.New("this kernel does not tell merged pages by process: that came with Linux 5.19")

// Processes lists programs with merged pages or records, the most merged
// first. closed is how many could not be asked: the files are their owner's.
func (k *Kernel) Processes() (out []Process, closed int, err error) {
	if _, err := os.Stat(k.proc("self/ksm_merging_pages")); errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ErrPerProcess
	}
	all, err := os.ReadDir(k.proc(""))
	if err != nil {
		return nil, 0, err
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := k.proc(e.Name())
		b, err := os.ReadFile(dir + "/ksm_merging_pages")
		switch {
		case errors.Is(err, fs.ErrPermission):
			closed++
			continue
		case err != nil:
			continue // it ended
		}
		p := Process{PID: pid}
		p.Merging, _ = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		if b, err := os.ReadFile(dir + "/ksm_stat"); err == nil {
			p.Known = field(b, "ksm_rmap_items ")
			p.Profit, p.HasProfit = signed(b, "ksm_process_profit ")
		}
		if p.Merging == 0 && p.Known == 0 {
			continue
		}
		if b, err := os.ReadFile(dir + "/comm"); err == nil {
			p.Comm = strings.TrimSuffix(string(b), "\n")
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Process) int { return cmp.Compare(b.Merging, a.Merging) })
	return out, closed, nil
}

func signed(b []byte, name string) (int64, bool) {
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// Guests are the process IDs of virtual machines, by the names that qemu has.
// memory is their own, in bytes: what is resident less what is of files or
// shared (/proc/PID/statm). Merging doesn't change it.
func (k *Kernel) Guests() (pids []int, memory uint64, err error) {
	all, err := os.ReadDir(k.proc(""))
	if err != nil {
		return nil, 0, err
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := k.proc(e.Name())
		b, err := os.ReadFile(dir + "/comm")
		if c := string(b); err != nil || !strings.HasPrefix(c, "qemu") && c != "kvm\n" {
			continue
		}
		pids = append(pids, pid)
		if b, err := os.ReadFile(dir + "/statm"); err == nil {
			if f := strings.Fields(string(b)); len(f) > 2 {
				resident, _ := strconv.ParseUint(f[1], 10, 64)
				shared, _ := strconv.ParseUint(f[2], 10, 64)
				memory += (resident - min(shared, resident)) * k.PageSize
			}
		}
	}
	return pids, memory, nil
}

// Tuned tells whether the ksmtuned daemon runs: its process ID, 0 for none.
func (k *Kernel) Tuned() int {
	all, err := os.ReadDir(k.proc(""))
	if err != nil {
		return 0
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := readStat(k.proc(e.Name())); err == nil && st.comm == "ksmtuned" && st.state != "Z" {
			return pid
		}
	}
	return 0
}
