package app

import (
	"io"
	"math"

	"fettle/internal/ui"
)

// Table prints a table as wide as the terminal; elsewhere each row is one line,
// for grep. Finish tells of output that fails.
func (a *App) Table(t *ui.Table) {
	width := ui.Width(a.Stdout)
	if !ui.IsTerminal(a.Stdout) {
		width = math.MaxInt32
	}
	io.WriteString(a.Stdout, t.Text(width, "", ui.Painter(ui.Colour(a.Stdout))))
}
