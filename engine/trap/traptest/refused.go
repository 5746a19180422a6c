package traptest

import (
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

func denying(src host.Source, question string) *Blind {
	return &Blind{Source: src, Hide: question, Err: host.ErrDenied}
}

// refused denies a check its questions one by one: each time it says something, and still finds
// what it found, or says what it does not know. What was tried on a host of that kind is not
// tried again.
func refused(t testing.TB, tr *trap.Trap, file string, tried map[string]bool) {
	src, extra := hosttest.Load(t, file)
	_, network := extra["network"]
	opt := trap.Options{Network: network}
	all, kind := &Blind{Source: src}, "clear: "
	outcomes := Run(t, tr, host.New(all), opt)
	if slices.ContainsFunc(outcomes, IsFound) {
		kind = "found: "
	}
	for _, q := range all.Asked() {
		if tried[kind+q] {
			continue
		}
		tried[kind+q] = true
		after := Run(t, tr, host.New(denying(src, q)), opt)
		if slices.ContainsFunc(after, func(o trap.Outcome) bool { return strings.Contains(o.Reason, "reported nothing") }) {
			t.Errorf("%s: nothing is reported where this is denied: %s", file, q)
		}
		unknown := slices.ContainsFunc(after, func(o trap.Outcome) bool { return o.Status == trap.Unknown })
		if lost := Lost(outcomes, after); lost != "" && !unknown {
			t.Errorf("%s: %s, and nothing is unknown, where this is denied: %s", file, lost, q)
		}
	}
	if tr.Plan != nil {
		refusedPlans(t, tr, file, src, outcomes, tried)
	}
}

// refusedPlans denies a plan its questions, and the facts of its finding: it is whole, or an error.
func refusedPlans(t testing.TB, tr *trap.Trap, file string, src host.Source, outcomes []trap.Outcome, tried map[string]bool) {
	for _, o := range outcomes {
		if !IsFound(o) {
			continue
		}
		all := &Blind{Source: src}
		if _, err := tr.Plan(t.Context(), host.New(all), o); err != nil && len(all.Asked()) == 0 {
			continue
		}
		for _, q := range append(all.Asked(), "facts") {
			if key := "plan: " + o.Summary + q; !tried[key] {
				tried[key] = true
				told := o
				if q == "facts" {
					told.Facts = nil
				}
				if p, err := tr.Plan(t.Context(), host.New(denying(src, q)), told); err == nil && len(p.Steps) == 0 {
					t.Errorf("%s: a plan without steps for %s where this is denied: %s", file, o.Subject, q)
				}
			}
		}
	}
}
