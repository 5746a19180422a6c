package app

import (
	"strings"

	"github.com/spf13/cobra"
)

// CompleteTraps completes trap ids on the command line.
func (a *App) CompleteTraps(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, t := range a.Traps {
		if strings.HasPrefix(t.ID(), begun) {
			out = append(out, t.ID()+"\t"+t.Title())
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
