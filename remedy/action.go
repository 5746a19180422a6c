package remedy

import (
	"context"
	"fmt"
)

// action is what every kind of step can do; the engine knows no kind.
type action interface {
	Step
	commands() [][]string
	// target is the file or folder that the step changes; empty for what has none.
	target() string
	// running tells whether the effect ends with the boot.
	running() bool
	// items lists all that act may change, as it stands now, what the step
	// aims at first. It refuses a step that must not be taken: a file that is
	// not what the plan was made from.
	items(ctx context.Context, m Machine) ([]Item, error)
	// act makes the change. before is what items said. Done again over its
	// own effect, or over a part of it, it ends the same.
	act(ctx context.Context, s *site, before []Item) error
	// done tells whether the effect is in place. before is nil for a step
	// that has no items.
	done(ctx context.Context, m Machine, before, now []Item) (bool, error)
	// between tells whether an act that was cut off can have left an item so.
	between(before, now Item) bool
}

// repeated is a step whose undoing is to do it once more after everything
// else was put back: a daemon reads its old files again.
type repeated interface{ again() bool }

// inverse is a step that is undone by an act of its own.
type inverse interface {
	undo(ctx context.Context, s *site) error
	// undoable tells whether there is such an act.
	undoable() bool
	// probed tells whether done can look; if not, nobody knows whether a step
	// that was cut off had its effect.
	probed() bool
}

// halfway is a probed step that can stand between before and done: undo then
// leads back from there.
type halfway interface {
	halfway(ctx context.Context, m Machine) (bool, error)
}

func actionOf(s Step) (action, error) {
	a, ok := s.(action)
	if !ok {
		return nil, fmt.Errorf("%T is not one of fettle's steps", s)
	}
	return a, nil
}

// State is how a step's subject stands.
type State string

const (
	Before  State = "before"  // as the snapshot shows it
	Done    State = "done"    // the effect is in place
	Partly  State = "partly"  // a cut-off act left it so, or nobody can know
	Foreign State = "foreign" // somebody else changed it
)

// probe tells how a step's items stand now, and which of them somebody else
// changed. before is the snapshot taken ahead of the act; after is how the act
// left them, nil when it was cut off. cut says that an act or its undoing was
// cut off, so that halves are fettle's own.
func probe(ctx context.Context, m Machine, a action, before, after, now []Item, cut bool) (State, []Item, error) {
	var foreign []Item
	allBefore := true
	for i, n := range now {
		b := before[i]
		if n.Drifts || b.same(n) {
			continue
		}
		allBefore = false
		switch {
		case after != nil && after[i].same(n):
		case cut && (n.Aside || a.between(b, n)):
		case b.Kind == itemFolder: // a parent that somebody removed meanwhile
		default:
			foreign = append(foreign, n)
		}
	}
	done, err := a.done(ctx, m, before, now)
	inv, isInverse := a.(inverse)
	switch {
	case err != nil:
		return Partly, nil, err
	case done && (after == nil || len(foreign) == 0):
		return Done, nil, nil
	case len(foreign) > 0:
		return Foreign, foreign, nil
	case isInverse && !inv.probed():
		return Partly, nil, nil
	case allBefore:
		return Before, nil, nil
	case after != nil && !cut:
		return Done, nil, nil // as the act left it, though the value reads otherwise than it was written
	}
	return Partly, nil, nil
}
