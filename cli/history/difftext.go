package history

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/capture"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
	"fettle/report/history"
)

const margin = "          "

// differ writes differences for people.
type differ struct {
	b     strings.Builder
	paint ui.Painter
	width int
	d     *differences
}

// text writes the differences: findings first, then the facts.
func (d *differences) text(a *app.App, o diffOptions) error {
	t := &differ{paint: ui.Painter(ui.Colour(a.Stdout)), width: ui.Width(a.Stdout), d: d}
	fmt.Fprintf(&t.b, "A  %s\nB  %s\n", ui.Visible(sideName(&d.A)), ui.Visible(sideName(&d.B)))
	if len(d.Changes) > 0 {
		t.b.WriteByte('\n')
	}
	for i := range d.Changes {
		t.change(&d.Changes[i])
	}
	t.facts(o)
	fmt.Fprintf(&t.b, "\n%s\n", t.figures())
	_, err := io.WriteString(a.Stdout, t.b.String())
	return err
}

// sideName is "web1, 2026-11-22 06:00 UTC, Debian 12, Linux 6.1.0".
func sideName(m *report.Meta) string {
	at := m.Started
	if m.Kind != host.KindLive && !m.Identity.Time.IsZero() {
		at = m.Identity.Time
	}
	s := m.Host + ", " + at.UTC().Format("2006-01-02 15:04 UTC")
	if m.Machine.Distribution != "" {
		s += ", " + m.Machine.Distribution
	}
	if m.Identity.Release != "" {
		s += ", Linux " + m.Identity.Release
	}
	if m.Identity.EUID > 0 {
		s += ", checked without root"
	}
	return s
}

// sameHost tells whether the sides are one host at two times.
func (d *differences) sameHost() bool {
	return d.A.Identity.Hostname == d.B.Identity.Hostname && d.A.Identity.Machine == d.B.Identity.Machine
}

func (t *differ) change(c *history.Change) {
	label, style := string(c.Kind), ui.Style(ui.Faint)
	switch {
	case c.Kind == history.New && t.d.sameHost():
		style = ui.Red
	case c.Kind == history.New:
		label, style = "only B", ui.Red
	case c.Kind == history.Resolved && t.d.sameHost():
		style = ui.Green
	case c.Kind == history.Resolved:
		label, style = "only A", ui.Yellow
	case c.Kind == history.Changed:
		style = ui.Yellow
	case c.Kind == history.Unseen || c.Kind == history.Seen:
		label, style = "unknown", ui.Magenta
	}
	what := c.Trap
	if c.Subject != "" {
		what += " on " + c.Subject
	}
	s := ui.Wrap(t.paint.Paint(ui.Bold, ui.Visible(what))+": "+ui.Visible(t.says(c)), t.width, margin, margin+"  ")
	t.b.WriteString(t.paint.Paint(style, label) + s[len(label):])
}

// says is a change in a sentence.
func (t *differ) says(c *history.Change) string {
	switch c.Kind {
	case history.New:
		return finding(c.After) + t.elsewhere("A", c.Before)
	case history.Resolved:
		return finding(c.Before) + t.elsewhere("B", c.After)
	case history.Changed:
		return finding(c.After) + "; in A: " + finding(c.Before)
	case history.Unseen:
		return "in A " + finding(c.Before) + t.elsewhere("B", c.After)
	}
	return "in B " + finding(c.After) + t.elsewhere("A", c.Before)
}

// finding is an outcome in a few words.
func finding(o *trap.Outcome) string {
	switch {
	case o == nil:
		return "not checked"
	case o.Status == trap.Found:
		return o.Severity.String() + ": " + o.Summary
	case o.Summary+o.Reason == "":
		return string(o.Status)
	}
	return string(o.Status) + ": " + o.Summary + o.Reason
}

// elsewhere tells what the other side says, where it says something.
func (t *differ) elsewhere(name string, o *trap.Outcome) string {
	if o != nil && o.Summary+o.Reason == "" {
		return ""
	}
	return " (" + name + ": " + finding(o) + ")"
}

// maxLines is how many lines of a fact are shown of each side, maxFacts how
// many facts.
const (
	maxLines = 5
	maxFacts = 40
)

func (t *differ) facts(o diffOptions) {
	if len(t.d.Facts) == 0 {
		return
	}
	t.b.WriteString("\nFacts that these checks read and that differ:\n")
	for i, f := range t.d.Facts {
		if i == maxFacts && !o.verbose {
			fmt.Fprintf(&t.b, "and %s (-v shows)\n", units.Count(len(t.d.Facts)-i, "more fact", "more facts"))
			return
		}
		t.fact(&f, o.verbose)
	}
}

var kinds = map[capture.Op]string{capture.OpDir: "folder ", capture.OpStat: "mode and owner of ", capture.OpLstat: "mode and owner of ",
	capture.OpLink: "link ", capture.OpXattr: "attribute of ", capture.OpTable: "table of "}

func (t *differ) fact(f *fact, whole bool) {
	names := slices.Compact(slices.Clone(f.Traps))
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	by := ""
	if len(names) > 0 {
		by = t.paint.Paint(ui.Faint, " ("+strings.Join(names, ", ")+")")
	}
	t.b.WriteString(ui.Wrap(t.paint.Paint(ui.Bold, kinds[f.Op]+ui.Visible(f.What))+by, t.width, "", "    "))
	gone, come := history.Lines(f.Was, f.Is)
	if len(gone)+len(come) == 0 {
		t.b.WriteString("    the same lines, in another order\n")
	}
	t.lines("  - ", ui.Red, gone, whole)
	t.lines("  + ", ui.Green, come, whole)
}

func (t *differ) lines(mark string, st ui.Style, lines []string, whole bool) {
	for i, l := range lines {
		if i == maxLines && !whole && len(lines) > maxLines+1 {
			fmt.Fprintf(&t.b, "%s(%d more lines; -v shows)\n", mark, len(lines)-i)
			return
		}
		l = ui.Visible(strings.ReplaceAll(l, "\t", "  "))
		if !whole {
			l = ui.Cut(l, t.width-len(mark))
		}
		t.b.WriteString(t.paint.Paint(st, mark+l) + "\n")
	}
}

func (t *differ) figures() string {
	if len(t.d.Changes)+len(t.d.Facts) == 0 {
		return "No difference."
	}
	n := map[history.Kind]int{}
	for _, c := range t.d.Changes {
		n[c.Kind]++
	}
	newly, resolved := "new", "resolved"
	if !t.d.sameHost() {
		newly, resolved = "only in B", "only in A"
	}
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{{n[history.New], newly}, {n[history.Resolved], resolved}, {n[history.Changed], "changed"},
		{n[history.Unseen] + n[history.Seen], "unknown in one of them"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	if len(parts) == 0 {
		parts = []string{"The same findings"}
	}
	if k := len(t.d.Facts); k > 0 {
		parts = append(parts, units.Count(k, "fact differs", "facts differ"))
	}
	return strings.Join(parts, ", ")
}
