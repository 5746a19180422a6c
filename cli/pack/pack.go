// Package pack is fettle pack.
package pack

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/internal/ui"
)

// Cmd is fettle pack.
func Cmd(a *app.App) *cobra.Command { return cmd(a, pack.Host()) }

func cmd(a *app.App, s pack.Store) *cobra.Command {
	c := &cobra.Command{
		Use:         "pack",
		Annotations: app.NoRules,
		Short:       "Make, install and roll back signed packs of rules",
		Long: `Make, install and roll back signed packs of rules.

A pack is one file with rules and their samples, signed with an SSH key. Hosts
install packs of the keys that root pinned in ` + s.Keys + `, one a
line: NAME TYPE KEY. Its rules may do what rules of your own may. Remedies of a
pack are off until root lists it under packs.remedies in fettle.yaml.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return app.Usagef("build, verify, list, diff, install, remove, rollback or new? `fettle pack --help` tells")
		},
	}
	c.AddCommand(newCmd(a), buildCmd(a), verifyCmd(a, s), listCmd(a, s), diffCmd(a, s), installCmd(a, s), rollbackCmd(a, s), removeCmd(a, s))
	return c
}

func installCmd(a *app.App, s pack.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "install FILE|URL|hub:NAME",
		Short: "Install a pack, or a newer version of it",
		Long: `Verify a pack and put it into use. The version before is kept for rollback. A
pack is refused that is not newer than every version installed here before, that
has expired, that needs a newer fettle, or that has a trap of another installed
pack. Installing the file that is in use changes nothing. hub:NAME is what the
hub of this host offers; fettle-agent fetches it.

Exit status:
  0  installed
  2  usage error, or the pack cannot be read
  3  the pack is refused, or cannot be installed`,
		Example: `  fettle pack install /media/stick/acme-3.pack
  fettle pack install https://fettle.example.org/acme-3.pack
  fettle pack install hub:acme`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := root(); err != nil {
				return err
			}
			p, err := offered(cmd.Context(), a, args[0], s.Install)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "installed %s\n", ui.Visible(p.Title()))
			ownTraps(a, p)
			return nil
		},
	}
}

// root tells who may change what is installed.
func root() error {
	if os.Geteuid() != 0 {
		return app.Usagef("only root installs, removes and rolls back packs")
	}
	return nil
}
