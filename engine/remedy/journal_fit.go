package remedy

import (
	"fmt"

	"fettle/engine/remedy/step"
)

// fit tells whether the records can be those of the plan: each step begins
// before anything else is said of it, and its snapshot holds what such a step
// takes. Undo relies on both, and a journal that somebody edited, or that a
// file system lost a part of, must not lead to "everything is as it was".
// line is that of the record that does not fit, from 1.
func (c *Change) fit() (line int, err error) {
	began := make([][]step.Item, len(c.Plan.Steps))
	intended := make([]bool, len(c.Plan.Steps))
	for i, r := range c.Records {
		switch r.Event {
		case evIntent:
			if err := fitItems(c.Plan.Steps[r.Step], r.Items); err != nil {
				return i + 1, fmt.Errorf("step %d: %w", r.Step, err)
			}
			began[r.Step], intended[r.Step] = r.Items, true
		case evDone, evUndoIntent, evUndone, evLeft:
			if !intended[r.Step] {
				return i + 1, fmt.Errorf("step %d is %s, and never began", r.Step, r.Event)
			}
			if r.Event == evDone && !sameKeys(began[r.Step], r.Items) {
				return i + 1, fmt.Errorf("step %d left other things than it began with", r.Step)
			}
		}
	}
	return 0, nil
}

// fitItems compares a snapshot with the kind of step that took it.
func fitItems(s step.Step, items []step.Item) error {
	k, ok := s.(step.Keeper)
	if !ok { // may have none
		return nil
	}
	first, rest := k.Keeps()
	if len(items) == 0 {
		return fmt.Errorf("nothing was kept for %s", s.Describe())
	}
	for i, it := range items {
		want := rest
		if i == 0 {
			want = first
		}
		if it.Kind != want {
			return fmt.Errorf("item %d is a %s, where %s keeps a %s", i+1, it.Kind, s.Describe(), want)
		}
	}
	return nil
}

func sameKeys(a, b []step.Item) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Key() != b[i].Key() {
			return false
		}
	}
	return true
}
