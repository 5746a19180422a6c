package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/engine/rule"
	"fettle/internal/ui"
)

func verifyCmd(a *app.App, s pack.Store) *cobra.Command {
	with := s
	c := &cobra.Command{
		Use:   "verify FILE|URL|hub:NAME",
		Short: "Tell whether a pack could be installed, and who signed it",
		Long: `Verify a pack with the pinned keys, check its rules, and show what is in it: its
traps, and what their remedies do. Whatever install would refuse is refused. The
version that is in use, or that rollback returns to, is not: it says so.

Exit status:
  0  the pack can be installed, or is installed, or is kept for a rollback
  2  usage error, or the pack cannot be read
  3  the pack is refused: signature, expiry, version, this fettle's age, its
     rules, or a trap that another installed pack has`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := read(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			refused := func(err error) error { return app.Failf("%s: %w", args[0], err) }
			p, err := with.Verify(b)
			if err != nil {
				return refused(err)
			}
			rules, err := p.Rules()
			if err != nil {
				return refused(err)
			}
			fmt.Fprintf(a.Stdout, "%s; expires %s\n", ui.Visible(p.Title()), p.Expires)
			for _, r := range rules {
				contents(a, r)
			}
			have, err := s.Admit(p, b)
			switch {
			case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
				a.Warn("only root can read " + s.Dir + ": whether this host has a newer version is unknown")
			case err != nil:
				return refused(err)
			case have == pack.InUse:
				fmt.Fprintln(a.Stdout, "in use on this host")
			case have == pack.Kept:
				fmt.Fprintf(a.Stdout, "kept on this host: fettle pack rollback %s puts it into use\n", p.Name)
			}
			ownTraps(a, p)
			return nil
		},
	}
	c.Flags().StringVar(&with.Keys, "keys", s.Keys, "verify with the keys in `FILE`")
	c.MarkFlagFilename("keys")
	return c
}

// contents shows a rule of a pack.
func contents(a *app.App, r *rule.Rule) {
	fmt.Fprintf(a.Stdout, "  %s: %s\n", r.ID, ui.Visible(r.Title))
	if r.Remedy != nil {
		fmt.Fprintf(a.Stdout, "    remedy: %s\n", ui.Visible(r.Remedy.Title.String()))
	}
}

// ownTraps tells of the rules that are not used because this fettle has a trap of the same name itself. Another host's may
// not, so the pack is not refused.
func ownTraps(a *app.App, p *pack.Pack) {
	for _, id := range p.IDs() {
		if a.Trap(id) != nil {
			a.Warn(id + " is one of this fettle's own traps: the pack's rule is not used")
		}
	}
}
