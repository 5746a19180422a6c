package remedy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// Engine applies plans to a machine and takes them back, keeping every change
// in a store.
type Engine struct {
	Store   *Store
	Machine machine.Machine
	// Guard arms the independent rollback of changes that need confirming.
	Guard Guard
	// Who names the command line, for another fettle that meets the lock.
	Who string
	// Wait waits for another fettle to finish instead of giving up.
	Wait bool
	// Lasting is how long a unit that a plan has started must stay as it should
	// be: systemd calls a service of Type=simple started before its program has
	// read its files. See Lasting.
	Lasting time.Duration
	// Log, if set, is told what happens, a line each.
	Log func(line string)
}

// Lasting is long enough for a program that dies immediately, also one that systemd
// starts again after RestartSec (100 ms), and short enough to wait for.
const Lasting = 3 * time.Second

// Verify tells whether the finding is gone: nil says so; StillFound says that
// it is not; any other error that nobody could look, which is not the same as
// gone.
type Verify func(ctx context.Context) error

func (e *Engine) log(format string, args ...any) {
	if e.Log != nil {
		e.Log(fmt.Sprintf(format, args...))
	}
}

func (e *Engine) site(c *Change, i int) *step.Site {
	return &step.Site{Machine: e.Machine, Temp: fmt.Sprintf(".fettle-%s-%d", c.ID, i), Log: e.Log}
}

// Apply makes the changes of h.Plan, verifies, and takes them back when the
// finding is still there. The change is returned whenever one was begun.
func (e *Engine) Apply(ctx context.Context, h Head, verify Verify) (*Change, error) {
	if len(h.Plan.Steps) == 0 {
		return nil, errors.New("the plan has no steps")
	}
	h.Plan = h.Plan.normal()
	unlock, err := e.Store.Lock(ctx, e.Who, e.Wait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// A damaged journal of an old change is no reason to leave this host
	// unmended; but it has to be said.
	all, err := e.Store.Changes()
	if err != nil {
		e.log("note: %v", err)
	}
	for _, c := range all {
		if c.phase == Applying || c.phase == Undoing {
			return nil, &Unfinished{c.ID, c.phase}
		}
	}
	if h.Seen == nil {
		if h.Seen, err = Survey(e.Machine, h.Plan); err != nil {
			return nil, err
		}
	}
	touched, err := e.preflight(ctx, h.Plan, h.Seen)
	if err != nil {
		return nil, err
	}
	if err := overlaps(all, touched); err != nil {
		return nil, err
	}
	h.Format, h.Created = 1, time.Now().UTC()
	c, err := e.Store.create(h)
	if err != nil {
		return nil, err
	}
	if h.ConfirmWithin > 0 {
		if err := e.arm(ctx, c); err != nil {
			why := fmt.Errorf("the rollback that confirming needs could not be armed: %w", err)
			return c, e.rollback(ctx, c, why)
		}
	}
	return c, e.run(ctx, c, verify)
}

// preflight refuses a plan whose first look at the host fails, before
// anything is changed. A step that an earlier one prepares is looked at in
// its turn only.
//
// touches are the paths, links and units that the plan changes, as far as can be
// told beforehand.
func (e *Engine) preflight(ctx context.Context, p Plan, seen []step.Item) (touches map[string]bool, err error) {
	touches = map[string]bool{}
	touched := map[string]bool{} // files that earlier steps make or change, and the folders they make
	prepared := false            // a command or a unit may have made anything
	for i, s := range p.Steps {
		refused := func(err error) (map[string]bool, error) {
			return nil, fmt.Errorf("step %d (%s): %w; nothing was changed", i+1, s.Describe(), err)
		}
		name := step.Target(s)
		if real, err := e.Machine.Resolve(name); name != "" && err == nil {
			touches[real] = true
		}
		if p, ok := s.(step.Preparer); ok {
			if err := p.Possible(e.Machine); err != nil {
				return refused(err)
			}
			prepared = true
		}
		if prepared || touched[name] || touched[path.Dir(name)] {
			continue
		}
		items, err := s.Items(ctx, e.Machine)
		for _, it := range items {
			touches[it.Path] = touches[it.Path] || !it.SideEffect && it.Kind != step.FolderItem
		}
		if err == nil {
			err = recognise(items, nil, seen)
		}
		if err != nil {
			return refused(err)
		}
		if name != "" {
			touched[name] = true
			for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
				if real, err := e.Machine.Resolve(dir); err == nil {
					img, err := e.Machine.Look(real, false)
					touched[dir] = err == nil && img.Type == machine.Absent
				}
			}
		}
	}
	return touches, nil
}

// overlaps refuses a plan that changes what a change that nobody has confirmed
// yet changed too: that one may be rolled back at any moment, also without fettle,
// and would meet another's work.
func overlaps(all []*Change, touches map[string]bool) error {
	for _, c := range all {
		if _, due := c.Unconfirmed(); !due {
			continue
		}
		for _, st := range c.steps {
			for _, it := range st.before {
				if touches[it.Path] && !st.undone && !it.SideEffect && it.Kind != step.FolderItem {
					return &Unconfirmed{c.ID, it.Path}
				}
			}
		}
	}
	return nil
}

