// Package ksmscanrate finds hosts whose kernel samepage merging scans memory
// so slowly that it merges next to nothing while the guests live, and other
// settings that make it useless or costly.
package ksmscanrate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
)

//go:embed lore.md
var lore string

// Trap is ksm-scan-rate.
var Trap = trap.Trap{Lore: trap.Lore(lore), Check: check, Plan: plan}

// Subjects: what is wrong with what. They are named after the files of
// /sys/kernel/mm/ksm where one is to blame.
const (
	scanRate    = "scan-rate"
	runFile     = "run"
	acrossNodes = "merge_across_nodes"
	profit      = "general_profit"
	tuners      = "tuners"
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.Of(ctx, h) != "" {
		r.NotApplicable("", "the host of this container sets KSM")
		return nil
	}
	if ok, err := h.Exists(ctx, dir+"run"); err != nil {
		return err
	} else if !ok {
		r.NotApplicable("", "this kernel has no KSM")
		return nil
	}
	k, err := readKSM(ctx, h)
	if err != nil {
		return err
	}
	c := readConfig(ctx, h)
	if c.unknown != nil && (k.run != 1 || c.tuned == nil) {
		// Whether KSM is wanted, and who is in charge, may then be told wrongly.
		r.Unknown("configuration", c.why())
	}
	switch {
	case k.run == 1:
	case c.tuned != nil: // starts it when memory gets short
	case k.run == 2:
		checkLeftOff(r, k, c)
		return nil
	case c.wanted != "":
		r.Found(trap.Finding{Subject: runFile, Severity: trap.Warning, Facts: trap.FactsOf(facts{Wanted: c.wanted}),
			Summary:  "KSM is configured to be on but is off: nothing is merged",
			Evidence: []trap.Evidence{trap.Ev(dir+"run", "%d", k.run), trap.Ev("configuration", "%s", c.wanted)}})
		return nil
	case c.unknown != nil:
		return nil
	default:
		why := "KSM is off, and nothing configures it to be on"
		if c.auto != "" {
			why = "KSM is off; " + c.auto
		}
		r.NotApplicable("", why, trap.Ev(dir+"run", "%d", k.run))
		return nil
	}
	if tuned, err := checkTuners(ctx, h, r, k, c); tuned {
		clearRun(r, k, c)
	} else if err := checkRate(ctx, h, r, k, c, err); err != nil {
		r.Unknown(scanRate, err)
	}
	checkNodes(ctx, h, r, k)
	checkProfit(r, k)
	return nil
}

// tuneComm is what fettle tune ksm calls its process.
const tuneComm = "fettle-tune-ksm"

// checkTuners reports two that set ksmd's pace at once. It returns whether
// fettle tune ksm does: its pace changes all the time, and is 0 while it rests; and why that is not known.
func checkTuners(ctx context.Context, h *host.Host, r *trap.Report, k ksm, c config) (tuned bool, err error) {
	var by []string
	ps, err := h.Processes(ctx)
	for _, p := range ps {
		if p.Comm == tuneComm && p.UID == 0 && !tuned {
			tuned = true
			by = append(by, "fettle tune ksm")
		}
	}
	if c.tuned != nil {
		by = append(by, "ksmtuned")
	}
	if k.advisor {
		by = append(by, "the kernel's advisor")
	}
	ev := []trap.Evidence{trap.Ev("ksmd's pace is set by", "%s", strings.Join(by, ", "))}
	switch {
	case len(by) > 1:
		f := trap.Finding{Subject: tuners, Severity: trap.Warning, Evidence: ev,
			Summary: strings.Join(by, " and ") + " both set KSM's pace",
			Detail:  "Each undoes what the other sets."}
		if k.advisor {
			f.Detail = "While the advisor is on, the kernel refuses pages_to_scan to everybody else (EINVAL), who may not notice;" +
				" sleep_millisecs and run are still theirs."
		}
		r.Found(f)
	case err != nil && len(by) > 0:
		r.Unknown(tuners, err)
	case c.unknown != nil && len(by) > 0:
		r.Unknown(tuners, c.why(), ev...)
	case tuned:
		r.Clear(tuners, "fettle tune ksm alone sets KSM's pace", ev...)
	case len(by) == 1:
		r.Clear(tuners, by[0]+" alone sets KSM's pace", ev...)
	}
	if tuned {
		r.Clear(scanRate, "fettle tune ksm tunes KSM: its service logs each hour what it did", ev...)
	}
	return tuned, err
}

// checkLeftOff reports run=2, which stops ksmd like 0 and is no default: it
// is a step of changing merge_across_nodes or max_page_sharing.
func checkLeftOff(r *trap.Report, k ksm, c config) {
	f := trap.Finding{Subject: runFile, Severity: trap.Notice, Facts: trap.FactsOf(facts{Wanted: c.wanted}),
		Summary:  "KSM was stopped and its pages unmerged, and it was not started again",
		Evidence: []trap.Evidence{trap.Ev(dir+"run", "%d", k.run)}}
	if c.wanted != "" {
		f.Severity = trap.Warning
		f.Evidence = append(f.Evidence, trap.Ev("configuration", "%s", c.wanted))
	}
	r.Found(f)
}

// clearRun says that KSM is on where somebody configured that.
func clearRun(r *trap.Report, k ksm, c config) {
	if k.run == 1 && c.wanted != "" {
		r.Clear(runFile, "KSM is on, as it is configured", trap.Ev(dir+"run", "%d", k.run), trap.Ev("configuration", "%s", c.wanted))
	}
}

