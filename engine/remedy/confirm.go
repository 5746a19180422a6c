package remedy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Late is the answer to a confirming that came after the rollback.
type Late struct{ ID, Why string }

func (e *Late) Error() string {
	return fmt.Sprintf("too late: change %s was rolled back: %s", e.ID, e.Why)
}

// Confirm says that the admin is still there: the guards go. Without an id it
// takes the last change that waits; where none does and the last one was rolled
// back instead, that is Late.
func (e *Engine) Confirm(ctx context.Context, id string) (*Change, error) {
	unlock, err := e.Store.Lock(ctx, e.Who, e.Wait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := e.pick(id, func(c *Change) bool { _, due := c.Unconfirmed(); return due })
	if err != nil {
		return c, err
	}
	if c == nil {
		if c, err = e.pick("", func(*Change) bool { return true }); err != nil || c == nil || !c.expired() {
			return nil, err
		}
	}
	switch _, due := c.Unconfirmed(); {
	case c.phase == TakenBack:
		return c, &Late{c.ID, c.Why()}
	case c.phase != Applied:
		return c, &Unfinished{c.ID, c.phase}
	case !due:
		return c, fmt.Errorf("change %s needs no confirming", c.ID)
	}
	if err := c.append(Record{Event: evConfirmed}); err != nil {
		return c, err
	}
	e.Guard.disarm(ctx, e.Machine, c)
	return c, nil
}

// guardGrace is how long the fettle that applies a change may take, after the
// time to confirm is over, to take it back itself.
const guardGrace = 5 * time.Second

// lockAnyway waits for the lock. A fettle that is at this very change and does
// not let go (stopped by Ctrl-Z; blocked on the terminal of a connection that
// it has just cut) is killed: the journal leads on from there.
func (e *Engine) lockAnyway(ctx context.Context, id string) (unlock func(), err error) {
	for {
		grace, cancel := context.WithTimeout(ctx, guardGrace)
		unlock, err = e.Store.Lock(grace, e.Who, true)
		cancel()
		var held *Held
		if err == nil || !errors.As(err, &held) || ctx.Err() != nil {
			return unlock, err
		}
		c, err := e.Store.Change(id)
		if err != nil || len(c.Records) == 0 {
			continue
		}
		pid := c.Records[len(c.Records)-1].PID
		if pid > 1 && pid != os.Getpid() && held.PID == pid && e.Store.holdsLock(pid) {
			e.log("killing fettle, process %d, which is at change %s and does not let go", pid, id)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// confirmedBy waits for a time, and tells whether the change was confirmed or
// taken back before. It is a timer, whose clock nobody sets: a step of the wall
// clock neither fires nor postpones the rollback.
func (e *Engine) confirmedBy(id string, at time.Time) bool {
	over, look := time.NewTimer(time.Until(at)), time.NewTicker(time.Second)
	defer over.Stop()
	defer look.Stop()
	for {
		select {
		case <-over.C:
			return false
		case <-look.C:
		}
		// A change that cannot be read just now is looked at again.
		if c, err := e.Store.Change(id); err == nil {
			if _, due := c.Unconfirmed(); !due {
				return true
			}
		}
	}
}

// UndoUnconfirmed is the guard's work. It waits until at, unless that is
// zero, and takes the change back if it was not confirmed by then. At boot
// (atBoot) it does so at once, but only in another boot than the one in which
// the guard was armed. ready is told when it stands by.
func (e *Engine) UndoUnconfirmed(ctx context.Context, id string, at time.Time, atBoot bool, ready func()) error {
	c, err := e.Store.Change(id)
	if err != nil {
		return err
	}
	if c.armed == nil {
		return fmt.Errorf("change %s was never armed", id)
	}
	ready()
	if atBoot {
		boot, err := e.Machine.BootID()
		if err != nil {
			return err
		}
		if boot == c.armed.Boot {
			return nil
		}
	}
	if !at.IsZero() && e.confirmedBy(id, at) {
		return nil
	}
	unlock, err := e.lockAnyway(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	if c, err = e.Store.Change(id); err != nil {
		return err
	}
	deadline, due := c.Unconfirmed()
	if !due {
		e.Guard.disarm(ctx, e.Machine, c)
		return nil
	}
	why := "it was not confirmed by " + deadline.Local().Format(time.DateTime)
	if atBoot {
		why = "the host was restarted before anybody confirmed it"
	}
	return e.takeBack(ctx, c, UndoOptions{Skip: true, Why: why})
}
