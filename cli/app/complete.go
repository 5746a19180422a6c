package app

import (
	"strings"

	"github.com/spf13/cobra"

	"fettle/engine/trap"
	"fettle/internal/ui"
)

// CompleteFound completes --on: the subjects on which the trap that the command
// line names is found here.
func (a *App) CompleteFound(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	traps, err := a.Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	a.CheckLive(c.Context(), traps, trap.Options{}, func(r trap.Result) {
		for _, o := range r.Outcomes {
			if o.Status == trap.Found && o.Subject != "" && strings.HasPrefix(o.Subject, begun) {
				out = append(out, ui.Visible(o.Subject)+"\t"+ui.Visible(o.Summary))
			}
		}
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

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
