// Package before judges what checks found by what comes next: does the host come back from
// a restart as it is?
package before

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/sorted"
	"fettle/report"
)

// Verdict is what is said of the next start.
type Verdict string

// The verdicts, the best first.
const (
	ComesBack   Verdict = "comes-back"
	Without     Verdict = "comes-back-without"
	DoesNotCome Verdict = "does-not-come-back"
	CannotSay   Verdict = "cannot-say" // nothing was found that stops it, but not all could be looked at
)

// Restart is what a restart will do to a host.
type Restart struct {
	Verdict Verdict `json:"verdict"`
	// Fails says what keeps the host from coming back, Without what it comes back without.
	Fails   []string `json:"fails,omitempty"`
	Without []string `json:"without,omitempty"`
	// NotLooked says, of each area that the verdict needs, why it was not looked at.
	NotLooked []Gap `json:"not_looked,omitempty"`
	// NotValidated are services whose configuration no program can check without starting them.
	NotValidated []string `json:"not_validated,omitempty"`
}

// Gap is an area that was not looked at, and why.
type Gap struct {
	Area   trap.Area `json:"area"`
	Reason string    `json:"reason"`
}

// Judge reads the results of the traps that bite at the next start.
func Judge(m *report.Meta, traps []*trap.Trap, results []trap.Result) Restart {
	var r Restart
	for _, o := range worst(results) {
		switch o.AtStart() {
		case trap.StartFails:
			r.Fails = append(r.Fails, o.Summary)
		case trap.StartWithout:
			r.Without = append(r.Without, cmp.Or(o.Losing(), o.Trap))
		}
	}
	r.Without = slices.Compact(r.Without)
	of := map[string][]trap.Outcome{}
	for _, res := range results {
		of[res.Trap] = res.Outcomes
	}
	r.NotLooked = gaps(m, traps, of)
	r.NotValidated = notValidated(traps, of)
	switch {
	case len(r.Fails) > 0:
		r.Verdict = DoesNotCome
	case len(r.Without) > 0:
		r.Verdict = Without
	case len(r.NotLooked) > 0:
		r.Verdict = CannotSay
	default:
		r.Verdict = ComesBack
	}
	return r
}

// worst are the findings that count, the gravest first.
func worst(results []trap.Result) []*trap.Outcome {
	var out []*trap.Outcome
	for _, r := range results {
		for i := range r.Outcomes {
			if o := &r.Outcomes[i]; o.Status == trap.Found && !o.Hidden() {
				out = append(out, o)
			}
		}
	}
	sorted.By(out, func(a, b *trap.Outcome) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// gaps are the needed areas that were not looked at.
func gaps(m *report.Meta, traps []*trap.Trap, of map[string][]trap.Outcome) []Gap {
	var out []Gap
	for _, a := range trap.Needed {
		if why := unlooked(a, m, traps, of); why != "" {
			out = append(out, Gap{a, why})
		}
	}
	return out
}

// unlooked says why an area was not looked at; empty if it was. A root folder has no running
// state: what only the running system has, nobody can compare with it.
func unlooked(a trap.Area, m *report.Meta, traps []*trap.Trap, of map[string][]trap.Outcome) string {
	if a == trap.StartUnits && m.Kind == host.KindRoot {
		return host.ErrNotRunning.Error()
	}
	covered := false
	for _, t := range traps {
		if !t.Covers(a) {
			continue
		}
		for _, o := range of[t.ID()] {
			if o.Status == trap.Unknown {
				return fmt.Sprintf("%s: %s", t.ID(), o.Reason)
			}
			covered = true
		}
	}
	switch {
	case !covered:
		return "no check looked at it"
	case m.Identity.EUID != 0:
		return "checked without root"
	}
	return ""
}

// notValidated are the subjects to which checks of configuration do not apply.
func notValidated(traps []*trap.Trap, of map[string][]trap.Outcome) []string {
	var out []string
	for _, t := range traps {
		if !t.Covers(trap.Configuration) {
			continue
		}
		for _, o := range of[t.ID()] {
			if o.Status == trap.NotApplicable && o.Subject != "" {
				out = append(out, o.Subject)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Says is the verdict in a sentence.
func (r *Restart) Says(name string) string {
	switch r.Verdict {
	case DoesNotCome:
		return name + " does not come back from a restart"
	case Without:
		const most = 4
		said := strings.Join(r.Without[:min(most, len(r.Without))], ", ")
		if n := len(r.Without) - most; n > 0 {
			said += fmt.Sprintf(" and %d more", n)
		}
		return name + " comes back from a restart without " + said
	case ComesBack:
		return name + " comes back from a restart; nothing that fettle looks at is lost"
	}
	var areas []string
	for _, g := range r.NotLooked {
		areas = append(areas, string(g.Area))
	}
	return fmt.Sprintf("cannot say whether %s comes back: found nothing that stops it, but could not look at all of its %s",
		name, strings.Join(areas, ", "))
}
