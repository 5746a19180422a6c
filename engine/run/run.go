// Package run runs checks: over this host, a root folder, a capture or a
// sosreport; in a confined child where there can be one, else in this process.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/confine"
	"fettle/host/fact/machine"
)

// Target is what checks look at. The zero Target is this host.
type Target struct {
	Root    string `json:"root,omitempty"`   // a folder, absolute
	From    string `json:"from,omitempty"`   // a file or folder, absolute
	Inside  string `json:"inside,omitempty"` // a folder in the archive From
	Network bool   `json:"network,omitempty"`
	// Record, if set, has what the checks read written to a capture.
	Record *Recording `json:"record,omitempty"`
}

func (t Target) live() bool { return t.Root == "" && t.From == "" }

// open opens the target in this process.
func (t Target) open() (host.Source, error) {
	switch {
	case t.Root != "":
		return host.NewRoot(t.Root)
	case t.From != "":
		return openFrom(t.From, t.Inside, nil)
	}
	return confine.Live()
}

// About is what is known of a run before its first result.
type About struct {
	Kind     host.Kind     `json:"kind"`
	Name     string        `json:"name"`
	Identity host.Identity `json:"identity"`
	Machine  machine.Facts `json:"machine"`
	Confined confine.State `json:"confined"`
	// Warning says how checks are less confined than they should be.
	Warning string `json:"-"`
}

// machineLimit is how long a run waits to say what machine it is.
const machineLimit = 2 * time.Second

func aboutOf(ctx context.Context, src host.Source) About {
	ctx, cancel := context.WithTimeout(ctx, machineLimit)
	defer cancel()
	return About{Kind: src.Kind(), Name: src.Name(), Identity: src.Identity(), Machine: machine.Read(ctx, host.New(src))}
}

// Unreadable is an error of input that was named and cannot be read.
type Unreadable struct{ Err error }

func (e *Unreadable) Error() string { return e.Err.Error() }
func (e *Unreadable) Unwrap() error { return e.Err }

// Engine runs checks.
type Engine struct {
	Rules []*rule.Frozen // the admin's own, which a confined child has to be given
	Also  *Also
}

// Also is a question that a Check puts to its child when the checks have ended: it is answered from
// what they have read. Like Ask it needs a confined child.
type Also struct {
	Name   string // one of Answers
	Answer any    // is filled
	Err    error  // why it was not
}

// Check runs checks in a confined child, where there can be one, and calls
// begin once before the first emit; emit is called once per trap in the list's
// order. Whatever happens to the child, every trap gets its result. The error
// says that nothing could be looked at: then emit was not called.
func (e Engine) Check(
	ctx context.Context,
	tg Target,
	traps []*trap.Trap,
	opt trap.Options,
	begin func(About) error,
	emit func(trap.Result),
) error {
	if err := tg.look(ctx); err != nil {
		return err
	}
	done, warning, err := e.confined(ctx, tg, traps, opt, begin, emit)
	if done {
		return err
	}
	if e.Also != nil {
		e.Also.Err = errors.New("looking at the host: no confined process")
	}
	src, err := tg.open()
	if err != nil {
		return err
	}
	defer src.Close()
	ab := aboutOf(ctx, src) // no part of a capture
	src, recorded := tg.Record.start(src)
	ab.Warning = warning
	if err := begin(ab); err != nil {
		return err
	}
	trap.Run(ctx, host.New(src), traps, opt, emit)
	recorded()
	return nil
}

// Live runs checks of this host and calls emit once per trap, in the list's order.
func (e Engine) Live(ctx context.Context, traps []*trap.Trap, opt trap.Options, emit func(trap.Result)) error {
	tg := Target{Network: opt.Network}
	for _, t := range traps {
		tg.Network = tg.Network || t.Cost == trap.Network
	}
	return e.Check(ctx, tg, traps, opt, func(About) error { return nil }, emit)
}

// OpenLive opens this host in this process, for what reads it itself (the
// plans of fix). Reading is not confined then; commands are.
func OpenLive() (host.Source, error) { return confine.Live() }

// Answer looks at a host and makes an answer that goes into JSON.
type Answer func(ctx context.Context, h *host.Host, question json.RawMessage) (any, error)

// Answers are what a confined child can be asked besides the results of checks, by name. A copy
// of fettle has the same ones.
type Answers map[string]Answer
