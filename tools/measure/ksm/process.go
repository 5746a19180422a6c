package ksm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"fettle/internal/sorted"
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
	sorted.By(out, func(a, b Process) int { return cmp.Compare(b.Merging, a.Merging) })
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

// Programs are those that ksmd works for and those that set its pace, looked for
// again and again at little cost: a process that kept its name for some looks
// is not asked for it each time.
type Programs struct {
	k     *Kernel
	names map[int]*named
	looks int
}

// named is a process's name, as read last.
type named struct {
	comm string
	kept int // looks in a row
	at   int // the look that saw it
}

const (
	// sure is after how many looks a name is believed; every so many looks, all
	// are read again: a process may become another by execve(2).
	sure      = 3
	readAgain = 16
)

// Seen is what a look found.
type Seen struct {
	// Guests are the process IDs of virtual machines, by the names that qemu has.
	Guests []int
	// Memory is the guests' own, in bytes: what is resident less what is of files
	// or shared (/proc/PID/statm). Merging doesn't change it.
	Memory uint64
	// Tuned is the process ID of ksmtuned; 0 for none.
	Tuned int
}

// Programs begins to look.
func (k *Kernel) Programs() *Programs { return &Programs{k: k, names: map[int]*named{}} }

// Look looks for them now.
func (p *Programs) Look() (s Seen, err error) {
	dir, err := os.Open(p.k.proc(""))
	if err != nil {
		return s, err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return s, err
	}
	p.looks++
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		switch c := p.comm(pid, name); {
		case strings.HasPrefix(c, "qemu") || c == "kvm":
			s.Guests = append(s.Guests, pid)
			s.Memory += p.k.own(name)
		case c == "ksmtuned":
			if st, err := readStat(p.k.proc(name)); err == nil && st.state != "Z" { // not one that ended
				s.Tuned = pid
			}
		}
	}
	for pid, n := range p.names {
		if n.at != p.looks {
			delete(p.names, pid)
		}
	}
	slices.Sort(s.Guests)
	return s, nil
}

func (p *Programs) comm(pid int, name string) string {
	n := p.names[pid]
	if n == nil {
		n = &named{}
		p.names[pid] = n
	}
	n.at = p.looks
	if n.kept >= sure && p.looks%readAgain != 0 {
		return n.comm
	}
	b, err := os.ReadFile(p.k.proc(name) + "/comm")
	if err != nil {
		return "" // it ended
	}
	if c := strings.TrimSuffix(string(b), "\n"); c == n.comm {
		n.kept++
	} else {
		n.comm, n.kept = c, 0
	}
	return n.comm
}

// own is a process's own memory, in bytes.
func (k *Kernel) own(name string) uint64 {
	b, err := os.ReadFile(k.proc(name) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0
	}
	resident, _ := strconv.ParseUint(f[1], 10, 64)
	shared, _ := strconv.ParseUint(f[2], 10, 64)
	return (resident - min(shared, resident)) * k.PageSize
}
