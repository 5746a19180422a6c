package step

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Command runs an external command: argument lists with absolute paths,
// never a shell. Undo is its inverse; empty makes the step irreversible.
// Probe, when given, exits 0 if the command's effect is in place: resume asks
// it whether an interrupted command had worked.
type Command struct {
	Do    []string `json:"do"`
	Undo  []string `json:"undo,omitempty"`
	Probe []string `json:"probe,omitempty"`
	// Require, when given, must exit 0 right before Do, and UndoRequire right
	// before Undo: the precondition of an act that lowers redundancy. They
	// only read.
	Require     []string `json:"require,omitempty"`
	UndoRequire []string `json:"undo_require,omitempty"`
	// Again: the command works up what the other steps wrote (update-initramfs).
	// It is undone by running it once more after everything else was put back,
	// whatever boot that is, and runs again when it was cut off. It has no Undo.
	Again bool `json:"again,omitempty"`
	// Differs says what is not as before after Undo; empty: nothing.
	Differs string        `json:"differs,omitempty"`
	Limit   time.Duration `json:"limit,omitempty"` // 0 is one minute
}

func (Command) Kind() string { return "command" }

func (s Command) Describe() string { return "run " + shell.Join(s.Do) }

func (s Command) Reversal() Reversal {
	if s.Again {
		return Reversal{Invertible, "runs it again, after everything else is restored"}
	}
	if len(s.Undo) == 0 {
		return Reversal{Irreversible, "the command has no inverse"}
	}
	note := "runs " + shell.Join(s.Undo)
	if s.Differs != "" {
		note += "; " + s.Differs
	}
	return Reversal{Invertible, note}
}

// Running: a command may do anything; its probe tells whether it lasts.
func (Command) Running() bool { return false }

func (s Command) Commands() [][]string { return [][]string{s.Do} }

func (s Command) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	return nil, s.Possible(m)
}

// Possible refuses a command without an absolute path, and one whose program
// or arguments name what others than root can change: a file step goes through
// descriptors, a program does not.
func (s Command) Possible(m machine.Machine) error {
	for _, argv := range [][]string{s.Do, s.Undo, s.Probe, s.Require, s.UndoRequire} {
		if len(argv) > 0 && !strings.HasPrefix(argv[0], "/") {
			return fmt.Errorf("%s: a command needs an absolute path", shell.Join(argv))
		}
	}
	if len(s.Do) == 0 {
		return fmt.Errorf("a command step without a command")
	}
	return rootsAlone(m, s.Do, s.Undo)
}

// rootsAlone refuses commands that work on what others than root can change.
// Each absolute path among the arguments counts, also behind "--option=".
func rootsAlone(m machine.Machine, commands ...[]string) error {
	var seen []string
	for _, argv := range commands {
		for i, arg := range argv {
			if _, value, ok := strings.Cut(arg, "="); i > 0 && ok && strings.HasPrefix(arg, "-") {
				arg = value
			}
			if !strings.HasPrefix(arg, "/") || slices.Contains(seen, arg) {
				continue
			}
			if err := machine.RootsAlone(m, path.Clean(arg)); err != nil {
				return err
			}
			seen = append(seen, arg)
		}
	}
	return nil
}

func (s Command) Apply(ctx context.Context, st *Site, _ []Item) error {
	if err := rootsAlone(st.Machine, s.Do); err != nil {
		return &Untouched{err}
	}
	if err := s.require(ctx, st.Machine, s.Require); err != nil {
		return &Untouched{err}
	}
	return Run(ctx, st.Machine, s.Do, s.limit())
}

func (s Command) Done(ctx context.Context, m machine.Machine, _, _ []Item) (bool, error) {
	if len(s.Probe) == 0 {
		return false, nil
	}
	out, err := m.Ask(ctx, s.Probe, s.limit())
	return err == nil && out.Exit == 0, err
}

func (s Command) limit() time.Duration {
	if s.Limit == 0 {
		return time.Minute
	}
	return s.Limit
}

func (s Command) require(ctx context.Context, m machine.Machine, argv []string) error {
	if len(argv) == 0 {
		return nil
	}
	out, err := m.Ask(ctx, argv, s.limit())
	if err != nil {
		return fmt.Errorf("checking the precondition: %w", err)
	}
	if out.Exit != 0 {
		return fmt.Errorf("the precondition %s does not hold%s", shell.Join(argv), Said(out))
	}
	return nil
}

func (s Command) CanInvert() bool { return len(s.Undo) > 0 }

func (s Command) Probed() bool { return len(s.Probe) > 0 || s.Again } // one that may run again needs no probe

func (s Command) Repeats() bool { return s.Again }

func (s Command) Invert(ctx context.Context, st *Site) error {
	if err := rootsAlone(st.Machine, s.Undo); err != nil {
		return err
	}
	if err := s.require(ctx, st.Machine, s.UndoRequire); err != nil {
		return err
	}
	return Run(ctx, st.Machine, s.Undo, s.limit())
}

// Run lets a command that has begun come to its end, although somebody pressed
// Ctrl-C: half of a change is worse than the wait. But when the time to
// confirm is over it has to end.
func Run(ctx context.Context, m machine.Machine, argv []string, limit time.Duration) error {
	if end, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(end)), time.Millisecond)
	}
	out, err := m.Run(context.WithoutCancel(ctx), argv, limit)
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("%s ended with status %d%s", shell.Join(argv), out.Exit, Said(out))
	}
	return nil
}

// Said is the end of what a command printed, for an error message.
func Said(o machine.Output) string {
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

// Alone: it is done again nevertheless: nobody knows what it works up.
func (s Command) Alone() Step { return s }

// Useful: what it works up outlives a boot.
func (s Command) Useful(context.Context, machine.Machine) (bool, error) { return true, nil }

func (s Command) Shell(string) (string, error) {
	var out string
	if len(s.Require) > 0 {
		out += shell.Join(s.Require) + "\n"
	}
	out += shell.Join(s.Do) + "\n"
	if s.Again {
		out = "again " + shell.Join(s.Do) + "\n" + out
	}
	if len(s.Undo) > 0 {
		out += "undo " + shell.Join(s.Undo) + "\n"
	}
	return out, nil
}

func (s Command) Ansible(b *Tasks) error {
	if len(s.Require) > 0 {
		b.Ask("the precondition of: "+s.Describe(), s.Require)
	}
	b.Command(s.Describe(), s.Do)
	return nil
}
