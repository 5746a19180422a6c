//go:build !linux

package netboot

import (
	"context"

	"github.com/spf13/cobra"

	"fettle/cli/app"
)

func runServe(context.Context, *app.App, *serveOptions) error {
	return app.Failf("fettle netboot serve runs on Linux only")
}

// ownCmds are verbs for fettle itself.
func ownCmds() []*cobra.Command { return nil }
