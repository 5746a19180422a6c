// Package sabotage spoils plans as an honest mistake would: a proof that cannot
// tell a spoilt plan from the real one proves nothing.
package sabotage

import (
	"fmt"

	"fettle/engine/remedy/step"
	"fettle/lab"
)

// Sabotage is a plan that does not fix, though its author may think so.
type Sabotage struct {
	Name     string // "sshd-not-reloaded"
	Scenario string // the one that must fail with it
	Spoil    func(steps []step.Step) ([]step.Step, error)
	// Alone: it wants a machine of its own, as one that was mended once does not go back into
	// the trap for it, or is left in pieces by it.
	Alone bool
}

// Without leaves out the steps for which is holds; one there must be.
func Without[S step.Step](is func(S) bool) func([]step.Step) ([]step.Step, error) {
	return Replaced(func(s S) ([]step.Step, bool) { return nil, is(s) })
}

// Replaced puts others in the place of steps of one kind; one there must be.
func Replaced[S step.Step](by func(S) (steps []step.Step, meant bool)) func([]step.Step) ([]step.Step, error) {
	return func(steps []step.Step) ([]step.Step, error) {
		var out []step.Step
		n := 0
		for _, s := range steps {
			if of, ok := s.(S); ok {
				if instead, meant := by(of); meant {
					out = append(out, instead...)
					n++
					continue
				}
			}
			out = append(out, s)
		}
		if n == 0 {
			return nil, fmt.Errorf("%s: %d steps", lab.NothingToSpoil, len(steps))
		}
		return out, nil
	}
}

// Also adds a step.
func Also(more step.Step) func([]step.Step) ([]step.Step, error) {
	return func(steps []step.Step) ([]step.Step, error) { return append(steps, more), nil }
}
