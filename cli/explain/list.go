package explain

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/report"
)

// ListCmd is fettle list.
func ListCmd(a *app.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the traps that fettle knows",
		Long: `List the traps that fettle knows: name, what their check costs, whether fettle
can apply a fix, and title.

Costs:
  instant  reads files and running state; what check does by default
  sampled  compares two readings: check --sample 10s
  network  talks to other hosts: check --network`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return list(a, format) },
	}
	app.FormatFlag(c, &format, "text", "json")
	return c
}

func list(a *app.App, format string) error {
	infos := report.Infos(a.Traps)
	switch format {
	case "json":
		return a.JSON(infos)
	}
	wide := 0
	for _, i := range infos {
		wide = max(wide, len(i.ID))
	}
	for _, i := range infos {
		fix := "fix"
		if !i.Fixable {
			fix = "-"
		}
		lead := fmt.Sprintf("%-*s  %-7s  %-3s  ", wide, i.ID, i.Cost, fix)
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(i.Title), ui.Width(a.Stdout), lead, strings.Repeat(" ", len(lead))))
	}
	return nil
}
