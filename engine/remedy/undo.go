package remedy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// UndoOptions says how a change is rolled back.
type UndoOptions struct {
	// Force writes over what somebody else changed since.
	Force bool
	// Skip leaves what somebody else changed since, and takes back the rest:
	// for rollbacks that nobody watches.
	Skip bool
	Why  string
}

// Conflicts is the refusal to undo what somebody changed since.
type Conflicts struct {
	ID   string
	List []Conflict
}

// Conflict is one thing that stands neither as fettle left it nor as it was.
type Conflict struct {
	Was, Wrote, Now step.Item
	Later           string // the later change of fettle's that touches it; empty: somebody else
}

func (e *Conflicts) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "change %s is not undone, because these were changed since:", e.ID)
	later := ""
	for _, c := range e.List {
		fmt.Fprintf(&b, "\n  %s", c.Now.Path)
		if c.Later != "" {
			fmt.Fprintf(&b, " (by change %s)", c.Later)
			later = c.Later
		}
	}
	if later != "" {
		fmt.Fprintf(&b, "\nundo the later change first: fettle undo %s", later)
	} else {
		fmt.Fprintf(&b, "\nkeep them, or overwrite them: fettle undo --force %s", e.ID)
	}
	return b.String()
}

// Undo takes a change back. An empty id takes the last one that stands.
func (e *Engine) Undo(ctx context.Context, id string, opt UndoOptions) (*Change, error) {
	unlock, err := e.Store.Lock(ctx, e.Who, e.Wait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := e.toUndo(id)
	if err != nil || c == nil {
		return c, err
	}
	return c, e.takeBack(ctx, c, opt)
}

// toUndo is the change that is meant: id, or the last one that stands. nil:
// there is none.
func (e *Engine) toUndo(id string) (*Change, error) {
	if id == "" {
		if n := e.Store.nothingMended(); n != nil {
			n.Last, _ = e.pick("", func(c *Change) bool { return c.phase != TakenBack })
			switch {
			case n.Last == nil:
				return nil, nil
			case n.Last.phase == Applied:
				return nil, n
			} // else it was cut off, and that comes first
		}
	}
	c, err := e.pick(id, func(c *Change) bool { return c.phase != TakenBack })
	if err == nil && c != nil && c.phase == TakenBack {
		err = fmt.Errorf("change %s: %w", c.ID, ErrTakenBack)
	}
	return c, err
}

// pointless is why a step that is undone by doing it once more need not be;
// empty: it must.
func (e *Engine) pointless(ctx context.Context, c *Change, i int, boot string) string {
	if c.steps[i].boot == boot {
		return ""
	}
	switch useful, err := c.Plan.Steps[i].(step.Repeated).Useful(ctx, e.Machine); {
	case err != nil:
		return fmt.Sprintf("it was in an earlier boot, and whether it is of use now is not known: %v", err)
	case !useful:
		return "it was in an earlier boot, and nothing runs now that would read what is put back"
	}
	return ""
}

// rollback takes back an apply that failed and says why.
func (e *Engine) rollback(ctx context.Context, c *Change, why error) error {
	e.log("rolling it back: %v", why)
	err := e.takeBack(context.WithoutCancel(ctx), c, UndoOptions{Skip: true, Why: why.Error()})
	if inc, ok := err.(*Incomplete); ok {
		inc.Why = why
		return inc
	}
	if err != nil {
		return &Incomplete{ID: c.ID, Why: why, Failed: []error{err}}
	}
	return &RolledBack{c.ID, why, c.Left(), c.Plan.Restorable()}
}

// takeBack undoes the steps in reverse order, then repeats those that make
// daemons read their files again. Where one step fails, the others are still
// undone: half of a connection's settings is worse than most of them.
func (e *Engine) takeBack(ctx context.Context, c *Change, opt UndoOptions) error {
	boot, err := e.Machine.BootID()
	if err != nil {
		return fmt.Errorf("reading the boot's id: %w", err)
	}
	stand, err := e.standings(ctx, c, boot)
	if err != nil {
		return err
	}
	conflicts := e.conflicts(c, stand)
	if len(conflicts) > 0 && !opt.Force && !opt.Skip {
		return &Conflicts{c.ID, conflicts}
	}
	leave := map[string]bool{}
	if !opt.Force {
		for _, cf := range conflicts {
			leave[cf.Now.Key()] = true
		}
	}
	// From here on the journal helps, but is no condition: on a full or
	// read-only disk what can be put back still is.
	var journalErr error
	journal := func(r Record) {
		if err := c.append(r); err != nil && journalErr == nil {
			journalErr = err
		}
	}
	if c.phase != Undoing {
		journal(Record{Event: evUndoing, Boot: boot, Why: opt.Why, Force: opt.Force, Skip: opt.Skip})
	}
	var failed []error
	var again []int
	for i := len(c.steps) - 1; i >= 0; i-- {
		st := c.steps[i]
		if !st.intended || st.undone {
			continue
		}
		a := c.Plan.Steps[i]
		if r, ok := a.(step.Repeated); ok && r.Repeats() {
			again = append([]int{i}, again...)
			continue
		}
		if a.Running() && st.boot != boot {
			journal(Record{Event: evLeft, Step: i, Why: "it was running state of an earlier boot"})
			e.log("left: %s: it was running state of an earlier boot", a.Describe())
			continue
		}
		journal(Record{Event: evUndoIntent, Step: i})
		left, now, err := e.undoStep(ctx, c, i, a, st, leave, st.boot == boot, opt.Force)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("step %d (%s): %w", i+1, a.Describe(), err))
		case left != "" && left != nothingStays:
			e.log("left: %s: %s", a.Describe(), left)
			journal(Record{Event: evLeft, Step: i, Why: left})
		default:
			_, asks := a.(step.Asker)
			switch r := a.Reversal(); {
			case asks || left == nothingStays:
			case r.Class == step.Stays:
				e.log("stays: %s: %s", a.Describe(), r.Note)
			default:
				if n, first := likeIt(c.Plan.Steps, i); first {
					e.log("undone: %s%s", a.Describe(), n)
				}
			}
			journal(Record{Event: evUndone, Step: i, Items: now})
		}
	}
	for _, i := range again {
		a := c.Plan.Steps[i]
		if why := e.pointless(ctx, c, i, boot); why != "" {
			journal(Record{Event: evLeft, Step: i, Why: why})
			continue
		}
		e.log("once more: %s", a.Describe())
		if err := a.Apply(ctx, e.site(c, i), nil); err != nil {
			failed = append(failed, fmt.Errorf("step %d (%s): %w", i+1, a.Describe(), err))
			continue
		}
		journal(Record{Event: evUndone, Step: i})
	}
	if journalErr != nil {
		failed = append(failed, journalErr)
	}
	if len(failed) > 0 {
		return &Incomplete{ID: c.ID, Failed: failed}
	}
	if err := c.append(Record{Event: evTakenBack, Boot: boot}); err != nil {
		return &Incomplete{ID: c.ID, Failed: []error{err}}
	}
	e.Guard.disarm(ctx, e.Machine, c)
	return nil
}

