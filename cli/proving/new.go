package proving

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/newtrap"
)

func (a program) newCmd() *cobra.Command {
	c := &cobra.Command{Use: "new", Short: "Start a new trap in fettle's own sources"}
	c.AddCommand(&cobra.Command{
		Use: "trap NAME", Short: "Write a commented, passing trap to start from",
		Long: `trap writes the folder traps/NAME in the checkout that you are in, and adds the
trap to the lists traps/all.go and traps/proofs/all.go. It passes all tests
unchanged:

    go test ./traps/NAME
    make && ./fettle lab ID

Then change it step by step into your trap. CONTRIBUTING.md describes what makes
a good one. A trap that only reads files, packages, units or sysctls needs no
Go: see fettle lore new.`,
		Example: "  fettle new trap tmp-sticky",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := newtrap.Write(".", args[0])
			for _, f := range files {
				fmt.Fprintln(a.Stdout, f)
			}
			if err != nil {
				return app.Exit(app.ExitUsage, err)
			}
			return nil
		},
	})
	return c
}
