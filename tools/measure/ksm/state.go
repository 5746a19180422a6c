// Package ksm reads how much kernel samepage merging saves and what ksmd costs,
// and changes its settings so that they can always be restored.
package ksm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Dir is where ksmd is set and asked (Documentation/admin-guide/mm/ksm.rst).
const Dir = "/sys/kernel/mm/ksm"

// Errors of Open and of writes. Each is one line for an admin.
var (
	ErrNoKSM    = errors.New("this kernel has no KSM (there is no " + Dir + "; it takes CONFIG_KSM=y)")
	ErrReadOnly = errors.New(Dir + " is read-only here (a container, or /sys mounted ro): run this on the host itself")
	ErrNotRoot  = errors.New("only root may set KSM: run this as root")
)

// Kernel is the kernel's files, below a root that tests replace.
type Kernel struct {
	Root     string // "" is /
	PageSize uint64 // bytes
	ksmd     int    // its process ID, once found
}

// Open finds KSM: ErrNoKSM where the kernel has none.
func Open(root string) (*Kernel, error) {
	k := &Kernel{Root: root, PageSize: uint64(os.Getpagesize())}
	if _, err := os.Stat(k.path("run")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoKSM
		}
		return nil, err
	}
	return k, nil
}

func (k *Kernel) path(name string) string { return filepath.Join(k.Root, Dir, name) }
func (k *Kernel) proc(name string) string { return filepath.Join(k.Root, "/proc", name) }

// Has tells whether this kernel has a setting: advisor_mode came with Linux 6.8,
// smart_scan with 6.7.
func (k *Kernel) Has(name string) bool {
	_, err := os.Stat(k.path(name))
	return err == nil
}

// Value reads a setting. Of a choice ("[none] scan-time") it is the one chosen.
func (k *Kernel) Value(name string) (string, error) {
	b, err := os.ReadFile(k.path(name))
	if err != nil {
		return "", err
	}
	s := strings.TrimSpace(string(b))
	if _, rest, ok := strings.Cut(s, "["); ok {
		s, _, _ = strings.Cut(rest, "]")
	}
	return s, nil
}

func (k *Kernel) write(name, value string) error {
	f, err := os.OpenFile(k.path(name), os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.WriteString(value)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		return ErrNotRoot
	case errors.Is(err, fs.ErrPermission):
		return ErrReadOnly
	}
	return fmt.Errorf("writing %s to %s/%s: %w", value, Dir, name, withoutPath(err))
}

func withoutPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Writable tells whether settings can be changed, and changes nothing: the
// file is opened for writing.
func (k *Kernel) Writable() error {
	f, err := os.OpenFile(k.path("pages_to_scan"), os.O_WRONLY, 0)
	if err == nil {
		return f.Close()
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		return ErrNotRoot
	case errors.Is(err, fs.ErrPermission):
		return ErrReadOnly
	}
	return err
}

// State is what the kernel says at one moment. Counts are of pages.
type State struct {
	At       time.Time
	Run      int
	Pages    uint64 // pages_to_scan
	Sleep    time.Duration
	Advisor  string // "none", "scan-time"; "" before Linux 6.8
	Shared   uint64 // pages_shared: kept once for all
	Sharing  uint64 // pages_sharing: saved
	Zero     uint64 // ksm_zero_pages: saved too (6.6)
	Unshared uint64
	Volatile uint64 // changed too often to be merged
	Scanned  uint64 // since boot; 0 before 6.6
	Skipped  uint64 // by smart_scan
	Scans    uint64 // full_scans
	// Profit is saved memory less what KSM's records take, in bytes (6.4).
	Profit    int64
	HasProfit bool
	// Breaks is how many merged pages were parted again by a write
	// (/proc/vmstat cow_ksm, 5.19).
	Breaks uint64
	// CPU is ksmd's CPU time since boot.
	CPU time.Duration
	// Of the host, in bytes (/proc/meminfo).
	Total, Available, Anon uint64
}

// Saved is how many pages merging saves.
func (s State) Saved() uint64 { return s.Sharing + s.Zero }

// Known is how many pages ksmd has records of.
func (s State) Known() uint64 { return s.Shared + s.Sharing + s.Unshared + s.Volatile }

