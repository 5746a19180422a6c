package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle/host"
	"fettle/trap"
)

func (a *app) checkCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [TRAP…]",
		Short: "Look for traps on this host, a root folder, or a capture",
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := host.NewLive()
		if err != nil {
			return err
		}
		trap.Run(cmd.Context(), host.New(src), a.traps, trap.Options{}, func(r trap.Result) {
			for _, o := range r.Outcomes {
				fmt.Fprintf(a.stdout, "%+v\n", o)
			}
		})
		return nil
	}
	return c
}
