package remedy

import (
	"bytes"
	"context"
	"fettle/internal/shell"
	"fmt"
	"slices"
	"strings"
	"time"
)

// running: a command may do anything; its probe tells whether it lasts.
func (Command) running() bool { return false }

func (s Command) limit() time.Duration {
	if s.Limit == 0 {
		return time.Minute
	}
	return s.Limit
}

func (s Command) items(ctx context.Context, m Machine) ([]Item, error) {
	for _, argv := range [][]string{s.Do, s.Undo, s.Probe, s.Require, s.UndoRequire} {
		if len(argv) > 0 && !strings.HasPrefix(argv[0], "/") {
			return nil, fmt.Errorf("%s: a command needs an absolute path", shell.Join(argv))
		}
	}
	if len(s.Do) == 0 {
		return nil, fmt.Errorf("a command step without a command")
	}
	return nil, nil
}

func (s Command) act(ctx context.Context, st *site, _ []Item) error {
	if err := s.require(ctx, st.m, s.Require); err != nil {
		return &untouched{err}
	}
	return run(ctx, st.m, s.Do, s.limit())
}

// untouched is the error of an act that was refused before it changed anything.
type untouched struct{ error }

func (e *untouched) Unwrap() error { return e.error }

func (s Command) require(ctx context.Context, m Machine, argv []string) error {
	if len(argv) == 0 {
		return nil
	}
	out, err := m.Ask(ctx, argv, s.limit())
	if err != nil {
		return fmt.Errorf("checking the precondition: %w", err)
	}
	if out.Exit != 0 {
		return fmt.Errorf("the precondition %s does not hold%s", shell.Join(argv), said(out))
	}
	return nil
}

func (s Command) done(ctx context.Context, m Machine, _, _ []Item) (bool, error) {
	if len(s.Probe) == 0 {
		return false, nil
	}
	out, err := m.Ask(ctx, s.Probe, s.limit())
	return err == nil && out.Exit == 0, err
}

func (Command) between(_, _ Item) bool { return false }
func (s Command) undoable() bool       { return len(s.Undo) > 0 }
func (s Command) probed() bool         { return len(s.Probe) > 0 || s.Again } // one that may run again needs no probe
func (s Command) again() bool          { return s.Again }

func (s Command) undo(ctx context.Context, st *site) error {
	if err := s.require(ctx, st.m, s.UndoRequire); err != nil {
		return err
	}
	return run(ctx, st.m, s.Undo, s.limit())
}

// run lets a command that has begun come to its end, although somebody pressed
// Ctrl-C: half of a change is worse than the wait. But when the time to
// confirm is over it has to end.
func run(ctx context.Context, m Machine, argv []string, limit time.Duration) error {
	if end, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(end)), time.Millisecond)
	}
	out, err := m.Run(context.WithoutCancel(ctx), argv, limit)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("%s ended with status %d%s", shell.Join(argv), out.Exit, said(out))
	}
	return nil
}

// said is the end of what a command printed, for an error message.
func said(o Output) string {
	b := bytes.TrimSpace(o.Stderr)
	if len(b) == 0 {
		b = bytes.TrimSpace(o.Stdout)
	}
	lines := strings.Split(string(b), "\n")
	if lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }); len(lines) == 0 {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-3):], " / ")
}
