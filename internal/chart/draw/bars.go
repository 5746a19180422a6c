package draw

import (
	"fmt"
	"io"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"fettle/internal/chart"
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
		texts, err := plotter.NewLabels(plotter.XYLabels{XYs: make(plotter.XYs, n), Labels: make([]string, n)})
		if err != nil {
			return fmt.Errorf("drawing %s: %w", b.Name, err)
		}
		for at, v := range values {
			texts.XYs[at] = plotter.XY{X: v + max(spread.XErrors[at].High, 0), Y: float64(at)}
			texts.Labels[at] = " " + chart.Short(v)
			texts.TextStyle[at].Font.Typeface, texts.TextStyle[at].Font.Variant = sans.Typeface, sans.Variant
			texts.TextStyle[at].YAlign = text.YCenter
		}
		grid := plotter.NewGrid()
		grid.Horizontal.Width = 0 // through the values
		g.Add(grid, bars, reach, texts)
		g.NominalY(names...)
	}
	g.X.Min = 0
	g.X.Max += (g.X.Max - g.X.Min) * 0.15 // room for the longest bar's value
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
