// Package netboot is fettle netboot: installing hosts over the network.
package netboot

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
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
	c.AddCommand(ownCmds()...)
	return c
}

// expectFolder refuses what is no folder; of says which one is expected.
func expectFolder(name, of string) error {
	switch st, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return app.Usagef("%s does not exist: expected a folder %s", ui.Quote(name), of)
	case err != nil:
		return app.Usagef("%w", err)
	case !st.IsDir():
		return app.Usagef("%s is not a folder: expected one %s", ui.Quote(name), of)
	}
	return nil
}
