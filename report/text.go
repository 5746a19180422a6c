package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/sorted"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// text is the report for people: the host, what was found, worst first, one
// entry for one cause; then what is not known, and a line of figures.
type text struct {
	collected
	w     io.Writer
	opt   Options
	paint ui.Painter
}

const indent = "          " // as wide as the widest label and two spaces

// further is where a line goes on that does not fit: no name can be so long
// that its end looks like a line of fettle's own.
const further = indent + "  "

func newText(w io.Writer, opt Options) Writer {
	return &text{w: w, opt: opt, paint: ui.Painter(opt.Colour)}
}

func (t *text) End(took time.Duration) error {
	results := worstFirst(t.results)
	var body strings.Builder
	if t.opt.Verbose || t.opt.Detail {
		t.detailed(&body, results)
	} else {
		t.brief(&body, results)
	}
	t.resolved(&body)
	if t.opt.Last != "" {
		body.WriteString(t.wrapped(ui.Visible(t.opt.Last), "", "  "))
	}
	var out strings.Builder
	if !t.opt.Quiet {
		out.WriteString(t.wrapped(t.paint.Paint(ui.Bold, header(&t.meta)), "", "  "))
		if t.meta.Warning != "" && t.opt.Verbose {
			out.WriteString(t.wrapped(ui.Visible(t.meta.Warning), "", "  "))
		}
		if t.opt.Lead != "" {
			out.WriteString(t.wrapped(t.paint.Paint(ui.Bold, ui.Visible(t.opt.Lead)), "", "  "))
		}
		roomy := body.Len() > 0 && (t.counts.Found > 0 || t.opt.Verbose || t.opt.Detail)
		if roomy {
			out.WriteByte('\n')
		}
		out.WriteString(body.String())
		if roomy {
			out.WriteByte('\n')
		}
		out.WriteString(t.wrapped(t.figures(took), "", "  "))
		if s := t.hiddenFigures(); s != "" {
			out.WriteString(t.wrapped(s, "", "  "))
		}
	} else {
		out.WriteString(body.String())
	}
	if t.opt.Timing {
		t.timing(&out)
	}
	_, err := io.WriteString(t.w, out.String())
	return err
}

// brief is one screen: an entry for each cause, and what is not known.
func (t *text) brief(b *strings.Builder, results []trap.Result) {
	all := unknowns(&t.meta, results)
	if t.opt.Quiet {
		all = unknowns(&t.meta, newlyUnknown(results))
		if !t.opt.New {
			all = nil
		}
	}
	unknown := ""
	if len(all) > 0 {
		said, act := paragraph(all)
		unknown = t.label(ui.Magenta, "UNKNOWN", ui.Visible(said))
		if act != "" {
			unknown += t.wrapped(ui.Visible(act), indent, further)
		}
	}
	t.entries(b, entries(results), screen-reserved-strings.Count(unknown, "\n"))
	b.WriteString(unknown)
}

// newlyUnknown are the results without what an earlier run did not know either.
func newlyUnknown(results []trap.Result) []trap.Result {
	out := slices.Clone(results)
	for i := range out {
		out[i].Outcomes = slices.DeleteFunc(slices.Clone(out[i].Outcomes), func(o trap.Outcome) bool { return o.Known })
	}
	return out
}

// A terminal of old has screen lines; reserved of them are for the host, the figures and
// what parts them from the findings.
const (
	screen   = 24
	reserved = 5
)

// entries shows what fits into so many lines, and only names the least grave of what
// does not. What is critical is always shown. Where there is room, an entry of several
// causes says each.
func (t *text) entries(b *strings.Builder, all []entry, room int) {
	blocks := make([]string, len(all))
	lines := 0
	for i := range all {
		blocks[i] = t.entry(&all[i])
		lines += strings.Count(blocks[i], "\n")
	}
	for i := range all {
		if causes := all[i].causes(); causes != nil {
			apart := t.apart(&all[i], causes)
			if more := strings.Count(apart, "\n") - strings.Count(blocks[i], "\n"); lines+more <= room {
				blocks[i] = apart
				lines += more
			}
		}
	}
	shown, rest := len(all), ""
	for shown > 1 && lines+strings.Count(rest, "\n") > room && all[shown-1].severity < trap.Critical {
		shown--
		lines -= strings.Count(blocks[shown], "\n")
		rest = t.named(all[shown:])
	}
	for _, block := range blocks[:shown] {
		b.WriteString(block)
	}
	b.WriteString(rest)
}

// entry is one to three lines, and the command.
func (t *text) entry(e *entry) string {
	first := e.findings[0]
	names := e.subjects()
	what := t.paint.Paint(ui.Bold, ui.Visible(first.Trap))
	switch {
	case len(names) == 1:
		what += " on " + t.paint.Paint(ui.Bold, ui.Visible(names[0]))
	case len(names) > 1:
		what += " on " + count(names)
	}
	s := t.label(Style(e.severity), strings.ToUpper(severityName(e.severity)), what+": "+ui.Visible(e.says(t.title)))
	if len(names) > 1 {
		s += t.wrapped(t.fitting(names), indent, further)
	}
	if a := first.Accepted; a != nil && a.Lapsed != "" {
		s += t.wrapped("was accepted ("+ui.Visible(a.Reason)+"); back because "+ui.Visible(a.Lapsed), indent, further)
	}
	if on := onHub(first); on != "" {
		s += t.wrapped(on, indent, further)
	}
	return s + t.act(e)
}

