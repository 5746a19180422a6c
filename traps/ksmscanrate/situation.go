package ksmscanrate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
)

// situation is how fast memory is scanned, and what of.
type situation struct {
	k      ksm
	c      config
	mem    mergeable
	cost   time.Duration // CPU time a page
	costBy string
	now    rate          // who is in charge scans with, at its fastest
	scan   time.Duration // a full scan at that
	by     string        // what sets the pace
}

func situationOf(ctx context.Context, h *host.Host, k ksm, c config) (s situation, err error) {
	s = situation{k: k, c: c, now: k.rate, by: "pages_to_scan and sleep_millisecs"}
	if s.mem, err = mergeableOf(ctx, h, k); err != nil {
		return s, err
	}
	s.cost, s.costBy = costOf(ctx, h, k)
	n := s.mem.pages
	switch {
	case c.tuned != nil:
		info, err := h.ReadFile(ctx, "/proc/meminfo")
		if err != nil {
			return s, err
		}
		kb, _ := field(info, "MemTotal:")
		s.now, s.by = c.tuned.rate(kb*1024), "ksmtuned, at its fastest"
		s.scan = s.now.fullScan(n, s.cost)
	case k.advisor:
		// The advisor changes pages_to_scan after each scan, within its limits
		// (mm/ksm.c, scan_time_advisor).
		s.now.pages, s.by = k.maxPages, "the advisor, within its limits"
		s.scan = max(k.target, s.now.fullScan(n, s.cost))
		if k.maxCPU > 0 {
			s.scan = max(s.scan, toDuration(float64(n)*float64(s.cost)/k.maxCPU))
		}
	default:
		s.scan = s.now.fullScan(n, s.cost)
	}
	return s, nil
}

func (s situation) evidence() []trap.Evidence {
	ev := []trap.Evidence{
		trap.Ev(dir+"pages_to_scan", "%d", s.k.rate.pages),
		trap.Ev(dir+"sleep_millisecs", "%d", s.k.rate.sleep.Milliseconds()),
		trap.Ev(dir+"full_scans", "%d", s.k.fullScans),
		trap.Ev("mergeable memory", "%d pages, %s: %s", s.mem.pages, gib(float64(s.mem.pages*s.k.pageSize)), s.mem.source),
		trap.Ev("full scan", "%s, paced by %s (%s)", spell(s.scan), s.by, s.costBy),
	}
	if s.k.hasAdvisor {
		mode := "[none] scan-time"
		if s.k.advisor {
			mode = "none [scan-time]"
			ev = append(ev, trap.Ev(dir+"advisor_target_scan_time", "%.0f", s.k.target.Seconds()),
				trap.Ev(dir+"advisor_max_pages_to_scan", "%d", s.k.maxPages), trap.Ev(dir+"advisor_max_cpu", "%.0f", 100*s.k.maxCPU))
		}
		ev = append(ev, trap.Ev(dir+"advisor_mode", "%s", mode))
	}
	for _, l := range s.c.lines {
		ev = append(ev, trap.Ev(fmt.Sprintf("%s:%d", l.File, l.Num), "w %s %s", l.Path, l.Argument))
	}
	return ev
}

func (s situation) detail() trap.Prose {
	n := s.mem.pages
	out := []string{
		fmt.Sprintf("A full scan of %s takes about %s, and merging takes two; %s saved so far. %s are within reach for %s of one CPU.",
			gib(float64(n*s.k.pageSize)), spell(s.scan), gib(float64(s.k.saved*s.k.pageSize)),
			spell(reachable(n, s.cost)), percent(min(budget, float64(n)*float64(s.cost)/float64(reachable(n, s.cost))))),
	}
	if s.k.hasAdvisor && !s.k.advisor && s.c.tuned == nil {
		out = append(out, "This kernel has an advisor that tunes KSM automatically (advisor_mode); it is off.")
	}
	if strings.Contains(s.mem.source, "at most") {
		out = append(out, "No full scan has been done yet.")
	}
	return trap.Lines(out...)
}
