package cli

import "github.com/spf13/cobra"

// measureCmd is the family of instruments, one file each: measure_NAME.go.
func (a *app) measureCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "measure",
		Short: "Measure what a trap costs, and what its fix gains",
		Long: `Instruments. Each measures one thing over time, says under what conditions, and
draws it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("which instrument? `fettle measure --help` lists them")
		},
	}
	// One line an instrument.
	c.AddCommand(a.measureCountersCmd())
	c.AddCommand(a.measureLoginCmd())
	c.AddCommand(a.measureCachesimCmd())
	c.AddCommand(a.measureDisksCmd())
	c.AddCommand(a.measureBlockcacheCmd())
	return c
}