// Read asks the kernel. Files that it does not have leave zeros.
func (k *Kernel) Read() (State, error) {
	r := reader{k: k}
	s := State{At: time.Now()}
	s.Run = int(min(r.number("run", true), 2))
	s.Pages = r.number("pages_to_scan", true)
	s.Sleep = time.Duration(min(r.number("sleep_millisecs", true), math.MaxUint32)) * time.Millisecond
	s.Shared, s.Sharing = r.number("pages_shared", true), r.number("pages_sharing", true)
	s.Unshared, s.Volatile = r.number("pages_unshared", true), r.number("pages_volatile", true)
	s.Scans = r.number("full_scans", true)
	s.Zero, s.Scanned, s.Skipped = r.number("ksm_zero_pages", false), r.number("pages_scanned", false), r.number("pages_skipped", false)
	if v, err := k.Value("advisor_mode"); err == nil {
		s.Advisor = v
	}
	if v, err := k.Value("general_profit"); err == nil {
		s.Profit, err = strconv.ParseInt(v, 10, 64)
		s.HasProfit = err == nil
	}
	if r.err != nil {
		return s, r.err
	}
	var err error
	if s.CPU, err = k.ksmdCPU(); err != nil {
		return s, err
	}
	vmstat, err := os.ReadFile(k.proc("vmstat"))
	if err != nil {
		return s, err
	}
	s.Breaks = field(vmstat, "cow_ksm ")
	info, err := os.ReadFile(k.proc("meminfo"))
	if err != nil {
		return s, err
	}
	s.Total, s.Available, s.Anon = field(info, "MemTotal:")*1024, field(info, "MemAvailable:")*1024, field(info, "AnonPages:")*1024
	return s, nil
}

// reader keeps the first error.
type reader struct {
	k   *Kernel
	err error
}

func (r *reader) number(name string, must bool) uint64 {
	v, err := r.k.Value(name)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return 0
	}
	n := uint64(0)
	if err == nil {
		n, err = strconv.ParseUint(v, 10, 64)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("reading %s/%s: %w", Dir, name, withoutPath(err))
	}
	return n
}

// field is the number after a line's name; 0 where there is no such line.
func field(b []byte, name string) uint64 {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseUint(string(f[0]), 10, 64)
				return n
			}
		}
	}
	return 0
}

// ksmdCPU is ksmd's CPU time: in nanoseconds where the kernel counts them
// (/proc/PID/schedstat, CONFIG_SCHED_INFO), else in hundredths of a second
// (/proc/PID/stat).
func (k *Kernel) ksmdCPU() (time.Duration, error) {
	if k.ksmd == 0 {
		if err := k.findKsmd(); err != nil {
			return 0, err
		}
	}
	dir := k.proc(strconv.Itoa(k.ksmd))
	if b, err := os.ReadFile(dir + "/schedstat"); err == nil {
		if f := bytes.Fields(b); len(f) == 3 {
			if ns, err := strconv.ParseInt(string(f[0]), 10, 64); err == nil && ns > 0 {
				return time.Duration(ns), nil
			}
		}
	}
	st, err := readStat(dir)
	if err != nil {
		return 0, fmt.Errorf("reading ksmd's CPU time: %w", err)
	}
	return st.cpu, nil
}

// CPUOf is the CPU number that ksmd ran on last; -1 where that is not known.
func (k *Kernel) CPUOf() int {
	st, err := readStat(k.proc(strconv.Itoa(k.ksmd)))
	if err != nil {
		return -1
	}
	return st.processor
}

// findKsmd looks for the kernel's thread: a child of kthreadd, which no
// program is, whatever it calls itself.
func (k *Kernel) findKsmd() error {
	all, err := os.ReadDir(k.proc(""))
	if err != nil {
		return err
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := readStat(k.proc(e.Name())); err == nil && st.comm == "ksmd" && st.parent == 2 {
			k.ksmd = pid
			return nil
		}
	}
	return errors.New("the kernel's thread ksmd is not in /proc: run this on the host, not in a container")
}

// stat is what is needed of proc_pid_stat(5).
type stat struct {
	comm      string
	state     string // "Z": it ended
	parent    int
	cpu       time.Duration
	processor int
}

func readStat(dir string) (s stat, err error) {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return s, err
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return s, fmt.Errorf("%s/stat: no name in parentheses", dir)
	}
	f := bytes.Fields(b[end+1:])
	if len(f) < 37 {
		return s, fmt.Errorf("%s/stat: %d fields, expected at least 39", dir, len(f)+2)
	}
	s.comm = string(b[open+1 : end])
	s.state = string(f[0])
	s.parent, _ = strconv.Atoi(string(f[1]))
	user, _ := strconv.ParseUint(string(f[11]), 10, 63)
	sys, _ := strconv.ParseUint(string(f[12]), 10, 63)
	const tick = time.Second / 100 // USER_HZ on every architecture of ours
	s.cpu = time.Duration(user+sys) * tick
	s.processor, _ = strconv.Atoi(string(f[36]))
	return s, nil
}
