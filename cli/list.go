package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle/internal/ui"
	"fettle/report"
)

func (a *app) listCmd() *cobra.Command {
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
		RunE: func(*cobra.Command, []string) error { return a.list(format) },
	}
	formatFlag(c, &format, "text", "json")
	return c
}

func (a *app) list(format string) error {
	infos := report.Infos(a.traps)
	switch format {
	case "json":
		return a.json(infos)
	case "text":
	default:
		return usagef("--format %s: it is text or json", format)
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
		fmt.Fprint(a.stdout, ui.Wrap(ui.Visible(i.Title), ui.Width(a.stdout), lead, strings.Repeat(" ", len(lead))))
	}
	return nil
}

// formatFlag gives a verb --format with its completions; the first is the default.
func formatFlag(c *cobra.Command, into *string, formats ...string) {
	c.Flags().StringVar(into, "format", formats[0], "output `FORMAT`: "+strings.Join(formats, ", "))
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// json prints v, indented.
func (a *app) json(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
