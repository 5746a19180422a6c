package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/engine/remedy/step"
	"fettle/internal/ui"
)

func listCmd(a *app.App, s pack.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the installed packs: version, signer, expiry",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			names, err := s.Names()
			if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
				return app.Failf("only root can read packs: %w", err)
			}
			if err != nil {
				return app.Failf("%w", err)
			}
			if len(names) == 0 {
				fmt.Fprintln(a.Stdout, "no pack is installed")
			}
			bad := 0
			for _, name := range names {
				p, err := s.Installed(name)
				if err != nil {
					bad++
					fmt.Fprintf(a.Stdout, "%s: %s\n", name, ui.Visible(err.Error()))
					continue
				}
				state := "expires"
				if p.Expired(s.Now()) {
					state = "EXPIRED"
				}
				fmt.Fprintf(a.Stdout, "%s; %s %s\n", ui.Visible(p.Title()), state, p.Expires)
			}
			if bad > 0 {
				return app.Exit(app.ExitFailed, nil)
			}
			return nil
		},
	}
}

func rollbackCmd(a *app.App, s pack.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "rollback NAME",
		Short: "Switch back to the version before the installed one",
		Long: `Switch back to the version before the installed one. The newer one cannot be
installed again, only a still newer one; a second rollback returns to it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := root(); err != nil {
				return err
			}
			p, err := s.Rollback(args[0])
			if err != nil {
				return app.Failf("%w", err)
			}
			fmt.Fprintf(a.Stdout, "in use again: %s\n", ui.Visible(p.Title()))
			return nil
		},
	}
}

func removeCmd(a *app.App, s pack.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a pack and the version kept for rollback",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := root(); err != nil {
				return err
			}
			if err := s.Remove(args[0]); err != nil {
				return app.Failf("%w", err)
			}
			fmt.Fprintf(a.Stdout, "removed %s\n", args[0])
			return nil
		},
	}
}

func diffCmd(a *app.App, s pack.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "diff FILE|URL|hub:NAME",
		Short: "Show what a pack changes in the one that is installed",
		Long: `Show what a pack changes in the one that is installed: its rules line by line,
its samples by name. All rules of a pack that is not installed are new.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := offered(cmd.Context(), a, args[0], s.Verify)
			if err != nil {
				return err
			}
			names, err := s.Names()
			if err != nil {
				return app.Failf("%w", err)
			}
			old := &pack.Pack{}
			if !slices.Contains(names, p.Name) {
				fmt.Fprintf(a.Stdout, "%s %d, which is not installed\n", p.Name, p.Version)
			} else if old, err = s.Installed(p.Name); err != nil {
				return app.Failf("%w", err)
			} else {
				fmt.Fprintf(a.Stdout, "%s %d to %d; expires %s, then %s\n", p.Name, old.Version, p.Version, old.Expires, p.Expires)
			}
			for _, c := range old.Changes(p) {
				fmt.Fprintln(a.Stdout, c)
				name := c[2:]
				if !strings.HasSuffix(name, "rule.yaml") || c[0] == '-' {
					continue
				}
				for line := range strings.Lines(step.Diff("installed", "new", text(old, name), text(p, name))) {
					fmt.Fprintln(a.Stdout, ui.Visible(strings.TrimRight(line, "\n")))
				}
			}
			return nil
		},
	}
}

// text is what a file of a pack holds; nil: there is none.
func text(p *pack.Pack, name string) []byte {
	for _, f := range p.Files {
		if f.Path == name {
			return []byte(f.Text)
		}
	}
	return nil
}
