package cli

import (
	"github.com/spf13/cobra"

	common "fettle/cli/app"
	"fettle/cli/measure"
)

// measureCmd is the family of instruments.
func measureCmd(a *common.App) *cobra.Command {
	c := measure.Cmd(a)
	l := old(a)
	c.AddCommand(l.measureCachesimCmd())
	c.AddCommand(l.measureBlockcacheCmd())
	return c
}
