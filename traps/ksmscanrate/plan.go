package ksmscanrate

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/tmpfiles"
)

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	k, err := readKSM(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	c := readConfig(ctx, h)
	if c.unknown != nil {
		return remedy.Plan{}, fmt.Errorf("finding out who sets KSM up: %w", c.unknown)
	}
	switch f.Subject {
	case scanRate:
		return planRate(ctx, h, k, c)
	case runFile:
		return planRun(f, k)
	case acrossNodes:
		return planNodes(ctx, h, k, c)
	case tuners:
		return planTuners(ctx, h, k, c)
	case profit:
		return remedy.Plan{}, remedy.Refuse("scanning this memory costs more than it saves: stop offering it (<nosharepages/> in a guest's" +
			" definition, mem-merge=off of qemu, MemoryKSM=no of a unit), or turn KSM off: write 2 to " + dir +
			"run, which takes as much additional memory as is saved now")
	}
	return remedy.Plan{}, remedy.Refuse("fettle has no remedy for %s", f.Subject)
}

// facts are what the check tells the plan about KSM that is off.
type facts struct {
	Wanted string `json:"wanted"` // which configuration wants it on; empty: none
}

func planRun(f trap.Finding, k ksm) (remedy.Plan, error) {
	if k.run == 1 {
		return remedy.Plan{}, remedy.Refuse("KSM costs next to nothing while it has nothing to scan. If guests ought to be merged, look at" +
			" how they get their memory; else turn KSM off where it is turned on")
	}
	told, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	if told.Wanted == "" {
		return remedy.Plan{}, remedy.Refuse("nothing configures KSM to be on, so fettle cannot tell whether it should stay off:"+
			" write 1 to %srun to merge again, or 0 to leave it off", dir)
	}
	return remedy.Plan{Title: "start KSM",
		Notes: []string{"It is configured already: " + told.Wanted + ". Only the running state changes.",
			"ksmd starts to take CPU time; merged pages cost a copy when they are written to."},
		Steps: []step.Step{step.Sysfs{Path: dir + "run", Value: "1"}}}, nil
}

func planNodes(ctx context.Context, h *host.Host, k ksm, c config) (remedy.Plan, error) {
	if k.shared > 0 {
		return remedy.Plan{}, remedy.Refuse("the kernel lets merge_across_nodes change only while nothing is merged. By hand, with %s free"+
			" for the pages that part again: write 2 to %srun, then 0 to %smerge_across_nodes, then 1 to %srun",
			gib(float64(k.saved*k.pageSize)), dir, dir, dir)
	}
	return build(ctx, h, c, "merge within NUMA nodes only", []setting{{name: "merge_across_nodes", value: "0"}},
		[]string{"Less is merged: each node keeps its own copy of a page. Guests read merged pages from their own node."})
}

// planTuners leaves ksmd to one: the advisor goes off, because nobody else can
// set the pace while it is on.
func planTuners(ctx context.Context, h *host.Host, k ksm, c config) (remedy.Plan, error) {
	if !k.advisor {
		return remedy.Plan{}, remedy.Refuse(
			"fettle cannot tell which of the two should stay: stop ksmtuned (systemctl disable --now ksmtuned)" +
				" or fettle tune ksm",
		)
	}
	return build(
		ctx,
		h,
		c,
		"turn off the kernel's advisor",
		[]setting{{name: "advisor_mode", value: "none", drifting: []string{dir + "pages_to_scan"}}},
		[]string{"The other one is in charge from then on. To keep the advisor instead, stop the other: systemctl disable --now ksmtuned.",
			"The kernel sets pages_to_scan to 100 when the advisor goes off; the other sets it again within its interval."},
	)
}

// setting is a file below /sys/kernel/mm/ksm and its value.
type setting struct {
	name, value string
	drifting    []string // other files that the write sets adrift
}

func planRate(ctx context.Context, h *host.Host, k ksm, c config) (remedy.Plan, error) {
	s, err := situationOf(ctx, h, k, c)
	if err != nil {
		return remedy.Plan{}, err
	}
	n := s.mem.pages
	target := reachable(n, s.cost)
	share := min(float64(n)*float64(s.cost)/float64(target), budget)
	notes := []string{
		fmt.Sprintf(
			"Aim: a full scan of %s (%d pages; %s) in %s; now it takes about %s.",
			gib(float64(n*k.pageSize)),
			n,
			s.mem.source,
			spell(target),
			spell(s.scan),
		),
		fmt.Sprintf("ksmd will take about %s of one CPU, %s.", percent(share), s.costBy),
	}
	if c.tuned != nil {
		return planTuned(ctx, h, s, target, notes)
	}
	if k.rate.sleep <= 0 {
		return remedy.Plan{}, remedy.Refuse("sleep_millisecs is 0: ksmd never rests, and cannot get more CPU time")
	}
	fixed := pagesFor(n, k.rate.sleep, target, s.cost)
	// Where somebody chose pages_to_scan, another value is in their sense more
	// than the advisor; and undo can then put the old one back: the kernel
	// sets 100 when the advisor goes off.
	if !k.advisor && (!k.hasAdvisor || k.rate.pages != 100) {
		return build(ctx, h, c, fmt.Sprintf("scan %d pages every %d ms", fixed, k.rate.sleep.Milliseconds()),
			[]setting{{name: "pages_to_scan", value: fmt.Sprint(fixed)}},
			append(notes, "The value is right for this much memory. When guests are added, run the check again."))
	}
	// The advisor starts from advisor_min_pages_to_scan (mm/ksm.c,
	// set_advisor_defaults), 500 unless set, and moves only after a full scan:
	// slow to start with much memory. So it is given the right pace at once.
	mode := setting{name: "advisor_mode", value: "scan-time"}
	if !k.advisor {
		// advisor_mode_store() in mm/ksm.c (Linux 6.8) sets pages_to_scan, and
		// under scan-time it changes by itself and cannot be written.
		mode.drifting = []string{dir + "pages_to_scan"}
	}
	return build(ctx, h, c, fmt.Sprintf("let the kernel's advisor aim at a full scan in %s", spell(target)), []setting{
		{name: "advisor_target_scan_time", value: fmt.Sprintf("%.0f", target.Seconds())},
		{name: "advisor_max_cpu", value: fmt.Sprintf("%.0f", 100*budget)},
		{name: "advisor_max_pages_to_scan", value: fmt.Sprint(max(30000, 2*fixed))},
		{name: "advisor_min_pages_to_scan", value: fmt.Sprint(max(500, fixed))},
		mode,
	}, append(notes, "The advisor corrects its pace only after each full scan. On Linux 6.18 it had merged nothing of 400 MiB after 10 s:"+
		" give it two full scans before you judge it."))
}

