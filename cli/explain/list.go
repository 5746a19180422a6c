package explain

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
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
  network  talks to other hosts: check --network
  before   bites at the next start or upgrade: fettle before reboot, upgrade`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return list(a, format) },
	}
	app.FormatFlag(c, &format, "text", "json")
	return c
}

func list(a *app.App, format string) error {
	infos := report.Infos(a.Traps)
	if format == "json" {
		return a.JSON(traps{jsondoc.New("traps"), infos})
	}
	t := ui.Table{}
	for _, i := range infos {
		fix := "fix"
		if !i.Fixable {
			fix = "-"
		}
		cost := i.Cost
		if len(i.Horizon) > 0 && !slices.Contains(i.Horizon, trap.Now) {
			cost = "before"
		}
		t.Rows = append(t.Rows, []string{i.ID, cost, fix, ui.Visible(i.Title)})
	}
	_, err := io.WriteString(a.Stdout, t.Text(ui.Width(a.Stdout), "", false))
	return err
}

// traps is the list as JSON.
type traps struct {
	jsondoc.Envelope
	Traps []report.TrapInfo `json:"traps"`
}
