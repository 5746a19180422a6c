package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle/remedy"
)

func (a *app) confirmCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "confirm [ID]",
		Short: "Keep a change that would undo itself",
		Long: `Says that you can still reach this host after a change that could have cut you
off. Run it from a new login: the one that made the change may live on without
being able to come back.
` + statusHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			return fixError(a.confirm(cmd.Context(), first(args)))
		},
	}
}

func (a *app) confirm(ctx context.Context, id string) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("confirming: %w", err)
	}
	// The fix may still be verifying, and be done in a moment.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := a.engine(store, "fettle confirm "+id, true).Confirm(ctx, id)
	if err != nil {
		return err
	}
	if c == nil {
		fmt.Fprintln(a.stdout, "No change waits to be confirmed.")
		return nil
	}
	fmt.Fprintf(a.stdout, "Change %s is confirmed and stays. To undo it: fettle undo %s\n", c.ID, c.ID)
	return nil
}