// checkRate judges the pace; unlisted is why something that is not seen may set it.
func checkRate(ctx context.Context, h *host.Host, r *trap.Report, k ksm, c config, unlisted error) error {
	s, err := situationOf(ctx, h, k, c)
	if err != nil {
		return err
	}
	if k.run == 1 && k.sum == 0 && k.fullScans > 0 {
		if s.mem.err != nil {
			return s.mem.err
		}
		if s.mem.guests == 0 { // as on every Ubuntu with qemu installed: ksmd sleeps
			clearRun(r, k, c)
			r.Clear(scanRate, "there is nothing to scan: no virtual machine is running")
			return nil
		}
		r.Found(trap.Finding{Subject: runFile, Severity: trap.Notice,
			Summary: "KSM is on, and no program here has memory that it may merge",
			Detail: "Programs offer memory with madvise(MADV_MERGEABLE) or prctl(PR_SET_MEMORY_MERGE). Guests do not when their memory is" +
				" backed by hugepages or shared files, or when it says <nosharepages/> or mem-merge=off.",
			Evidence: []trap.Evidence{
				trap.Ev(dir+"full_scans", "%d", k.fullScans),
				trap.Ev(dir+"pages_*", "0 shared, sharing, unshared, volatile"),
			}})
		r.Clear(scanRate, "there is nothing to scan")
		return nil
	}
	clearRun(r, k, c)
	ev := s.evidence()
	n := s.mem.pages
	switch {
	case s.mem.err != nil && !tooSlow(s.scan, n, s.cost):
		r.Unknown(scanRate, s.mem.err, ev...)
	case !tooSlow(s.scan, n, s.cost):
		if next, where, ok := c.nextBoot(k.rate); ok && c.tuned == nil && tooSlow(next.fullScan(n, s.cost), n, s.cost) {
			r.Found(trap.Finding{Subject: scanRate, Severity: trap.Notice, Evidence: ev,
				Summary: "KSM scans quickly enough now, and too slowly again after a reboot: " + where + " sets pages_to_scan",
				Detail: trap.Lines(
					fmt.Sprintf(
						"With %d pages every %d ms a full scan takes %s.",
						next.pages,
						next.sleep.Milliseconds(),
						spell(next.fullScan(n, s.cost)),
					),
				)})
			return nil
		}
		if c.unknown != nil { // who sets the pace at the next boot, or how far ksmtuned goes, was not seen
			r.Unknown(scanRate, c.why(), ev...)
			return nil
		}
		r.Clear(scanRate, "a full scan of mergeable memory is quick enough at these settings", ev...)
	case s.mem.bound && !tooSlow(s.now.fullScan(s.mem.least, s.cost), s.mem.least, s.cost) && !strings.Contains(s.mem.source, "virtual"):
		r.Unknown(scanRate, fmt.Errorf("KSM has not finished its first scan, so how much memory it has to scan is not known yet"), ev...)
	// Who pastes the settings alone shows no processes; fettle tune ksm would have raised the pace.
	case unlisted != nil && !errors.Is(unlisted, host.ErrNotCollected):
		r.Unknown(scanRate, unlisted, ev...)
	default:
		f := trap.Finding{Subject: scanRate, Severity: trap.Warning, Evidence: ev,
			Summary: "KSM scans so slowly that memory is merged long after programs start",
			Detail:  s.detail()}
		if k.advisor {
			f.Summary = "KSM's advisor is held to a scan so slow that memory is merged long after programs start"
		}
		if c.tuned != nil {
			f.Summary = "ksmtuned is held to a scan so slow that memory is merged long after programs start"
		}
		r.Found(f)
	}
	return nil
}

func checkNodes(ctx context.Context, h *host.Host, r *trap.Report, k ksm) {
	n, err := numaNodes(ctx, h)
	switch {
	case err != nil:
		r.Unknown(acrossNodes, err)
	case n > 1 && k.acrossNodes && k.saved > 0: // ksmtuned may never have started it
		r.Found(trap.Finding{Subject: acrossNodes, Severity: trap.Notice,
			Summary: "KSM merges pages of different NUMA nodes: guests then read memory of another node",
			Detail:  "It saves the most memory this way. Where guests are kept to a node and are slow, merging within nodes is better.",
			Evidence: []trap.Evidence{trap.Ev(dir+"merge_across_nodes", "1"),
				trap.Ev("/sys/devices/system/node/has_memory", "%d nodes", n)}})
	}
}

// profitAfter is how many full scans must be over before the balance counts:
// at first each page costs its 64 bytes of record and nothing is merged yet.
const profitAfter = 3

func checkProfit(r *trap.Report, k ksm) {
	if k.hasProfit && k.profit < 0 && k.fullScans >= profitAfter {
		r.Found(trap.Finding{Subject: profit, Severity: trap.Warning,
			Summary:  "KSM uses more memory for its records than it saves",
			Detail:   trap.Lines(fmt.Sprintf("balance %s; %d pages saved of %d scanned", gib(float64(k.profit)), k.saved, k.sum)),
			Evidence: []trap.Evidence{trap.Ev(dir+"general_profit", "%d", k.profit), trap.Ev(dir+"full_scans", "%d", k.fullScans)}})
	}
}
