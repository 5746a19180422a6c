package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"fettle/host"
	"fettle/internal/ui"
	"fettle/trap"
)

// text is the report for people. Results are written as they come.
type text struct {
	w      io.Writer
	opt    Options
	paint  ui.Painter
	meta   Meta
	wrote  bool // something of a trap
	brief  bool // what needs nobody is counted, not listed
	counts Counts
}

const indent = "          " // as wide as the widest label and two spaces

func newText(w io.Writer, opt Options) Writer {
	return &text{w: w, opt: opt, paint: ui.Painter(opt.Colour)}
}

// briefFrom is how many traps of one run are too many for a line each: the
// findings would leave the screen.
const briefFrom = 16

func (t *text) Begin(m Meta, traps []*trap.Trap) error {
	t.meta = m
	t.brief = len(traps) >= briefFrom && !t.opt.Verbose
	what := []string{string(m.Kind)}
	if m.Identity.Release != "" {
		what = append(what, strings.TrimSpace(m.Identity.Sysname+" "+m.Identity.Release))
	}
	if (m.Kind == host.KindCapture || m.Kind == host.KindSosreport) && !m.Identity.Time.IsZero() {
		what = append(what, "of "+m.Identity.Time.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if m.Identity.EUID > 0 {
		what = append(what, "without root")
	}
	head := ui.Visible(fmt.Sprintf("%s (%s)", m.Host, strings.Join(what, ", ")))
	_, err := fmt.Fprintf(t.w, "%s\n\n", t.paint.Paint(ui.Bold, head))
	return err
}

func (t *text) Result(r trap.Result) error {
	t.counts.Add(r)
	var b strings.Builder
	var clear, not []trap.Outcome
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		switch {
		case o.Hidden():
			if t.opt.Verbose {
				t.hidden(&b, o)
			}
		case o.Status == trap.Found:
			t.found(&b, o)
		case o.Status == trap.Clear:
			clear = append(clear, *o)
		case o.Status == trap.NotApplicable:
			not = append(not, *o)
		default:
			t.unknown(&b, o)
		}
	}
	if !t.brief {
		t.quiet(&b, "clear", r.Trap, clear)
		t.quiet(&b, "n/a", r.Trap, not)
	}
	t.wrote = t.wrote || b.Len() > 0
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (t *text) End(took time.Duration) error {
	var b strings.Builder
	if t.wrote {
		b.WriteByte('\n')
	}
	sum := t.counts.String() + " in " + round(took)
	if t.brief {
		sum += "; -v lists all"
	}
	b.WriteString(ui.Wrap(sum, t.opt.Width, "", "  "))
	if n := t.counts.Accepted; n > 0 {
		b.WriteString(t.more(n, "accepted"))
	}
	if n := t.counts.Known; n > 0 {
		b.WriteString(t.more(n, "known from earlier runs"))
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (t *text) more(n int, what string) string {
	if t.opt.Verbose {
		return fmt.Sprintf("%d %s\n", n, what)
	}
	return fmt.Sprintf("%d %s, hidden; -v shows\n", n, what)
}

// head starts a block: a label, and what it is about.
func (t *text) head(b *strings.Builder, st ui.Style, label string, o *trap.Outcome) {
	what := t.paint.Paint(ui.Bold, ui.Visible(o.Trap))
	if o.Subject != "" {
		what += " on " + t.paint.Paint(ui.Bold, ui.Visible(o.Subject))
	}
	fmt.Fprintf(b, "%s%s%s\n", t.paint.Paint(st, label), indent[len(label):], what)
}

var severityStyle = map[trap.Severity]ui.Style{trap.Critical: ui.Red, trap.Warning: ui.Yellow, trap.Notice: ui.Cyan}

func (t *text) found(b *strings.Builder, o *trap.Outcome) {
	st, ok := severityStyle[o.Severity]
	if !ok {
		st = ui.Cyan
	}
	t.head(b, st, strings.ToUpper(severityName(o.Severity)), o)
	t.body(b, o)
	if a := o.Accepted; a != nil && a.Lapsed != "" {
		t.line(b, "was accepted ("+ui.Visible(a.Reason)+"); back because "+ui.Visible(a.Lapsed))
	}
	if o.ByHand != "" {
		t.line(b, "by hand: "+ui.Visible(o.ByHand))
	}
	// Never broken in two: it is there to be copied.
	b.WriteString(indent + next(&t.meta, o) + Command(o) + "\n")
}

func (t *text) hidden(b *strings.Builder, o *trap.Outcome) {
	label := "known"
	if a := o.Accepted; a != nil && a.Lapsed == "" {
		label = "accepted"
	}
	t.head(b, ui.Faint, label, o)
	t.line(b, severityName(o.Severity)+": "+ui.Visible(o.Summary))
	if a := o.Accepted; a != nil && a.Lapsed == "" {
		s := "accepted"
		if a.By != "" {
			s += " by " + a.By
		}
		if a.Until != "" {
			s += " until " + a.Until
		}
		t.line(b, ui.Visible(s+": "+a.Reason))
	}
}

func (t *text) unknown(b *strings.Builder, o *trap.Outcome) {
	t.head(b, ui.Magenta, "UNKNOWN", o)
	if o.Reason == "" && o.Summary == "" {
		t.line(b, fmt.Sprintf("no reason given (status %s)", ui.Visible(string(o.Status))))
	}
	t.body(b, o)
	if h := hint(&t.meta, o); h != "" {
		t.line(b, h)
	}
}

// body writes summary, reason, detail and evidence.
func (t *text) body(b *strings.Builder, o *trap.Outcome) {
	for _, s := range []string{o.Summary, o.Reason, o.Detail} {
		for line := range strings.Lines(strings.TrimRight(s, "\n")) {
			t.line(b, ui.Visible(strings.TrimRight(line, "\n")))
		}
	}
	for _, e := range o.Evidence {
		s := ui.Visible(e.Source) + ": " + ui.Visible(e.Value)
		b.WriteString(ui.Wrap(s, t.opt.Width, indent+"- ", indent+"    "))
	}
}

func (t *text) line(b *strings.Builder, s string) {
	b.WriteString(ui.Wrap(s, t.opt.Width, indent, indent))
}

// quiet writes what needs nobody: one line for a trap, or everything with -v.
func (t *text) quiet(b *strings.Builder, label, id string, out []trap.Outcome) {
	if len(out) == 0 {
		return
	}
	if t.opt.Verbose {
		for i := range out {
			t.head(b, ui.Faint, label, &out[i])
			t.body(b, &out[i])
		}
		return
	}
	s := id
	if names := subjects(out); names != "" {
		s += " on " + names
	}
	if len(out) == 1 {
		s += ": " + out[0].Summary + out[0].Reason
	}
	s = ui.Cut(label+indent[len(label):]+ui.Visible(s), t.opt.Width)
	b.WriteString(t.paint.Paint(ui.Faint, s) + "\n")
}

func subjects(out []trap.Outcome) string {
	var names []string
	for _, o := range out {
		if o.Subject != "" {
			names = append(names, o.Subject)
		}
	}
	if len(names) > 4 {
		return fmt.Sprintf("%d subjects", len(names))
	}
	return strings.Join(names, ", ")
}

func round(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
