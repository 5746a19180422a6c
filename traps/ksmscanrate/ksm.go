package ksmscanrate

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/fact/process"
)

const dir = "/sys/kernel/mm/ksm/"

// ksm is what /sys/kernel/mm/ksm says (Documentation/admin-guide/mm/ksm.rst).
type ksm struct {
	run          int
	rate         rate
	sum          uint64 // pages_shared + pages_sharing + pages_unshared + pages_volatile
	shared       uint64 // pages_shared
	saved        uint64 // pages_sharing + ksm_zero_pages
	fullScans    uint64
	acrossNodes  bool // also where the kernel has no such file: then there is one node
	hasProfit    bool // Linux 6.4
	profit       int64
	hasAdvisor   bool // Linux 6.8
	advisor      bool // scan-time
	target       time.Duration
	maxPages     uint64
	maxCPU       float64 // share of one CPU
	pagesScanned uint64  // 0 where the kernel does not tell (before 6.6)
	pageSize     uint64  // bytes
}

// reader reads values and keeps the first error that is not absence.
type reader struct {
	ctx context.Context
	h   *host.Host
	err error
}

// text reads a file; "" when it is absent or could not be read.
func (r *reader) text(name string) (string, bool) {
	s, err := r.h.ReadString(r.ctx, dir+name)
	if err == nil {
		return s, true
	}
	if !host.IsAbsent(err) && r.err == nil {
		r.err = err
	}
	return "", false
}

func (r *reader) number(name string) (uint64, bool) {
	s, ok := r.text(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		if r.err == nil {
			r.err = &host.SyntaxError{Path: dir + name, Line: 1, Msg: fmt.Sprintf("%q is not a whole number", s)}
		}
		return 0, false
	}
	return n, true
}

// must is number for a file that every kernel with KSM has.
func (r *reader) must(name string) uint64 {
	n, ok := r.number(name)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s%s: %w, though this kernel has KSM", dir, name, host.ErrAbsent)
	}
	return n
}

func readKSM(ctx context.Context, h *host.Host) (k ksm, err error) {
	r := &reader{ctx: ctx, h: h}
	k.run = int(min(r.must("run"), 1<<20))
	k.rate.pages = r.must("pages_to_scan")
	k.rate.sleep = time.Duration(min(r.must("sleep_millisecs"), math.MaxUint32)) * time.Millisecond
	k.shared = r.must("pages_shared")
	sharing := r.must("pages_sharing")
	k.sum = k.shared + sharing + r.must("pages_unshared") + r.must("pages_volatile")
	k.fullScans = r.must("full_scans")
	zero, _ := r.number("ksm_zero_pages")
	k.saved = sharing + zero
	across, ok := r.number("merge_across_nodes")
	k.acrossNodes = !ok || across != 0
	if s, ok := r.text("general_profit"); ok {
		k.profit, err = strconv.ParseInt(s, 10, 64)
		k.hasProfit = err == nil
	}
	k.pagesScanned, _ = r.number("pages_scanned")
	if mode, ok := r.text("advisor_mode"); ok {
		k.hasAdvisor, k.advisor = true, strings.Contains(mode, "[scan-time]")
		k.target = time.Duration(min(r.must("advisor_target_scan_time"), math.MaxInt32)) * time.Second
		k.maxPages = r.must("advisor_max_pages_to_scan")
		k.maxCPU = float64(r.must("advisor_max_cpu")) / 100
	}
	k.pageSize = pageSize(ctx, h)
	return k, r.err
}

// pageSize is the host's page size in bytes. No file states it; where
// machines have several, the same memory in kilobytes and in pages tells.
func pageSize(ctx context.Context, h *host.Host) uint64 {
	switch h.Identity().Machine {
	case "aarch64", "arm64", "ppc64", "ppc64le", "loongarch64", "mips64":
	default:
		return 4096
	}
	info, _ := h.ReadFile(ctx, "/proc/meminfo")
	stat, _ := h.ReadFile(ctx, "/proc/vmstat")
	kb, ok1 := field(info, "AnonPages:")
	pages, ok2 := field(stat, "nr_anon_pages ")
	if !ok1 || !ok2 || pages == 0 {
		return 4096
	}
	size := uint64(4096)
	for size < 65536 && float64(kb)*1024/float64(pages) > 1.5*float64(size) {
		size *= 2
	}
	return size
}

