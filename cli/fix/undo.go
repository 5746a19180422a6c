package fix

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/remedy"
	"fettle/remedy/step"
)

type undoOptions struct {
	force, wait bool
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
		Short: "Take a change back: the last one, or the one named",
		Long: `Puts back what fettle fix changed: files byte for byte with mode, owner and
attributes, settings with all they had changed on the way. Steps are undone in
reverse order; services read their old files again at the end.

What somebody else changed since is not written over: undo then changes
nothing, and shows what fettle had written and what was changed after it.
--force writes over it. Running state of an earlier boot is left alone.
` + StatusHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.unconfirmed != "" {
				return Status(undoUnconfirmed(cmd.Context(), a, o))
			}
			return Status(undo(cmd.Context(), a, app.First(args), o))
		},
	}
	f := c.Flags()
	f.BoolVar(&o.force, "force", false, "write over what somebody else changed since")
	f.BoolVar(&o.wait, "wait", false, "wait for another fettle that is at work")
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
	holdOut()
	c, err := engine(a, store, "fettle undo "+id, o.wait).Undo(ctx, id, remedy.UndoOptions{Force: o.force, Why: "undone by the admin"})
	var conflicts *remedy.Conflicts
	if errors.As(err, &conflicts) {
		for _, cf := range conflicts.List {
			fmt.Fprint(a.Stdout, remedy.ShowDiff(cf.Diff()), "\n")
		}
	}
	if errors.Is(err, remedy.ErrTakenBack) {
		fmt.Fprintf(a.Stdout, "Change %s was undone before: there is nothing to do.\n", c.ID)
		return nil
	}
	if err != nil {
		return err
	}
	if c == nil {
		fmt.Fprintln(a.Stdout, "There is no change to undo.")
		return nil
	}
	sayTakenBack(a, c)
	return nil
}

func sayTakenBack(a *app.App, c *remedy.Change) {
	switch {
	case len(c.Left()) > 0:
		fmt.Fprintf(a.Stdout, "Change %s is undone, but for what is listed above as left.\n", c.ID)
	case c.Plan.Restorable():
		fmt.Fprintf(a.Stdout, "Change %s is undone; everything is as it was before.\n", c.ID)
	default:
		fmt.Fprintf(a.Stdout, "Change %s is undone. Mind what may differ from before:\n", c.ID)
	}
	for _, s := range c.Plan.Steps {
		if r := s.Reversal(); r.Class == step.Invertible {
			fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(s.Describe()+": "+r.Note), ui.Width(a.Stdout), "  ", "    "))
		}
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
	holdOut()
	out := a.Stdout
	a.Stdout = a.Stderr // the one who started the guard reads one line and may then be gone
	e := engine(a, store, "the rollback of change "+o.unconfirmed, true)
	return e.UndoUnconfirmed(context.WithoutCancel(ctx), o.unconfirmed, at, o.boot, func() { fmt.Fprintln(out, remedy.GuardReady) })
}
