package apptest

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"fettle/cli/app"
)

// Run is fettle with one verb and the traps, and without rules of the host, called with args. It tells the exit
// status and what was written.
func Run(ctx context.Context, a app.App, verb func(*app.App) *cobra.Command, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	a.Program, a.Stdout, a.Stderr = "fettle", &stdout, &stderr
	if a.Stdin == nil {
		a.Stdin = new(bytes.Buffer)
	}
	code = a.Execute(ctx, args, func() *cobra.Command {
		root := &cobra.Command{Use: "fettle", PersistentPreRunE: app.NoEmptyFlags}
		return app.Grow(root, verb(&a))
	})
	return code, stdout.String(), stderr.String()
}