// planTuned changes ksmtuned's limits: what is written past it is overwritten
// within a minute.
func planTuned(ctx context.Context, h *host.Host, s situation, target time.Duration, notes []string) (remedy.Plan, error) {
	was, err := h.ReadFile(ctx, ksmtunedConf)
	if err != nil {
		return remedy.Plan{}, err
	}
	most := pagesFor(s.mem.pages, s.now.sleep, target, s.cost)
	now := setShellValue(was, "KSM_NPAGES_MAX", fmt.Sprint(most))
	return remedy.Plan{Title: fmt.Sprintf("let ksmtuned go up to %d pages a batch", most),
		Notes: append(notes, "ksmtuned is in charge: it starts KSM when memory gets short and raises the pace step by step"+
			" (KSM_NPAGES_BOOST each KSM_MONITOR_INTERVAL), so the full pace comes some minutes later."),
		Steps: []step.Step{
			step.File{Path: ksmtunedConf, Content: now, Was: was},
			step.Unit{Name: "ksmtuned.service", Act: "restart"},
		}, Settle: 10 * time.Second}, nil
}

// build makes the plan that sets values now and at every boot. Lines of
// other tmpfiles.d files that would set the same are taken out: two lines on
// one file are a conflict of which the first wins (tmpfiles.d(5)).
func build(ctx context.Context, h *host.Host, c config, title string, set []setting, notes []string) (remedy.Plan, error) {
	p := remedy.Plan{Title: title, Notes: notes}
	sets := func(l tmpfiles.Line) bool {
		return slices.ContainsFunc(set, func(s setting) bool { return l.Path == dir+s.name }) ||
			l.Path == dir+"pages_to_scan" && set[len(set)-1].value == "scan-time" // refused by the kernel then
	}
	others := map[string][]int{}
	var files []string
	for _, l := range c.lines {
		if l.File == dropIn || !sets(l) {
			continue
		}
		if !strings.HasPrefix(l.File, "/etc/") {
			return p, remedy.Refuse(
				"%s:%d sets %s too, and belongs to a package: copy the file to /etc/tmpfiles.d and change it there",
				l.File,
				l.Num,
				l.Path,
			)
		}
		if others[l.File] == nil {
			files = append(files, l.File)
		}
		others[l.File] = append(others[l.File], l.Num)
	}
	for _, s := range set {
		p.Steps = append(p.Steps, step.Sysfs{Path: dir + s.name, Value: s.value, Drifting: s.drifting})
	}
	for _, name := range files {
		was, err := h.ReadFile(ctx, name)
		if err != nil {
			return p, err
		}
		lines := bytes.SplitAfter(was, []byte("\n"))
		for _, n := range others[name] {
			if n >= 1 && n <= len(lines) {
				lines[n-1] = append([]byte("# now in "+dropIn+": "), lines[n-1]...)
			}
		}
		p.Steps = append(p.Steps, step.File{Path: name, Content: bytes.Join(lines, nil), Was: was})
	}
	was, err := h.ReadFile(ctx, dropIn)
	if err != nil && !host.IsAbsent(err) {
		return p, err
	}
	p.Steps = append(p.Steps, step.File{Path: dropIn, Content: dropInText(was, set), Was: was})
	for _, l := range c.lines {
		if l.Path == dir+"run" && l.Argument == "1" {
			return p, nil
		}
	}
	if c.wanted == "" && c.auto == "" {
		p.Notes = append(
			p.Notes,
			"fettle found nothing that turns KSM on at boot. These settings are kept; whatever turns KSM on must do so again.",
		)
	}
	return p, nil
}

// dropInText is the drop-in with the new settings in place of old ones of the
// same name. The advisor's mode comes last: it takes its limits when it goes on.
func dropInText(was []byte, set []setting) []byte {
	var b bytes.Buffer
	if len(was) == 0 {
		b.WriteString("# Settings of kernel samepage merging, tmpfiles.d(5). Written by fettle.\n")
	}
	for line := range bytes.Lines(was) {
		keep := true
		for _, s := range set {
			f := strings.Fields(string(line))
			keep = keep && (len(f) < 2 || f[1] != dir+s.name)
		}
		if keep {
			b.Write(bytes.TrimRight(line, "\n"))
			b.WriteByte('\n')
		}
	}
	for _, s := range set {
		fmt.Fprintf(&b, "w %s%s - - - - %s\n", dir, s.name, s.value)
	}
	return b.Bytes()
}
