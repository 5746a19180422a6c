package fix

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fettle/engine/remedy"
)

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
