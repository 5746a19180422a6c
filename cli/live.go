package cli

import (
	"context"

	"fettle/host"
	"fettle/host/confine"
	"fettle/trap"
)

// target is what checks look at: this host, a root folder, or a capture.
type target struct {
	Root    string `json:"root,omitempty"` // a folder, absolute
	From    string `json:"from,omitempty"` // a file or folder, absolute
	Network bool   `json:"network,omitempty"`
	// Record, if set, has what the checks read written to a capture.
	Record *recording `json:"record,omitempty"`
}

func (t target) live() bool { return t.Root == "" && t.From == "" }

// open opens the target in this process.
func (t target) open() (host.Source, error) {
	switch {
	case t.Root != "":
		return host.NewRoot(t.Root)
	case t.From != "":
		return openFrom(t.From)
	}
	return confine.Live()
}

// about is what is known of a run before its first result.
type about struct {
	Kind     host.Kind     `json:"kind"`
	Name     string        `json:"name"`
	Identity host.Identity `json:"identity"`
	Confined confine.State `json:"confined"`
	// Warning says how checks are less confined than they should be.
	Warning string `json:"-"`
}

func aboutOf(src host.Source) about {
	return about{Kind: src.Kind(), Name: src.Name(), Identity: src.Identity()}
}

// checkTarget runs checks in a confined child, where there can be one, and
// calls begin once before the first emit; emit is called once per trap in the
// list's order. Whatever happens to the child, every trap gets its result. The
// error says that nothing could be looked at: then emit was not called.
func (a *app) checkTarget(ctx context.Context, tg target, traps []*trap.Trap, opt trap.Options, begin func(about) error, emit func(trap.Result)) error {
	done, warning, err := a.checkConfined(ctx, tg, traps, opt, begin, emit)
	if done {
		return err
	}
	src, err := tg.open()
	if err != nil {
		return err
	}
	defer src.Close()
	src, recorded := tg.Record.start(src)
	ab := aboutOf(src)
	ab.Warning = warning
	if err := begin(ab); err != nil {
		return err
	}
	trap.Run(ctx, host.New(src), traps, opt, emit)
	return recorded()
}

// checkLive runs checks of this host in a confined child and calls emit once
// per trap, in the list's order.
func (a *app) checkLive(ctx context.Context, traps []*trap.Trap, opt trap.Options, emit func(trap.Result)) error {
	tg := target{Network: opt.Network}
	for _, t := range traps {
		tg.Network = tg.Network || t.Cost == trap.Network
	}
	return a.checkTarget(ctx, tg, traps, opt, func(about) error { return nil }, emit)
}

// openLive opens this host in this process, for verbs that read it themselves
// (capture, and the plans of fix). Reading is not confined then; commands are.
func (a *app) openLive() (host.Source, error) { return confine.Live() }
