// Package step holds the kinds of steps that plans are made of: one file a
// kind, with all that there is to know of it. The engine, the exports and the
// journal ask the interfaces below and know no kind. A trap may bring a kind of
// its own: it implements them and calls Register.
package step

import (
	"context"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Step is one change. It is plain data that survives JSON.
type Step interface {
	// Kind names the type in journals: "file", "sysctl", …
	Kind() string
	// Describe says in one line what will change.
	Describe() string
	// Reversal says whether and how the step is undone.
	Reversal() Reversal
	// Commands are the exact commands that an admin would type for the same
	// effect, for reading; fettle makes its changes itself. None where a diff
	// says it.
	Commands() [][]string
	// Shell is the step for a POSIX shell, of the words of ShellHead. What it
	// keeps in the backup folder begins with name.
	Shell(name string) (string, error)
	// Ansible writes the step as tasks of a playbook.
	Ansible(*Tasks) error

	// Running tells whether the effect ends with the boot.
	Running() bool
	// Items lists all that Apply may change, as it is now, what the step
	// aims at first. It refuses a step that must not be taken: a file that is
	// not what the plan was made from.
	Items(context.Context, machine.Machine) ([]Item, error)
	// Apply makes the change. before is what Items said. Done again over its
	// own effect, or over a part of it, it ends the same.
	Apply(ctx context.Context, s *Site, before []Item) error
	// Done tells whether the effect is in place. before is nil for a step
	// that has no items.
	Done(ctx context.Context, m machine.Machine, before, now []Item) (bool, error)
}

// Keeper is a step that keeps items, and is undone by putting them back.
type Keeper interface {
	// Keeps are the kinds of the first item and of those after it.
	Keeps() (first, rest string)
	// Between tells whether an act that was cut off can have left an item so.
	Between(before, now Item) bool
}

// Targeted is a step that changes a file or folder by name.
type Targeted interface{ Target() string }

// Target is the file or folder that a step changes; empty for what has none.
func Target(s Step) string {
	if t, ok := s.(Targeted); ok {
		return t.Target()
	}
	return ""
}

// Differ is a step whose effect is best shown as a unified diff.
type Differ interface{ Diff() string }

// Writer is a step that decides what its Target says: its content, or that it
// is not there.
type Writer interface {
	Writes() (content []byte, there bool)
}

// Setter is a step that sets a value below /proc/sys or /sys.
type Setter interface {
	Sets() (path, value string)
}

// Preparer is a step that may make anything: of what follows it nobody can
// tell beforehand how it will find the host. Possible refuses one that this
// host can never take.
type Preparer interface {
	Possible(machine.Machine) error
}

// Asker is a step that only asks: there is nothing to undo, or to speak of.
type Asker interface{ Asks() }

// Tidier is a step that may leave more behind when it is cut off than its items
// show. Tidy removes that, and tells whether its effect stays.
type Tidier interface {
	Tidy(context.Context, *Site) (stays bool, err error)
}

// Repeated is a step whose undoing is to do it once more after everything
// else was put back: a daemon reads its old files again.
type Repeated interface {
	Repeats() bool
	// Alone is the step for a plan in which nothing before it is put back: what
	// would be read again is what was read already.
	Alone() Step
	// Useful tells whether there is something to repeat it for, also in another
	// boot than that of the step.
	Useful(context.Context, machine.Machine) (bool, error)
}

// Inverse is a step that is undone by an act of its own.
type Inverse interface {
	Invert(ctx context.Context, s *Site) error
	// CanInvert tells whether there is such an act.
	CanInvert() bool
	// Probed tells whether Done can look; if not, nobody knows whether a step
	// that was cut off had its effect.
	Probed() bool
}

// Halfway is a probed step that can be between before and done: undo then
// leads back from there.
type Halfway interface {
	Halfway(context.Context, machine.Machine) (bool, error)
}

// Alike is a step that may stand many times in a plan, on one thing each.
type Alike interface {
	Targeted
	// Effect is what it does to its target, which stands as now (nil: not
	// known): "mode 0644 → 0640". Steps of one effect are shown as one line.
	Effect(now *machine.Image) string
}

// Renamer is a step on something that a boot may give another name, and whose
// name a trap uses for its subject.
type Renamer interface {
	// Renamed returns the name that the plan knows and the one of now.
	Renamed(context.Context, machine.Machine) (was, is string, err error)
}

// Class tells how a step is undone.
type Class string

const (
	Restorable   Class = "restorable"   // byte for byte
	Invertible   Class = "invertible"   // by another act; the note says what differs after
	Stays        Class = "stays"        // there is nothing to put back: undo leaves its effect
	Irreversible Class = "irreversible" // asked for separately
)

// Reversal is a class with its note.
type Reversal struct {
	Class Class
	// Note says by what act an invertible step is undone, and what differs
	// after; of the others why they stay, or cannot be undone.
	Note string
}

// String is the reversal in a line of a plan.
func (r Reversal) String() string {
	lead := map[Class]string{Restorable: "undo: exact", Invertible: "undo", Stays: "undo leaves it", Irreversible: "cannot be undone"}[r.Class]
	if r.Note == "" {
		return lead
	}
	return lead + ": " + r.Note
}

// Commands are a step's commands, their arguments quoted for a POSIX shell.
func Commands(s Step) []string {
	var out []string
	for _, argv := range s.Commands() {
		out = append(out, shell.Join(argv))
	}
	return out
}

// Untouched is the error of an act that was refused before it changed anything.
type Untouched struct{ Err error }

func (e *Untouched) Error() string { return e.Err.Error() }
func (e *Untouched) Unwrap() error { return e.Err }
