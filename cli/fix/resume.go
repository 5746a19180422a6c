package fix

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/remedy"
)

// ResumeCmd is fettle resume.
func ResumeCmd(a *app.App) *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use:   "resume [ID]",
		Short: "Finish an interrupted change",
		Long: `Finishes a fix or an undo that was interrupted, by a kill or a power cut. For
each step it first checks whether it has already taken effect. A fix is verified
as usual. To revert instead, use fettle undo.
` + StatusHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			return Status(resume(cmd.Context(), a, app.First(args), wait))
		},
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for another running fettle")
	return c
}

func resume(ctx context.Context, a *app.App, id string, wait bool) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	outliveTerminal()
	c, err := engine(a, store, "fettle resume "+id, wait).Resume(ctx, id, func(h remedy.Head) remedy.Verify {
		for _, t := range a.Traps {
			if t.ID() == h.Trap {
				parts := h.Parts
				if len(parts) == 0 {
					parts = []remedy.Part{{Subject: h.Subject, Summary: h.Summary, Vanishes: h.Plan.Vanishes}}
				}
				return verify(a, t, looking{network: true}, parts, h.Plan)
			}
		}
		return func(context.Context) error { return fmt.Errorf("this fettle has no trap %q to check with", h.Trap) }
	})
	switch {
	case err != nil:
		return err
	case c == nil:
		fmt.Fprintln(a.Stdout, "No change was cut off: there is nothing to resume.")
	case c.Phase() == remedy.TakenBack:
		sayTakenBack(a, c)
	default:
		sayApplied(a, c, "Finished: the check no longer finds it.")
	}
	return nil
}
