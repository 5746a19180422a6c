package guest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/lab"
)

// slips tries each slip that the plan allows, in the machine that has come back into
// the trap: somebody must notice. Those that change nothing are declared with the scenario.
func (p *player) slips(files, others map[string]string) {
	s := p.orders.Scenario
	var names []string
	p.stage(lab.SlipsStage, func() (string, error) {
		argv := append([]string{"fettle-lab", lab.SabotagedVerb, p.orders.Trap, lab.ListSlips}, p.fix()...)
		out, code, err := p.mend(argv)
		if err != nil || code != 0 {
			return out, errors.Join(err, fmt.Errorf("exit status %d", code))
		}
		for line := range strings.Lines(out) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), lab.SlipPrefix); ok {
				names = append(names, name)
			}
		}
		for name := range s.Harmless {
			if !slices.Contains(names, name) {
				return out, fmt.Errorf("declared harmless, and the plan does not allow it: %s", name)
			}
		}
		return fmt.Sprintf("%d, of which %d change nothing", len(names), len(s.Harmless)), nil
	})
	names = slices.DeleteFunc(names, func(name string) bool { return s.Harmless[name] != "" })
	for i, name := range names {
		if p.orders.Slips.Has(i) {
			p.try("slip", lab.SlipPrefix+name, name+"\n", files, others)
		}
	}
}

// spoilt tries the plans that were spoilt on purpose, in the same machine.
func (p *player) spoilt(files, others map[string]string) {
	for _, name := range p.orders.Spoilt {
		p.try(lab.SpoiltPrefix+name, name, "", files, others)
	}
}

// try tries a spoilt plan as a stage, which says first what label says. Only one that leaves
// the machine in pieces keeps the next from being tried.
func (p *player) try(stage, plan, label string, files, others map[string]string) {
	goesOn := false
	p.stage(stage, func() (string, error) {
		by, err := p.tried(plan, files, others)
		goesOn = err != nil && !errors.Is(err, errPieces)
		return label + by, err
	})
	p.failed = p.failed && !goesOn
}

var (
	errUnnoticed = errors.New("nobody noticed that the plan was spoilt")
	errPieces    = errors.New("the machine is not as before")
)

// tried tries a spoilt plan, says who noticed, and goes back into the trap.
func (p *player) tried(name string, files, others map[string]string) (by string, err error) {
	argv := append([]string{"fettle-lab", lab.SabotagedVerb, p.orders.Trap, name}, p.fix()...)
	slip := strings.HasPrefix(name, lab.SlipPrefix)
	out, code, err := p.mend(argv)
	if err != nil {
		return out, err
	}
	if strings.Contains(out, lab.NothingToSpoil) {
		return out, errors.New("the plan has changed since somebody thought of spoiling it")
	}
	var noticed error
	if code != 0 {
		noticed = fmt.Errorf("fix: %s", lastLine(out))
	} else {
		noticed = p.notice(slip, files, others)
	}
	back := p.back(slip, code == 0, files)
	switch {
	case noticed == nil && back == nil:
		return "", errUnnoticed
	case noticed == nil:
		return "noticed by the undo: " + back.Error(), fmt.Errorf("%w: %w", errPieces, back)
	case back != nil:
		return "noticed: " + noticed.Error(), fmt.Errorf("and after it %w: %w", errPieces, back)
	}
	return "noticed: " + noticed.Error(), nil
}

// notice looks at a plan that was applied as the story looks at the real one.
func (p *player) notice(slip bool, files, others map[string]string) error {
	s := p.orders.Scenario
	if said, err := p.expect(mended)(); err != nil {
		return fmt.Errorf("recheck: %w: %s", err, said)
	}
	if _, err := p.look(1, slip); err != nil {
		return err
	}
	if s.Confirm != nil {
		if out, err := p.verb(s.Confirm); err != nil {
			return fmt.Errorf("confirm: %w: %s", err, out)
		}
	}
	now, err := p.tree()
	if err == nil {
		_, err = mendedFiles(s.Files, files, now)
	}
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if _, err := p.compare(others); err != nil {
		return fmt.Errorf("others: %w", err)
	}
	return nil
}

// back undoes what a slip has done, and wants the trap as it was.
func (p *player) back(slip, applied bool, files map[string]string) error {
	now, err := p.tree()
	if err != nil {
		return err
	}
	if applied || len(differing(files, now)) > 0 {
		if out, err := p.verb([]string{"fettle", "undo", "--yes"}); err != nil {
			return fmt.Errorf("undo: %w: %s", err, lastLine(out))
		}
		if now, err = p.tree(); err != nil {
			return err
		}
	}
	if left := differing(files, now); len(left) > 0 {
		return errors.New(strings.Join(left, "; "))
	}
	if said, err := p.expect(found)(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	_, err = p.look(2, slip)
	return err
}
