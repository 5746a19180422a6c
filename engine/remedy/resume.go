package remedy

import (
	"context"
	"fmt"
	"time"
)

// Resume finishes a change that was cut off, forward or back. An empty id
// takes the one there is. verify makes the verification for a change.
func (e *Engine) Resume(ctx context.Context, id string, verify func(Head) Verify) (*Change, error) {
	unlock, err := e.Store.Lock(ctx, e.Who, e.Wait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := e.pick(id, func(c *Change) bool { return c.phase == Applying || c.phase == Undoing })
	if err != nil || c == nil {
		return c, err
	}
	switch c.phase {
	case Undoing:
		return c, e.takeBack(ctx, c, UndoOptions{Force: c.undoing.Force, Skip: c.undoing.Skip, Why: c.undoing.Why})
	case Applying:
		if deadline, due := c.Unconfirmed(); due && time.Now().After(deadline) {
			return c, fmt.Errorf("change %s was not confirmed until %s and must not continue; undo it: fettle undo %s",
				c.ID, deadline.Local().Format(time.TimeOnly), c.ID)
		}
		if len(c.Guards()) == 0 && c.ConfirmWithin > 0 {
			if err := e.arm(ctx, c); err != nil {
				return c, e.rollback(ctx, c, fmt.Errorf("the rollback that confirming needs could not be armed: %w", err))
			}
		} else if boot, err := e.Machine.BootID(); c.ConfirmWithin > 0 && (err != nil || boot != c.armed.Boot) {
			return c, fmt.Errorf("change %s was to be undone at a reboot, and the host was rebooted; undo it: fettle undo %s", c.ID, c.ID)
		}
		var v Verify
		if verify != nil {
			v = verify(e.subjectNow(ctx, c.Head))
		}
		return c, e.run(ctx, c, v)
	}
	return c, fmt.Errorf("change %s is %s: there is nothing to resume", c.ID, c.phase)
}

// pick finds the change that is meant: id, or the last one that want takes.
// Without an id and with none to take it returns nil.
func (e *Engine) pick(id string, want func(*Change) bool) (*Change, error) {
	if id != "" {
		return e.Store.Change(id)
	}
	all, err := e.Store.Changes()
	for i := len(all) - 1; i >= 0; i-- {
		if want(all[i]) {
			return all[i], nil
		}
	}
	return nil, err
}
