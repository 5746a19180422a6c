package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fettle/remedy"
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

// completeChanges offers the numbers of changes, without making the folder
// that keeps them.
func completeChanges(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if _, err := os.Stat(remedy.Dir()); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	store, err := remedy.OpenStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := store.Changes()
	var out []string
	for _, c := range all {
		if strings.HasPrefix(c.ID, begun) {
			out = append(out, c.ID+"\t"+c.Trap+" "+c.Subject)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
