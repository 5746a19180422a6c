package remedy

import (
	"context"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

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
func probe(ctx context.Context, m machine.Machine, a step.Step, before, after, now []step.Item, cut bool) (State, []step.Item, error) {
	var foreign []step.Item
	allBefore := true
	keeper, keeps := a.(step.Keeper)
	for i, n := range now {
		b := before[i]
		if n.Drifts || b.Same(n) {
			continue
		}
		allBefore = false
		switch {
		case after != nil && after[i].Same(n):
		case cut && (n.SideEffect || keeps && keeper.Between(b, n)):
		case b.Kind == step.FolderItem: // a parent that somebody removed meanwhile
		default:
			foreign = append(foreign, n)
		}
	}
	done, err := a.Done(ctx, m, before, now)
	inv, isInverse := a.(step.Inverse)
	switch {
	case err != nil:
		return Partly, nil, err
	case done && (after == nil || len(foreign) == 0):
		return Done, nil, nil
	case len(foreign) > 0:
		return Foreign, foreign, nil
	case isInverse && !inv.Probed():
		return Partly, nil, nil
	case allBefore:
		return Before, nil, nil
	case after != nil && !cut:
		return Done, nil, nil // as the act left it, though the value reads otherwise than it was written
	}
	return Partly, nil, nil
}
