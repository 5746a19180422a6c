// Package remedy changes a host in a way that can be undone. A Plan is data:
// a list of typed steps. Applying it keeps a journal that undo and resume read.
package remedy

import (
	"fmt"
	"slices"
	"time"

	"fettle/engine/remedy/step"
	"fettle/internal/ui"
)

// Plan is how one finding is fixed. It is made by a trap, shown to the
// admin, and only then applied.
type Plan struct {
	Title string // "pin br0's MTU at 1500"
	// Notes are shown before the admin is asked: what will be felt, what is
	// not covered, what to watch.
	Notes []string
	Steps []step.Step
	// CutsConnection is set when a step can cut the admin's own connection:
	// an independent rollback is armed before the first step and disarmed by
	// fettle confirm.
	CutsConnection bool
	// Settle is how long the host may need until the check can see the
	// effect: verification is repeated until then.
	Settle time.Duration
	// Vanishes is why the check does not speak of the subject any more once it
	// is fixed; empty: it must call it clear.
	Vanishes string
}

// Refusal is the error of a trap that will not make a plan, and why, in
// words for the admin: what to do instead.
type Refusal struct{ Why string }

func (e *Refusal) Error() string { return e.Why }

// Refuse makes a Refusal. The line ends of format are its author's; one in an
// argument came from outside, and is shown as an escape.
func Refuse(format string, args ...any) error {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = ui.Visible(a)
		case error:
			args[i] = ui.Visible(a.Error())
		}
	}
	return &Refusal{fmt.Sprintf(format, args...)}
}

// Restorable tells whether undo makes everything byte for byte what it was.
func (p Plan) Restorable() bool {
	for _, s := range p.Steps {
		if s.Reversal().Class != step.Restorable {
			return false
		}
	}
	return true
}

// normal is the plan with what depends on its other steps decided: a service
// that nothing was changed for before it is restarted is not restarted again by
// an undo.
func (p Plan) normal() Plan {
	p.Steps = slices.Clone(p.Steps)
	back := false // an undo puts something back that is read again
	for i, s := range p.Steps {
		if r, ok := s.(step.Repeated); ok && r.Repeats() {
			if !back {
				p.Steps[i] = r.Alone()
			}
			continue
		}
		if _, asks := s.(step.Asker); !asks {
			class := s.Reversal().Class
			back = back || class == step.Restorable || class == step.Invertible
		}
	}
	return p
}
