package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// completeTraps completes trap ids on the command line.
func (a *app) completeTraps(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, t := range a.traps {
		if strings.HasPrefix(t.ID(), begun) {
			out = append(out, t.ID()+"\t"+t.Title())
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
