package trap

import (
	"fmt"
	"unicode/utf8"

	"fettle/host/redact"
)

// Bounds of what one check may say, so that a check that meets a million
// subjects, or a file made to exhaust fettle, costs a bounded amount of memory
// here and in every reader of the report.
const (
	maxOutcomes = 1000    // per check
	maxEvidence = 100     // per outcome
	maxText     = 4 << 10 // bytes of a subject, summary or piece of evidence
	maxDetail   = 16 << 10
	maxBytes    = 4 << 20 // of everything that one check says
)

// moreSubject is the subject of the outcome that stands for all those over
// maxOutcomes.
const moreSubject = "(more)"

// bound cuts an outcome to size, and charges it to the check's budget.
func (r *Report) bound(o Outcome) Outcome {
	o.Summary, o.ByHand = safe(o.Summary, maxText), safe(o.ByHand, maxText)
	o.Reason, o.Detail = safe(o.Reason, maxDetail), Prose(safe(string(o.Detail), maxDetail))
	if extra := len(o.Evidence) - maxEvidence; extra > 0 {
		o.Evidence = o.Evidence[:maxEvidence:maxEvidence]
		o.Detail = o.Detail.Also(fmt.Sprintf("%d more pieces of evidence are left out", extra))
	}
	if r.bytes+sizeCut(o) > maxBytes {
		o.Evidence, o.Detail = nil, "detail and evidence are left out: the check says too much"
	}
	o.Evidence = shown(o.Evidence)
	if len(o.Facts) > maxDetail {
		o.Facts, o.Detail = nil, o.Detail.Also("what a plan needs to know is left out: it is too much")
	}
	r.bytes += size(o)
	return o
}

// safe is a sentence, which may quote a line of a log or of a file.
func safe(s string, n int) string { return redact.MaskedProse(cut(s, n)) }

// shown is evidence as anybody may see it: cut, and without what looks like a secret. It is
// the one place where evidence of every trap and rule, here or from another host, passes.
func shown(ev []Evidence) []Evidence {
	var out []Evidence
	for i, e := range ev {
		safe := Evidence{cut(e.Source, maxText), redact.Masked(e.Source, cut(e.Value, maxText))}
		if safe == e && out == nil {
			continue
		}
		if out == nil {
			out = append(make([]Evidence, 0, len(ev)), ev[:i]...) // the check may still hold the old ones
		}
		out = append(out, safe)
	}
	if out == nil {
		return ev
	}
	return out
}

// sizeCut is size with evidence as long as it may be: what is over the budget is not looked
// at for secrets.
func sizeCut(o Outcome) int {
	n := size(o)
	for _, e := range o.Evidence {
		n -= max(0, len(e.Source)-maxText) + max(0, len(e.Value)-maxText)
	}
	return n
}

// size is about what an outcome costs, in bytes.
func size(o Outcome) int {
	n := 200 + len(o.Subject) + len(o.Summary) + len(o.Reason) + len(o.Detail) + len(o.ByHand) + len(o.Facts)
	for _, e := range o.Evidence {
		n += 50 + len(e.Source) + len(e.Value)
	}
	return n
}

// cut shortens s to about n bytes, at a character's boundary, and says so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s... (%d bytes more)", s[:n], len(s)-n)
}

// overflow counts an outcome that is one too many. The most severe leads, so that
// no finding and no "could not look" gets lost among the clear.
func (r *Report) overflow(o Outcome) {
	if r.more == nil {
		r.more = map[Status]int{}
	}
	r.more[o.Status]++
	lead := Outcome{Trap: r.trap, Subject: moreSubject, Status: o.Status, Severity: o.Severity}
	if r.lead.Status == "" || rank(lead) > rank(r.lead) {
		r.lead = lead
	}
}

// rest is the outcome that stands for those over the bound.
func (r *Report) rest() Outcome {
	o := r.lead
	text := fmt.Sprintf("more subjects than the %d listed", maxOutcomes)
	if o.Status == Found || o.Status == Clear {
		o.Summary = text
	} else {
		o.Reason = text
	}
	for _, s := range []Status{Found, Unknown, Clear, NotApplicable} {
		if n := r.more[s]; n > 0 {
			o.Detail = o.Detail.Also(fmt.Sprintf("%d more %s", n, s))
		}
	}
	return o
}

// Receive makes a result that came from another process, or another host,
// into one that t's check could have given here: bounded, of known statuses
// and severities, one outcome per subject.
func Receive(t *Trap, in Result) Result {
	r := &Report{trap: t.ID()}
	for _, o := range in.Outcomes {
		o.Accepted, o.OnHub, o.Known = nil, nil, false // whoever reports says that, no check does
		switch o.Status {
		case Found:
			if o.Severity < Notice || o.Severity > Critical {
				o.Severity = Warning
			}
		case Clear, NotApplicable, Unknown:
			o.Severity = 0
		default:
			o = Outcome{Subject: o.Subject, Status: Unknown, Reason: fmt.Sprintf("an outcome of unknown status %q came", cut(string(o.Status), 40))}
		}
		r.add(o)
	}
	return r.result(t, in.Took)
}