// apart is an entry with a sentence for each cause.
func (t *text) apart(e *entry, causes []entry) string {
	s := t.label(
		Style(e.severity),
		strings.ToUpper(severityName(e.severity)),
		t.paint.Paint(ui.Bold, ui.Visible(e.findings[0].Trap))+" on "+count(e.subjects())+":",
	)
	for _, c := range causes {
		s += t.wrapped(t.paint.Paint(ui.Bold, t.fitting(c.subjects()))+": "+ui.Visible(c.findings[0].Summary), indent, further)
	}
	return s + t.act(e)
}

// act is the command of an entry, or what to do by hand.
func (t *text) act(e *entry) string {
	command, byHand := e.act(&t.meta)
	if byHand != "" {
		return t.wrapped("by hand: "+ui.Visible(byHand), indent, further)
	}
	return indent + command + "\n" // never broken in two: it is there to be copied
}

// fitting names as many subjects as fit into a line, and counts the others.
func (t *text) fitting(names []string) string {
	room := t.opt.Width - len(indent) - len(" and 1000 more")
	n, used := 0, 0
	for n < len(names) {
		used += len(ui.Visible(names[n])) + 2
		if n > 0 && used > room {
			break
		}
		n++
	}
	shown := make([]string, n)
	for i := range shown {
		shown[i] = ui.Visible(names[i])
	}
	if n == len(names) {
		return strings.Join(shown, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), len(names)-n)
}

// named names the entries for which there is no room, each trap once for a severity.
func (t *text) named(rest []entry) string {
	var s string
	for len(rest) > 0 {
		sev := rest[0].severity
		findings := map[string]int{}
		var names []string
		for len(rest) > 0 && rest[0].severity == sev {
			id := rest[0].findings[0].Trap
			if findings[id] == 0 {
				names = append(names, id)
			}
			findings[id] += len(rest[0].findings)
			rest = rest[1:]
		}
		for i, id := range names {
			names[i] = ui.Visible(id)
			if n := findings[id]; n > 1 {
				names[i] += fmt.Sprintf(" (%d)", n)
			}
		}
		s += t.label(Style(sev), strings.ToUpper(severityName(sev)), "also "+strings.Join(names, ", ")+": fettle check TRAP tells more")
	}
	return s
}

// resolved tells what an earlier run showed and is no longer there.
func (t *text) resolved(b *strings.Builder) {
	for _, r := range t.results {
		for _, was := range r.Resolved {
			o := trap.Outcome{Trap: r.Trap, Subject: was.Subject}
			b.WriteString(t.label(ui.Green, "resolved", ui.Visible(o.ID()+": "+was.Said)))
		}
	}
}

// figures is the last line.
func (t *text) figures(took time.Duration) string {
	c := byEntry(t.counts, t.results)
	s := c.String()
	switch {
	case c.Found == 0:
		s = "Nothing found" + strings.TrimPrefix(s, "0 found")
	case c.Found != t.counts.Found:
		s = strings.Replace(s, ")", fmt.Sprintf("; %d subjects)", t.counts.Found), 1)
	}
	return s + " (" + units.Duration(took) + ")"
}

// hidden counts the findings that do not count.
func (t *text) hiddenFigures() string {
	var parts []string
	for _, f := range []figure{{"accepted", t.counts.Accepted}, {"known from earlier runs", t.counts.Known},
		{"below --severity", t.counts.Below}} {
		if f.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", f.n, f.name))
		}
	}
	switch {
	case len(parts) == 0:
		return ""
	case t.opt.Verbose:
		return "Not counted: " + strings.Join(parts, ", ")
	}
	return "Hidden: " + strings.Join(parts, ", ") + " (-v shows)"
}

// timing tells what each trap's check took, the longest first; those that took
// less than a millisecond together.
func (t *text) timing(b *strings.Builder) {
	all := slices.Clone(t.results)
	sorted.By(all, func(x, y trap.Result) int { return cmp.Compare(y.Took, x.Took) })
	b.WriteString("\nTime of each check (they run at the same time):\n")
	var rest time.Duration
	left := 0
	for _, r := range all {
		if r.Took < time.Millisecond {
			rest += r.Took
			left++
			continue
		}
		fmt.Fprintf(b, "%10s  %s\n", units.Duration(r.Took), ui.Visible(r.Trap))
	}
	if left > 0 {
		fmt.Fprintf(b, "%10s  %s\n", units.Duration(rest), units.Count(left, "other", "others together"))
	}
}

func (t *text) title(id string) string {
	for _, tr := range t.traps {
		if tr.ID() == id {
			return tr.Title()
		}
	}
	return ""
}

// label starts with a label in its column; text is Visible and may be painted.
func (t *text) label(st ui.Style, label, text string) string {
	s := ui.Wrap(text, t.opt.Width, indent, further)
	return t.paint.Paint(st, label) + s[len(label):]
}

func (t *text) wrapped(s, first, rest string) string { return ui.Wrap(s, t.opt.Width, first, rest) }

// Style is how a severity is painted.
func Style(s trap.Severity) ui.Style {
	if st, ok := severityStyle[s]; ok {
		return st
	}
	return ui.Cyan
}

var severityStyle = map[trap.Severity]ui.Style{trap.Critical: ui.Red, trap.Warning: ui.Yellow, trap.Notice: ui.Cyan}
