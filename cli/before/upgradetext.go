package before

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	judge "fettle/before"
	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// headings are the groups of what is found, in the order in which it is shown.
var headings = map[trap.Consequence]string{
	trap.Stops:    "STOPS apt, dpkg, a service or a login",
	trap.Changes:  "CHANGES without an error",
	trap.Asks:     "ASKS, or needs you to decide",
	trap.Prepares: "PREPARE: space, holds, sources",
}

// evidenceShown is how many lines of the host an entry shows.
const evidenceShown = 3

// writeUpgrade is the upgrade for people: the verdict, then what is found, by consequence.
func writeUpgrade(a *app.App, o options, l *looked, u *judge.Upgrade) error {
	if o.verbose {
		return writeVerbose(a, l, u)
	}
	t := upgradeText{width: ui.Width(a.Stdout), paint: ui.Painter(ui.Colour(a.Stdout))}
	t.line(t.paint.Paint(ui.Bold, ui.Visible(u.Says(filepath.Base(l.meta.Host)))), "", "  ")
	by := judge.ByConsequence(l.traps, l.results)
	n := 0
	for _, c := range trap.Consequences {
		if len(by[c]) == 0 {
			continue
		}
		t.WriteString("\n" + t.paint.Paint(ui.Bold, headings[c]) + "\n")
		for _, f := range by[c] {
			n++
			t.finding(f)
		}
	}
	t.unknown(l.results)
	fmt.Fprintf(&t, "\n%s of %s to %s looked for, %d found (%s); fettle explain TRAP tells more\n",
		units.Count(len(l.traps), "breakage", "breakages"), u.From, u.To, n, units.Duration(l.took))
	_, err := a.Stdout.Write([]byte(t.String()))
	return err
}

type upgradeText struct {
	strings.Builder
	width int
	paint ui.Painter
}

func (t *upgradeText) line(s, first, rest string) { t.WriteString(ui.Wrap(s, t.width, first, rest)) }

// finding is what is found, the lines that cause it, what comes of it, and what to do.
func (t *upgradeText) finding(f *trap.Outcome) {
	what := t.paint.Paint(report.Style(f.Severity), ui.Visible(f.Trap))
	if f.Subject != "" {
		what += " on " + ui.Visible(f.Subject)
	}
	t.line(what+": "+ui.Visible(f.Summary), "  ", "      ")
	for i, e := range f.Evidence {
		if i == evidenceShown {
			t.line(fmt.Sprintf("and %d more", len(f.Evidence)-i), "      ", "        ")
			break
		}
		t.line(ui.Visible(e.Source+": "+e.Value), "      ", "        ")
	}
	if f.Detail != "" {
		t.line(ui.Visible(string(f.Detail)), "      then: ", "        ")
	}
	if f.ByHand != "" {
		t.line(ui.Visible(f.ByHand), "      now: ", "        ")
	}
}

// unknown is what could not be looked at, a reason once and a trap once beside it.
func (t *upgradeText) unknown(results []trap.Result) {
	var reasons []string
	of := map[string][]string{}
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Status == trap.Unknown {
				if of[o.Reason] == nil {
					reasons = append(reasons, o.Reason)
				}
				if !slices.Contains(of[o.Reason], o.Trap) {
					of[o.Reason] = append(of[o.Reason], o.Trap)
				}
			}
		}
	}
	if len(reasons) > 0 {
		t.WriteString("\n" + t.paint.Paint(ui.Bold, "NOT LOOKED AT") + "\n")
	}
	for _, r := range reasons {
		t.line(ui.Visible(ui.Few(of[r], 4)+": "+r), "  ", "      ")
	}
}

// writeVerbose is every subject, as check -v has it.
func writeVerbose(a *app.App, l *looked, u *judge.Upgrade) error {
	w, err := report.New("text", a.Stdout, report.Options{Colour: ui.Colour(a.Stdout), Width: ui.Width(a.Stdout), Verbose: true,
		Lead: u.Says(filepath.Base(l.meta.Host))})
	if err != nil {
		return err
	}
	if err := w.Begin(l.meta, l.traps); err != nil {
		return err
	}
	for _, r := range l.results {
		if err := w.Result(r); err != nil {
			return err
		}
	}
	return w.End(l.took)
}

func writeUpgradeFleet(a *app.App, d *upgradeFleetDocument) error {
	width := ui.Width(a.Stdout)
	var b strings.Builder
	for _, h := range d.Hosts {
		if h.Error != "" {
			b.WriteString(ui.Wrap(ui.Visible(h.Host)+": no verdict: "+ui.Visible(h.Error), width, "", "    "))
			continue
		}
		b.WriteString(ui.Wrap(ui.Visible(h.Says(h.Host)), width, "", "    "))
		for _, f := range h.Found {
			if f.Severity == trap.Notice.String() {
				continue
			}
			subject := f.Trap
			if f.Subject != "" {
				subject += " on " + f.Subject
			}
			b.WriteString(ui.Wrap(ui.Visible(subject+": "+f.Summary), width, "  - ", "    "))
		}
	}
	_, err := a.Stdout.Write([]byte(b.String()))
	return err
}
