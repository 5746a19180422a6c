package fix

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/remedy"
)

// ConfirmCmd is fettle confirm.
func ConfirmCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "confirm [ID]",
		Annotations: app.NoRules,
		Short:       "Keep a change that would undo itself",
		Long: `Confirms that you can still reach this host after a change that could have cut
you off. Run it from a new login: an old session may survive although new ones
fail. If the change was undone meanwhile, it says so and exits with status 3.
` + StatusHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			return Status(confirm(cmd.Context(), a, app.First(args)))
		},
	}
}

func confirm(ctx context.Context, a *app.App, id string) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("confirming: %w", err)
	}
	// The fix may still be verifying, and be done in a moment.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := engine(a, store, "fettle confirm "+id, true).Confirm(ctx, id)
	if err != nil {
		return err
	}
	if c == nil {
		fmt.Fprintln(a.Stdout, "No change is waiting for confirmation.")
		return nil
	}
	fmt.Fprintf(a.Stdout, "Change %s is confirmed and stays. To undo it: fettle undo %s\n", c.ID, c.ID)
	return nil
}
