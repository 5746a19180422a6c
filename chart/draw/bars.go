package draw

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"fettle/chart"
)

// WriteBars draws b in a format that gonum/plot knows: "svg" or "png". A thin
// line over each bar reaches from its lowest to its highest reading.
func WriteBars(w io.Writer, b chart.Bars, format string) error {
	g := newPlot()
	g.Title.Text, g.X.Label.Text = label(b.Title), label(b.X)
	n := len(b.Bars)
	values, names := make(plotter.Values, n), make([]string, n)
	spread := errorBars{make(plotter.XYs, n), make(plotter.XErrors, n)}
	for i, bar := range b.Bars {
		at := n - 1 - i // gonum counts from below
		values[at], names[at] = bar.Value, label(bar.Name)
		spread.XYs[at].X, spread.XYs[at].Y = bar.Value, float64(at)
		spread.XErrors[at].Low, spread.XErrors[at].High = bar.Low-bar.Value, bar.High-bar.Value
	}
	if n > 0 {
		bars, err := plotter.NewBarChart(values, height/vg.Length(n)*0.45)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", b.Name, err)
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, colours[0], 0
		reach, err := plotter.NewXErrorBars(spread)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", b.Name, err)
		}
		reach.Color, reach.Width = colours[1], vg.Points(1)
		g.Add(plotter.NewGrid(), bars, reach)
		g.NominalY(names...)
	}
	g.X.Min = 0
	canvas, all, err := paper(height, format)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", b.Name, err)
	}
	g.Draw(vgdraw.Crop(all, margin, -2*margin, margin, -margin))
	_, err = canvas.WriteTo(w)
	return err
}

type errorBars struct {
	plotter.XYs
	plotter.XErrors
}

// BarsText draws b in lines of at most width characters, each with its value.
// full is the character that bars are made of: "#" where nothing else is sure
// to be shown. A value too small for one has no bar.
func BarsText(b chart.Bars, width int, full string) string {
	longest, most := 0, 0.0
	for _, bar := range b.Bars {
		longest, most = max(longest, utf8.RuneCountInString(bar.Name)), max(most, bar.Value)
	}
	room := max(width-longest-len("    99999.99  "), 8)
	var out strings.Builder
	for _, bar := range b.Bars {
		n := 0
		if most > 0 {
			n = int(bar.Value/most*float64(room) + 0.5)
		}
		line := fmt.Sprintf("  %-*s  %8.2f  %s", longest, bar.Name, bar.Value, strings.Repeat(full, n))
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
