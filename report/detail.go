package report

import (
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/internal/ui"
)

// detailed is a block for each finding and each unknown, with its evidence;
// what is clear or not applicable in a line a trap, or, verbose, in full too.
func (t *text) detailed(b *strings.Builder, results []trap.Result) {
	for _, r := range results {
		var clear, not []trap.Outcome
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			switch {
			case o.Hidden():
				if t.opt.Verbose {
					t.hidden(b, o)
				}
			case o.Status == trap.Found:
				t.found(b, o)
			case o.Status == trap.Clear:
				clear = append(clear, *o)
			case o.Status == trap.NotApplicable:
				not = append(not, *o)
			default:
				t.unknown(b, o)
			}
		}
		if !t.opt.Quiet {
			t.quiet(b, "clear", r.Trap, clear)
			t.quiet(b, "n/a", r.Trap, not)
		}
	}
}

// head starts a block: a label, and what it is about.
func (t *text) head(b *strings.Builder, st ui.Style, label string, o *trap.Outcome) {
	what := t.paint.Paint(ui.Bold, ui.Visible(o.Trap))
	if o.Subject != "" {
		what += " on " + t.paint.Paint(ui.Bold, ui.Visible(o.Subject))
	}
	fmt.Fprintf(b, "%s%s%s\n", t.paint.Paint(st, label), indent[len(label):], what)
}

func (t *text) found(b *strings.Builder, o *trap.Outcome) {
	t.head(b, Style(o.Severity), strings.ToUpper(severityName(o.Severity)), o)
	t.body(b, o)
	if a := o.Accepted; a != nil && a.Lapsed != "" {
		t.line(b, "was accepted ("+ui.Visible(a.Reason)+"); back because "+ui.Visible(a.Lapsed))
	}
	if s := onHub(o); s != "" {
		t.line(b, s)
	}
	if o.ByHand != "" {
		t.line(b, "by hand: "+ui.Visible(o.ByHand))
	}
	// Never broken in two: it is there to be copied.
	b.WriteString(indent + next(&t.meta, o) + Command(o) + "\n")
}

// onHub says that a finding that counts is accepted on the hub; empty where it is not.
func onHub(o *trap.Outcome) string {
	if o.OnHub == nil || o.Hidden() {
		return ""
	}
	on := *o.OnHub
	on.Hub = true
	return ui.Visible(on.Whose() + ": " + on.Reason)
}

func (t *text) hidden(b *strings.Builder, o *trap.Outcome) {
	label := "known"
	if a := o.Accepted; a != nil && a.Lapsed == "" {
		label = "accepted"
	}
	t.head(b, ui.Faint, label, o)
	t.line(b, severityName(o.Severity)+": "+ui.Visible(o.Summary))
	if a := o.Accepted; a != nil && a.Lapsed == "" {
		t.line(b, ui.Visible(a.Whose()+": "+a.Reason))
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
	for _, s := range []string{o.Summary, o.Reason} {
		if s != "" {
			t.line(b, ui.Visible(s))
		}
	}
	for line := range strings.Lines(strings.TrimRight(string(o.Detail), "\n")) {
		t.line(b, ui.Visible(strings.TrimRight(line, "\n")))
	}
	for _, e := range o.Evidence {
		s := ui.Visible(e.Source) + ": " + ui.Visible(e.Value)
		b.WriteString(ui.Wrap(s, t.opt.Width, indent+"- ", indent+"    "))
	}
}

func (t *text) line(b *strings.Builder, s string) {
	b.WriteString(t.wrapped(s, indent, further))
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
	for line := range strings.Lines(t.wrapped(ui.Visible(s), label+indent[len(label):], indent)) {
		b.WriteString(t.paint.Paint(ui.Faint, strings.TrimRight(line, "\n")) + "\n")
	}
}

func subjects(out []trap.Outcome) string {
	var names []string
	for _, o := range out {
		if o.Subject != "" {
			names = append(names, o.Subject)
		}
	}
	if len(names) > 4 {
		return count(names)
	}
	return strings.Join(names, ", ")
}
