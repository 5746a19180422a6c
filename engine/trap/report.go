package trap

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"fettle/host"
)

// Report collects what one check says. Its methods may be called concurrently, and
// after the engine has cut the check off they do nothing.
type Report struct {
	mu       sync.Mutex
	trap     string
	outcomes []Outcome
	at       map[string]int // subject → place in outcomes
	bytes    int            // about what outcomes cost
	more     map[Status]int // outcomes over the bound
	lead     Outcome        // the most severe of those
	sealed   bool
}

// Found reports the trap in f.Subject. f needs a Severity and a Summary: one
// sentence without figures that change by themselves (see Outcome.Summary).
func (r *Report) Found(f Finding) {
	f.Status = Found
	r.add(f)
}

// Clear reports that the subject was looked at and is not in the trap.
func (r *Report) Clear(subject, summary string, ev ...Evidence) {
	r.add(Outcome{Subject: subject, Status: Clear, Summary: summary, Evidence: ev})
}

// NotApplicable reports that the trap cannot be met here, and why.
func (r *Report) NotApplicable(subject, reason string, ev ...Evidence) {
	r.add(Outcome{Subject: subject, Status: NotApplicable, Reason: reason, Evidence: ev})
}

// Unknown reports that the subject could not be looked at. Of a host that has
// no running state at all, it reports not applicable.
func (r *Report) Unknown(subject string, err error, ev ...Evidence) {
	if errors.Is(err, host.ErrNotRunning) {
		r.NotApplicable(subject, host.ErrNotRunning.Error(), ev...)
		return
	}
	r.add(Outcome{Subject: subject, Status: Unknown, Reason: host.Reason(err), Evidence: ev})
}

// add keeps one outcome per subject: the most severe leads, and what the other
// said goes into its detail and evidence.
func (r *Report) add(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Trap = r.trap
	if r.sealed {
		return
	}
	o.Subject = cut(o.Subject, maxText)
	if i, ok := r.at[o.Subject]; ok {
		old := r.outcomes[i]
		r.bytes -= size(old)
		if rank(o) > rank(old) {
			o, old = old, o
		}
		r.outcomes[i] = r.bound(merge(old, o))
		return
	}
	full := len(r.outcomes) >= maxOutcomes || r.bytes > 2*maxBytes
	if full && o.Subject != "" && o.Subject != moreSubject { // these two always have a place
		r.overflow(o)
		return
	}
	o = r.bound(o)
	if r.at == nil {
		r.at = map[string]int{}
	}
	r.at[o.Subject] = len(r.outcomes)
	r.outcomes = append(r.outcomes, o)
}

// merge adds to lead what a lesser outcome of the same subject said. A clear
// or not-applicable part adds nothing to a finding.
func merge(lead, lesser Outcome) Outcome {
	if lesser.Status != Found && lesser.Status != Unknown || lead.Summary == lesser.Summary && lead.Reason == lesser.Reason {
		return lead
	}
	also := lesser.Summary
	if lesser.Status == Unknown {
		also = "not all could be looked at: " + lesser.Reason
	}
	lead.Detail = lead.Detail.Also(also)
	lead.Evidence = append(slices.Clip(lead.Evidence), lesser.Evidence...)
	return lead
}

func rank(o Outcome) int {
	switch o.Status {
	case Found:
		return 10 + int(o.Severity)
	case Unknown:
		return 3
	case Clear:
		return 2
	}
	return 1
}

// seal ends the report and returns what it holds.
func (r *Report) seal() []Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = true
	if r.more != nil {
		r.outcomes = append(r.outcomes, r.rest())
	}
	return r.outcomes
}

// Ev is short for an Evidence with a formatted value.
func Ev(source, format string, args ...any) Evidence {
	return Evidence{Source: source, Value: fmt.Sprintf(format, args...)}
}
