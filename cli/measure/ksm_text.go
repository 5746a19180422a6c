package measure

import (
	"fmt"
	"time"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/measure/ksm"
)

// mostProcesses are printed; --format json has all.
const mostProcesses = 15

func sayKSM(a *app.App, runs []ksmRun, procs []ksm.Process, closed int, perr error) {
	w := ui.Width(a.Stdout)
	fmt.Fprint(a.Stdout, savedPlot(runs).Text(min(w, 100), 10), "\n")
	t := ui.Table{Header: []string{"setting", "saved", "ksmd CPU", "MiB/CPU s", "worst min", "passes", "parted"},
		Right: []bool{false, true, true, true, true, true, true}}
	for _, r := range runs {
		t.Rows = append(t.Rows, []string{ui.Visible(r.name), units.Size(r.Last().Saved() * r.Page), units.Duration(r.CPU()), perCPU(r.Series),
			fmt.Sprintf("%.1f %%", 100*share(r.WorstMinute(), r.Series)), fmt.Sprint(r.Last().Scans - r.First().Scans), fmt.Sprint(r.Last().Breaks - r.First().Breaks)})
	}
	fmt.Fprint(a.Stdout, t.Text(w, "", ui.Painter(ui.Colour(a.Stdout))))
	fmt.Fprint(a.Stdout, ui.Wrap("saved: at the end. MiB/CPU s: saved in addition, for a second of ksmd's CPU time. worst min: ksmd's share of one CPU in its"+
		" busiest minute. parted: merged pages that a write parted again.", w, "", ""))
	if last := runs[len(runs)-1].Last(); last.HasProfit {
		fmt.Fprintf(a.Stdout, "\nSaved less the kernel's records of pages: %s\n", signedSize(last.Profit))
	}
	sayProcesses(a, procs, closed, perr)
}

func sayProcesses(a *app.App, procs []ksm.Process, closed int, perr error) {
	w := ui.Width(a.Stdout)
	switch {
	case perr != nil:
		fmt.Fprint(a.Stdout, "\n", ui.Wrap(perr.Error()+".", w, "", ""))
	case len(procs) == 0 && closed == 0:
		fmt.Fprint(a.Stdout, "\nNo process has merged pages.\n")
	case len(procs) > 0:
		t := ui.Table{Header: []string{"process", "name", "merged", "known", "saved less records"}, Right: []bool{true, false, true, true, true}}
		page := pageBytes()
		for _, p := range procs[:min(len(procs), mostProcesses)] {
			profit := "-"
			if p.HasProfit {
				profit = signedSize(p.Profit)
			}
			t.Rows = append(t.Rows, []string{fmt.Sprint(p.PID), ui.Visible(p.Comm), units.Size(p.Merging * page), units.Size(p.Known * page), profit})
		}
		fmt.Fprint(a.Stdout, "\n", t.Text(w, "", ui.Painter(ui.Colour(a.Stdout))))
		if more := len(procs) - mostProcesses; more > 0 {
			fmt.Fprintf(a.Stdout, "and %s\n", units.Count(more, "more process", "more processes"))
		}
	}
	if closed > 0 {
		fmt.Fprint(a.Stdout, ui.Wrap(fmt.Sprintf("Could not inspect %s of other users: run this as root.", units.Count(closed, "process", "processes")), w, "", ""))
	}
}

// perCPU is the MiB saved in addition for a second of CPU time.
func perCPU(s ksm.Series) string {
	if s.CPU() < 10*time.Millisecond {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(s.Saved())/(1<<20)/s.CPU().Seconds())
}

// share is the part of one CPU that was used in a minute, or in all of a
// shorter series.
func share(d time.Duration, s ksm.Series) float64 {
	return d.Seconds() / max(min(s.Took(), time.Minute).Seconds(), 0.001)
}

func signedSize(n int64) string {
	if n < 0 {
		return "-" + units.Size(-n)
	}
	return units.Size(n)
}
