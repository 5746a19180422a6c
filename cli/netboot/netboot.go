// Package netboot is fettle netboot: installing hosts over the network.
package netboot

import (
	"github.com/spf13/cobra"

	"fettle/cli/app"
)

// Cmd is fettle netboot.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "netboot",
		Short: "Install hosts over the network",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.Usagef("what about installing over the network? `fettle netboot --help` lists what there is")
		},
	}
	c.AddCommand(serveCmd(a), checkCmd(a), fetchCmd(a), swapCmd(), consoleCmd(a), serialCmd(a), hooksCmd(a))
	return c
}