// run does what is left of the steps, then verifies.
func (e *Engine) run(ctx context.Context, c *Change, verify Verify) error {
	boot, err := e.Machine.BootID()
	if err != nil {
		return e.rollback(ctx, c, fmt.Errorf("reading the boot's id: %w", err))
	}
	if deadline, due := c.Unconfirmed(); due {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline, errors.New("the time to confirm ran out while the change was being applied"))
		defer cancel()
	}
	if err := c.append(Record{Event: evBegin, Boot: boot}); err != nil {
		return e.rollback(ctx, c, err)
	}
	for i, s := range c.Plan.Steps {
		if ctx.Err() != nil {
			return e.rollback(ctx, c, cause(ctx))
		}
		if err := e.step(ctx, c, i, boot); err != nil {
			var u *step.Untouched
			if errors.As(err, &u) {
				c.append(Record{Event: evUndone, Step: i, Why: "it never acted"})
			}
			return e.rollback(ctx, c, fmt.Errorf("step %d (%s): %w", i+1, s.Describe(), err))
		}
	}
	if err := e.verify(ctx, c.Plan.Settle, verify); err != nil {
		return e.rollback(ctx, c, err)
	}
	if err := e.lasts(ctx, c.Plan, verify); err != nil {
		return e.rollback(ctx, c, err)
	}
	if err := c.append(Record{Event: evApplied, Boot: boot}); err != nil {
		return e.rollback(ctx, c, err)
	}
	return nil
}

func cause(ctx context.Context) error {
	if err := context.Cause(ctx); err != context.Canceled {
		return err
	}
	return errors.New("interrupted")
}

// step does one step: snapshot, intent, act, done. One that was cut off is
// looked at first.
func (e *Engine) step(ctx context.Context, c *Change, i int, boot string) error {
	a, st := c.Plan.Steps[i], &c.steps[i]
	s := e.site(c, i)
	if st.intended && a.Running() && st.boot != boot {
		st.intended, st.done = false, false // that state ended with its boot
	}
	if st.done {
		return nil
	}
	items := st.before
	if st.intended {
		if err := c.load(items); err != nil {
			return err
		}
		now, err := step.ReadItems(ctx, e.Machine, items)
		if err != nil {
			return err
		}
		state, foreign, err := probe(ctx, e.Machine, a, items, nil, now, true)
		switch inv, isInverse := a.(step.Inverse); {
		case err != nil:
			return err
		case state == Foreign:
			return &machine.Changed{Path: foreign[0].Path, Why: "was changed by somebody else in the meantime"}
		case state == Done:
			return c.append(Record{Event: evDone, Step: i, Items: now})
		case state == Partly && isInverse && !inv.Probed():
			return errors.New("it was cut off, and nothing tells whether it had its effect")
		}
	} else {
		var err error
		if items, err = a.Items(ctx, e.Machine); err != nil {
			return err
		}
		if err := recognise(items, c.Records, c.Seen); err != nil {
			return err
		}
		if err := c.keep(i, items); err != nil {
			return err
		}
		if err := c.append(Record{Event: evIntent, Step: i, Boot: boot, Items: items}); err != nil {
			return err
		}
	}
	if n, first := likeIt(c.Plan.Steps, i); first {
		e.log("%s%s", a.Describe(), n)
	}
	if err := a.Apply(ctx, s, items); err != nil {
		return err
	}
	after, err := step.ReadItems(ctx, e.Machine, items)
	if err != nil {
		return err
	}
	return c.append(Record{Event: evDone, Step: i, Items: after})
}

// verify asks until the finding is gone or the time to settle is over.
func (e *Engine) verify(ctx context.Context, settle time.Duration, verify Verify) error {
	if verify == nil {
		return nil
	}
	over := time.Now().Add(settle)
	wait := 200 * time.Millisecond
	for {
		err := verify(ctx)
		if err == nil {
			return nil
		}
		left := time.Until(over)
		if left <= 0 {
			var still *StillFound
			if !errors.As(err, &still) {
				err = fmt.Errorf("whether it helped could not be seen: %w", err)
			}
			return err
		}
		select {
		case <-time.After(min(wait, left)):
			wait = min(2*wait, 2*time.Second)
		case <-ctx.Done():
			return cause(ctx)
		}
	}
}

// lasts looks again, some time after a plan that starts units: what was started may
// have ended since.
func (e *Engine) lasts(ctx context.Context, p Plan, verify Verify) error {
	if e.Lasting <= 0 || verify == nil || !slices.ContainsFunc(p.Steps, step.Starts) {
		return nil
	}
	select {
	case <-time.After(e.Lasting):
	case <-ctx.Done():
		return cause(ctx)
	}
	if err := e.verify(ctx, 0, verify); err != nil {
		return fmt.Errorf("it did not last for %s: %w", e.Lasting, err)
	}
	return nil
}