// nothingStays says that a step was cut off before it had its effect.
const nothingStays = "nothing"

// undoStep puts back what one step changed, but for the items in leave. st is
// the step as it was before this undoing of it. It says what had to stay,
// and why, and how things stand now.
func (e *Engine) undoStep(
	ctx context.Context,
	c *Change,
	i int,
	a step.Step,
	st stepState,
	leave map[string]bool,
	sameBoot, force bool,
) (left string, now []step.Item, err error) {
	if inv, ok := a.(step.Inverse); ok {
		left, err = e.undoByInverse(ctx, c, i, a, inv, st, sameBoot, force)
		return left, nil, err
	}
	s := e.site(c, i)
	if t, ok := a.(step.Tidier); ok {
		stays, err := t.Tidy(ctx, s)
		if err != nil || !stays {
			return nothingStays, nil, err
		}
	}
	s.InPlace = true
	s.Seen = func(path string) (machine.Image, bool) { return lastSeen(path, c.Records, nil) }
	if err := c.load(st.before); err != nil {
		return "", nil, err
	}
	for _, it := range st.before {
		if it.Kind == step.FileItem {
			if err := step.DropTemp(e.Machine, path.Join(path.Dir(it.Path), s.Temp)); err != nil {
				return "", nil, err
			}
		}
	}
	// A value that is refused may be right in the end: 0 in vm/dirty_bytes is
	// written only by way of its twin. What counts is how they stand then.
	for _, it := range st.before {
		if leave[it.Key()] {
			left = it.Path + " was changed since by somebody else"
			continue
		}
		var content []byte
		if it.Image != nil {
			content = it.Image.Content
		}
		perr := step.PutBack(ctx, s, it, content)
		var changed *machine.Changed
		switch {
		case errors.As(perr, &changed):
			return changed.Error(), nil, nil
		case perr != nil && it.Kind != step.ValueItem:
			return "", nil, perr
		case perr != nil:
			err = perr
		}
	}
	now, rerr := step.ReadItems(ctx, e.Machine, st.before)
	if rerr != nil {
		return "", nil, rerr
	}
	for k, it := range st.before {
		if it.Drifts || leave[it.Key()] || it.Same(now[k]) || it.Kind == step.FolderItem {
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s still does not have its original state", it.Path)
		}
		return "", nil, err
	}
	return left, now, nil
}

func (e *Engine) undoByInverse(
	ctx context.Context,
	c *Change,
	i int,
	a step.Step,
	inv step.Inverse,
	st stepState,
	sameBoot, force bool,
) (left string, err error) {
	if inv.Probed() {
		if there, err := e.inPlace(ctx, a); err != nil || !there {
			return "", err // not in place, or no longer
		}
	}
	if !inv.CanInvert() {
		return "it cannot be undone", nil
	}
	if !inv.Probed() && !force {
		switch {
		case !sameBoot:
			return "it was in an earlier boot, and nothing tells whether its effect lasted; fettle undo --force runs its inverse", nil
		case st.undoBegun:
			return "its undoing was cut off, and nothing tells whether that had its effect", nil
		}
	}
	err = inv.Invert(ctx, e.site(c, i))
	if err != nil && !inv.Probed() && !st.done {
		// It failed or was cut off, and perhaps there is nothing to undo.
		return fmt.Sprintf("it had failed or was cut off, and its inverse failed too: %v", err), nil
	}
	return "", err
}

// inPlace tells whether a step that can be looked at is done, or half done. What was half done
// may come to its end between the two questions, as a sync does: then the first is asked again.
func (e *Engine) inPlace(ctx context.Context, a step.Step) (bool, error) {
	done := func() (bool, error) {
		there, err := a.Done(ctx, e.Machine, nil, nil)
		if err != nil {
			err = fmt.Errorf("asking whether it is in place: %w", err)
		}
		return there, err
	}
	there, err := done()
	half, ok := a.(step.Halfway)
	if there || err != nil || !ok {
		return there, err
	}
	if there, err = half.Halfway(ctx, e.Machine); err != nil {
		return false, fmt.Errorf("asking whether it is half done: %w", err)
	}
	if there {
		return true, nil
	}
	return done()
}
