package fix

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/internal/ui"
)

type undoOptions struct {
	force, wait, plan, yes, verbose bool
	fleet                           app.HostFlags
	// Of the guard that fettle itself starts.
	unconfirmed string
	at          string
	boot        bool
}

// UndoCmd is fettle undo.
func UndoCmd(a *app.App) *cobra.Command {
	var o undoOptions
	c := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo a change: the last one, or the one named",
		Long: `Reverts what fettle fix changed: files byte for byte with mode, owner and
attributes, settings together with those that changed with them. Steps are
undone in reverse order; services reload their old files at the end. fettle
shows what it would do and asks first; --plan only shows it.

Without an ID, the last change still in effect is undone. After a fix that had
nothing to do, the ID is required: that fix changed nothing, and the change
before it may be one to keep.

If somebody else has changed the same thing since, undo changes nothing, and
shows what fettle wrote and what was changed after it; --force overwrites it.
Running state of an earlier boot is left alone.

With --host, the change with that ID is undone on each of these hosts.
` + StatusHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.unconfirmed != "" {
				return Status(undoUnconfirmed(cmd.Context(), a, o))
			}
			if o.fleet.Asked() {
				return Status(undoElsewhere(cmd.Context(), a, app.First(args), o))
			}
			return Status(undo(cmd.Context(), a, app.First(args), o))
		},
	}
	f := c.Flags()
	f.BoolVar(&o.plan, "plan", false, "show what would be undone and change nothing")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show each step, even if many files have the same change")
	f.BoolVar(&o.force, "force", false, "overwrite what somebody else changed since")
	f.BoolVar(&o.wait, "wait", false, "wait for another running fettle")
	o.fleet.Flags(c)
	f.StringVar(&o.unconfirmed, "unconfirmed", "", "undo change `ID` unless it is confirmed")
	f.StringVar(&o.at, "at", "", "wait until `TIME` before that")
	f.BoolVar(&o.boot, "boot", false, "do so only if the host was restarted since")
	for _, name := range []string{"unconfirmed", "at", "boot"} {
		f.MarkHidden(name)
	}
	return c
}

func undo(ctx context.Context, a *app.App, id string, o undoOptions) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("undoing: %w", err)
	}
	opt := remedy.UndoOptions{Force: o.force, Why: "undone by the admin"}
	e := engine(a, store, "fettle undo "+id, o.wait)
	p, err := e.PreviewUndo(ctx, id, opt)
	if done, err := noUndo(a, p, err); done || err != nil {
		return err
	}
	if !o.plan && !o.yes && !ui.IsTerminal(a.Stdin) {
		return app.Usagef("there is no terminal to ask on: see what would be undone (--plan), then give --yes")
	}
	fmt.Fprint(a.Stdout, p.Text(ui.Width(a.Stdout), o.verbose), "\n")
	if o.plan {
		return nil
	}
	if !o.yes {
		if err := answered(ctx, a, "not undone; nothing was changed", "Undo this? [y/N] "); err != nil {
			return err
		}
	}
	outliveTerminal()
	c, err := e.Undo(ctx, p.Change.ID, opt) // the one that was shown
	if done, err := noUndo(a, &remedy.Preview{Change: c}, err); done || err != nil {
		return err
	}
	sayTakenBack(a, c)
	return nil
}

// noUndo tells why a change is not undone, where it is not. done: there is no
// need to.
func noUndo(a *app.App, p *remedy.Preview, err error) (done bool, _ error) {
	var conflicts *remedy.Conflicts
	if errors.As(err, &conflicts) {
		for _, cf := range conflicts.List {
			fmt.Fprint(a.Stdout, remedy.ShowDiff(cf.Diff()), "\n")
		}
	}
	switch {
	case errors.Is(err, remedy.ErrTakenBack):
		fmt.Fprintf(a.Stdout, "Change %s was undone before: there is nothing to do.\n", p.Change.ID)
		return true, nil
	case err == nil && (p == nil || p.Change == nil):
		fmt.Fprintln(a.Stdout, "There is no change to undo.")
		return true, nil
	}
	return false, err
}

func sayTakenBack(a *app.App, c *remedy.Change) {
	var differs []string
	for _, s := range c.Plan.Steps {
		if r := s.Reversal(); r.Class == step.Invertible {
			differs = append(differs, s.Describe()+": "+r.Note)
		}
	}
	switch {
	case len(c.Left()) > 0:
		fmt.Fprintf(a.Stdout, "Change %s is undone, except what is listed above as left.\n", c.ID)
	case c.Plan.Restorable():
		fmt.Fprintf(a.Stdout, "Change %s is undone; everything is restored.\n", c.ID)
	case len(differs) == 0:
		fmt.Fprintf(a.Stdout, "Change %s is undone, except what is listed above.\n", c.ID)
	default:
		fmt.Fprintf(a.Stdout, "Change %s is undone. How these were undone, and what may differ:\n", c.ID)
	}
	for _, d := range differs {
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(d), ui.Width(a.Stdout), "  ", "    "))
	}
}

// undoUnconfirmed is the guard: it says that it stands by, waits, and takes
// the change back unless it was confirmed.
func undoUnconfirmed(ctx context.Context, a *app.App, o undoOptions) error {
	var at time.Time
	if o.at != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, o.at); err != nil {
			return app.Usagef("--at: %w", err)
		}
	}
	store, err := remedy.OpenStore()
	if err != nil {
		return err
	}
	outliveTerminal()
	out := a.Stdout
	a.Stdout = a.Stderr // the one who started the guard reads one line and may then be gone
	e := engine(a, store, "the rollback of change "+o.unconfirmed, true)
	return e.UndoUnconfirmed(context.WithoutCancel(ctx), o.unconfirmed, at, o.boot, func() { fmt.Fprintln(out, remedy.GuardReady) })
}
