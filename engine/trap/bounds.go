package trap

import (
	"fmt"
	"unicode/utf8"
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
	o.Summary, o.ByHand = cut(o.Summary, maxText), cut(o.ByHand, maxText)
	o.Reason, o.Detail = cut(o.Reason, maxDetail), Prose(cut(string(o.Detail), maxDetail))
	if extra := len(o.Evidence) - maxEvidence; extra > 0 {
		o.Evidence = o.Evidence[:maxEvidence:maxEvidence]
		o.Detail = o.Detail.Also(fmt.Sprintf("%d more pieces of evidence are left out", extra))
	}
	for i, e := range o.Evidence {
		if len(e.Source) > maxText || len(e.Value) > maxText {
			o.Evidence = append([]Evidence(nil), o.Evidence...) // the check may still hold the old ones
			for j := i; j < len(o.Evidence); j++ {
				o.Evidence[j] = Evidence{cut(o.Evidence[j].Source, maxText), cut(o.Evidence[j].Value, maxText)}
			}
			break
		}
	}
	if len(o.Facts) > maxDetail {
		o.Facts, o.Detail = nil, o.Detail.Also("what a plan needs to know is left out: it is too much")
	}
	n := size(o)
	if r.bytes+n > maxBytes {
		o.Evidence, o.Detail = nil, "detail and evidence are left out: the check says too much"
		n = size(o)
	}
	r.bytes += n
	return o
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

// overflow counts an outcome that is one too many. The gravest leads, so that
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
		o.Accepted, o.Known = nil, false // whoever reports says that, no check does
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
