// Package measure is the verbs of the instruments.
package measure

import (
	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/chart"
	"fettle/tools/measure/render"
)

// Cmd is the family of instruments, a file each.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "measure",
		Short: "Measure what a trap costs, and what its fix gains",
		Long: `Instruments. Each measures one thing over time and reports it with the
conditions under which it was measured.`,
		Annotations: app.NoRules,
	}
	c.AddCommand(CountersCmd(a), LoginCmd(a), DisksCmd(a), KSMCmd(a), InstallerCmd(a))
	c.AddCommand(app.InLab("blockcache", "Test whether a block cache becomes as fast as its fast device"),
		app.InLab("cachesim", "Simulate a block cache: how many requests would miss"))
	return c
}

// write writes what was measured to where it is read.
func write(a *app.App, format string, r render.Result) error {
	return render.Write(a.Stdout, format, r, render.TerminalOf(a.Stdout))
}

// draw writes what was measured and draws it into the files that were asked for.
// It is written even if it cannot be drawn.
func draw(a *app.App, format string, r render.Result, files app.Pictures, what chart.Picture) error {
	undrawn := files.Write(what)
	if err := write(a, format, r); err != nil {
		return err
	}
	return undrawn
}