// field finds a line that starts with name and reads the number after it.
func field(b []byte, name string) (uint64, bool) {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			f := bytes.Fields(rest)
			if len(f) == 0 {
				return 0, false
			}
			n, err := strconv.ParseUint(string(f[0]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// mergeable is how many pages a full scan has to look at, and how that is known.
type mergeable struct {
	pages  uint64
	source string
	// bound says that pages is only an upper bound, because no full scan has
	// been done yet; what was counted so far is least.
	bound bool
	least uint64
	err   error // the guests could not be looked at: there may be more
	// guests is how many virtual machines run.
	guests int
}

// mergeableOf estimates what a full scan has to look at. ksmd counts a page
// when it first meets it, so until a scan is through, the guests' memory tells
// more; and guests that were started since count at once.
func mergeableOf(ctx context.Context, h *host.Host, k ksm) (mergeable, error) {
	m := mergeable{pages: k.sum, least: k.sum, source: "pages_shared + pages_sharing + pages_unshared + pages_volatile"}
	guests, n, err := guestMemory(ctx, h)
	if err != nil {
		m.err = fmt.Errorf("how much memory virtual machines have: %w", err)
		return m, nil
	}
	m.guests = n
	if p := guests / k.pageSize; p > m.pages {
		m.pages, m.source = p, fmt.Sprintf("anonymous memory of %d virtual machines", n)
		m.bound = k.fullScans == 0
		return m, nil
	}
	if k.fullScans == 0 {
		info, err := h.ReadFile(ctx, "/proc/meminfo")
		if err != nil {
			return m, err
		}
		if kb, ok := field(info, "AnonPages:"); ok && kb*1024/k.pageSize > m.pages {
			m.pages, m.source, m.bound = kb*1024/k.pageSize, "all anonymous memory: at most this much, for no full scan has been done", true
		}
	}
	return m, nil
}

// guestMemory adds up the anonymous memory of virtual machines, in bytes:
// RssAnon of proc_pid_status(5). Guest memory in files or hugetlb pages cannot
// be merged and is not counted there.
func guestMemory(ctx context.Context, h *host.Host) (bytes uint64, n int, err error) {
	ps, err := h.Processes(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, p := range ps {
		if !strings.HasPrefix(p.Comm, "qemu") && p.Comm != "kvm" {
			continue
		}
		b, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/status", p.PID))
		if host.IsAbsent(err) {
			continue // it has gone
		}
		if err != nil {
			return 0, 0, err
		}
		if kb, ok := field(b, "RssAnon:"); ok {
			bytes += kb * 1024
			n++
		}
	}
	return bytes, n, nil
}

// cost is the CPU time that ksmd needs for one page: from its own record where
// that is long enough, else assumed.
func costOf(ctx context.Context, h *host.Host, k ksm) (cost time.Duration, source string) {
	assumed := fmt.Sprintf("assumed: at most %d µs of CPU a page, as measured on Linux 6.18", assumedCost.Microseconds())
	ps, err := h.Processes(ctx)
	if err != nil || k.pagesScanned < 1e6 {
		return assumedCost, assumed
	}
	for _, p := range ps {
		if p.Comm != "ksmd" || p.UID != 0 {
			continue
		}
		s, err := process.ReadStat(ctx, h, p.PID)
		used := s.User + s.System
		if err != nil || used < time.Second {
			break
		}
		c := time.Duration(float64(used) / float64(k.pagesScanned))
		return min(max(c, 100*time.Nanosecond), 100*time.Microsecond),
			fmt.Sprintf("measured here: %.1f s of ksmd's CPU time for %d pages since boot", used.Seconds(), k.pagesScanned)
	}
	return assumedCost, assumed
}

// numaNodes counts nodes with memory; 1 where the kernel tells of none.
func numaNodes(ctx context.Context, h *host.Host) (int, error) {
	s, err := h.ReadString(ctx, "/sys/devices/system/node/has_memory")
	if host.IsAbsent(err) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ok := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			return 0, &host.SyntaxError{Path: "/sys/devices/system/node/has_memory", Line: 1, Msg: fmt.Sprintf("%q is not a list of nodes", s)}
		}
		b := a
		if ok {
			if b, err = strconv.Atoi(hi); err != nil {
				return 0, &host.SyntaxError{Path: "/sys/devices/system/node/has_memory", Line: 1, Msg: fmt.Sprintf("%q is not a list of nodes", s)}
			}
		}
		n += max(b-a+1, 1)
	}
	return n, nil
}
