package remedy

import (
	"context"
	"errors"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

var errBroken = errors.New("broken")

// pretended is a step that says what it is told to.
type pretended struct {
	step.Step
	done, halfway, useful bool
	err                   error
}

func (s pretended) Done(context.Context, machine.Machine, []step.Item, []step.Item) (bool, error) {
	return s.done, s.err
}
func (s pretended) Describe() string { return "pretend" }
func (s pretended) Running() bool    { return false }
func (s pretended) Reversal() step.Reversal {
	return step.Reversal{Class: step.Invertible, Note: "somehow"}
}

// keeping is one that leaves "half" when it is cut off.
type keeping struct{ pretended }

func (keeping) Keeps() (string, string)          { return step.ValueItem, step.ValueItem }
func (keeping) Between(before, n step.Item) bool { return n.Value == "half" }

// inverted is one that is undone by an act of its own.
type inverted struct {
	pretended
	probed, can bool
	fails       error
	acted       *int
}

func (s inverted) Probed() bool    { return s.probed }
func (s inverted) CanInvert() bool { return s.can }
func (s inverted) Invert(context.Context, *step.Site) error {
	*s.acted++
	return s.fails
}

// halfway is one that can be half done.
type halfway struct {
	inverted
	herr error
}

func (s halfway) Halfway(context.Context, machine.Machine) (bool, error) { return s.halfway, s.herr }

// TestProbe: how a step stands, by what was there before, what it left and what is there now.
func TestProbe(t *testing.T) {
	val := func(values ...string) (out []step.Item) {
		for _, v := range values {
			out = append(out, step.Item{Kind: step.ValueItem, Path: "/" + v, Value: v})
		}
		return out
	}
	aside := func(v string) []step.Item { return []step.Item{{Kind: step.ValueItem, Value: v, SideEffect: true}} }
	folder := func(typ string) []step.Item {
		return []step.Item{{Kind: step.FolderItem, Image: &machine.Image{Type: typ}}}
	}
	drifting := []step.Item{{Kind: step.ValueItem, Value: "other", Drifts: true}}
	plain, done := pretended{}, pretended{done: true}
	for name, c := range map[string]struct {
		step               step.Step
		before, after, now []step.Item
		cut                bool
		want               State
		foreign            int
	}{
		"as it was":                  {plain, val("a"), nil, val("a"), true, Before, 0},
		"as it was, and that is all": {done, val("a"), nil, val("a"), true, Done, 0},
		"as it left it":              {plain, val("a"), val("b"), val("b"), false, Done, 0},
		"as it left it, undo cut":    {plain, val("a"), val("b"), val("b"), true, Partly, 0},
		"back, after it was done":    {plain, val("a"), val("b"), val("a"), false, Before, 0},
		"somebody's":                 {plain, val("a"), val("b"), val("x"), false, Foreign, 1},
		"somebody's, both":           {plain, val("a", "b"), val("b", "c"), val("x", "y"), false, Foreign, 2},
		"somebody's, one":            {plain, val("a", "b"), val("b", "c"), val("b", "y"), false, Foreign, 1},
		"cut, somebody's":            {plain, val("a"), nil, val("x"), true, Foreign, 1},
		"cut, half":                  {keeping{plain}, val("a"), nil, val("half"), true, Partly, 0},
		"cut, not half":              {keeping{plain}, val("a"), nil, val("x"), true, Foreign, 1},
		"not cut, half":              {keeping{plain}, val("a"), val("b"), val("half"), false, Foreign, 1},
		"cut, half of no keeper":     {plain, val("a"), nil, val("half"), true, Foreign, 1},
		"cut, a side effect":         {plain, aside("a"), nil, aside("x"), true, Partly, 0},
		"not cut, a side effect":     {plain, aside("a"), aside("b"), aside("x"), false, Foreign, 1},
		"what drifts":                {plain, val("a"), val("a"), drifting, false, Before, 0},
		"a folder that went":         {plain, folder(machine.Folder), nil, folder(machine.Absent), true, Partly, 0},
		"somebody's, and done":       {done, val("a"), val("b"), val("x"), false, Foreign, 1},
		"somebody's, done, cut":      {done, val("a"), nil, val("x"), true, Done, 0},
		"done and as it left it":     {done, val("a"), val("b"), val("b"), true, Done, 0},
		"nobody can know":            {inverted{pretended: plain}, nil, nil, nil, true, Partly, 0},
		"one can know":               {inverted{pretended: plain, probed: true}, nil, nil, nil, true, Before, 0},
		"somebody's, of an inverse":  {inverted{pretended: plain}, val("a"), val("b"), val("x"), false, Foreign, 1},
	} {
		got, foreign, err := probe(t.Context(), nil, c.step, c.before, c.after, c.now, c.cut)
		if got != c.want || len(foreign) != c.foreign || err != nil {
			t.Errorf("%s: %s, %v, %v; want %s, %d of somebody's", name, got, foreign, err, c.want, c.foreign)
		}
	}
	if _, _, err := probe(t.Context(), nil, pretended{err: errBroken}, nil, nil, nil, true); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// TestUndoByInverse: when the act that takes a step back is done, and when it must not.
func TestUndoByInverse(t *testing.T) {
	there, failing := pretended{done: true}, pretended{err: errBroken}
	probed := inverted{pretended: there, probed: true, can: true}
	none := inverted{probed: true, can: true}
	fails := inverted{pretended: there, probed: true, can: true, fails: errBroken}
	half := inverted{pretended: pretended{halfway: true}, probed: true, can: true}
	for name, c := range map[string]struct {
		step        step.Step
		st          stepState
		other       bool // in another boot
		force       bool
		acts        int
		left, fails string
	}{
		"in place":                 {probed, stepState{done: true}, false, false, 1, "", ""},
		"no longer":                {none, stepState{done: true}, false, false, 0, "", ""},
		"cannot ask":               {inverted{pretended: failing, probed: true, can: true}, stepState{}, false, false, 0, "", "in place: broken"},
		"in place, another boot":   {probed, stepState{}, true, false, 1, "", ""},
		"in place, fails":          {fails, stepState{}, false, false, 1, "", "broken"},
		"in place, no inverse":     {inverted{pretended: there, probed: true}, stepState{}, false, false, 0, "it cannot be undone", ""},
		"half done":                {halfway{inverted: half}, stepState{}, false, false, 1, "", ""},
		"not half done":            {halfway{inverted: none}, stepState{}, false, false, 0, "", ""},
		"whole, not asked if half": {halfway{probed, errBroken}, stepState{}, false, false, 1, "", ""},
		"cannot ask if half":       {halfway{none, errBroken}, stepState{}, false, false, 0, "", "half done: broken"},
		"done":                     {inverted{can: true}, stepState{done: true}, false, false, 1, "", ""},
		"done, no inverse":         {inverted{}, stepState{done: true}, false, false, 0, "it cannot be undone", ""},
		"done, another boot":       {inverted{can: true}, stepState{done: true}, true, false, 0, "it was in an earlier boot", ""},
		"done, another, forced":    {inverted{can: true}, stepState{done: true}, true, true, 1, "", ""},
		"undo cut off":             {inverted{can: true}, stepState{done: true, undoBegun: true}, false, false, 0, "its undoing was cut off", ""},
		"undo cut off, forced":     {inverted{can: true}, stepState{done: true, undoBegun: true}, false, true, 1, "", ""},
		"done, fails":              {inverted{can: true, fails: errBroken}, stepState{done: true}, false, false, 1, "", "broken"},
		"cut off":                  {inverted{can: true}, stepState{}, false, false, 1, "", ""},
		"cut off, fails":           {inverted{can: true, fails: errBroken}, stepState{}, false, false, 1, "its inverse failed too: broken", ""},
		"probed, cut off, fails":   {fails, stepState{}, false, false, 1, "", "broken"},
	} {
		acts := 0
		var s step.Step
		var inv step.Inverse
		switch x := c.step.(type) {
		case inverted:
			x.acted = &acts
			s, inv = x, x
		case halfway:
			x.acted = &acts
			s, inv = x, x
		}
		change := &Change{Head: Head{ID: "0001"}}
		left, err := (&Engine{}).undoByInverse(t.Context(), change, 0, s, inv, c.st, !c.other, c.force)
		if acts != c.acts || !says(left, c.left) || !says(text(err), c.fails) {
			t.Errorf("%s: %d acts, left %q, %v", name, acts, left, err)
		}
	}
}

// ending is half done until it is looked at: then it is done.
type ending struct {
	inverted
	looked *int
}

func (s ending) Done(context.Context, machine.Machine, []step.Item, []step.Item) (bool, error) {
	*s.looked++
	return *s.looked > 1, nil
}
func (s ending) Halfway(context.Context, machine.Machine) (bool, error) { return *s.looked == 0, nil }

// TestUndoOfWhatEndsMeanwhile: what comes to its end while undo asks how it stands is undone too.
func TestUndoOfWhatEndsMeanwhile(t *testing.T) {
	acts, looked := 0, 0
	s := ending{inverted{probed: true, can: true, acted: &acts}, &looked}
	left, err := (&Engine{}).undoByInverse(t.Context(), &Change{Head: Head{ID: "0001"}}, 0, s, s, stepState{}, true, false)
	if acts != 1 || left != "" || err != nil {
		t.Errorf("%d acts, left %q, %v", acts, left, err)
	}
}
