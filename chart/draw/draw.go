// Package draw draws the plots of package chart as SVG and PNG.
package draw

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"fettle/chart"
)

// Okabe and Ito's colours can be told apart by those who see red and green
// alike; the dashes tell the curves apart in black and white.
var (
	colours = []color.NRGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255},
		{204, 121, 167, 255}, {230, 159, 0, 255}}
	dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)}}
)

const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter

// Write draws p in a format that gonum/plot knows: "svg" or "png".
func Write(w io.Writer, p chart.Plot, format string) error {
	g := plot.New()
	g.Title.Text, g.X.Label.Text, g.Y.Label.Text = label(p.Title), label(p.X), label(p.Y)
	g.Title.Padding, g.Legend.Top, g.Legend.Left = vg.Points(6), true, true
	g.Legend.Padding, g.Legend.XOffs = vg.Points(2), vg.Points(6)
	g.Add(plotter.NewGrid())
	n := 0 // lines drawn: points take the colour of the line that follows
	for _, c := range p.Curves {
		if len(c.X) != len(c.Y) {
			return fmt.Errorf("drawing %s: curve %s has %d values of x and %d of y", p.Name, c.Name, len(c.X), len(c.Y))
		}
		xy := make(plotter.XYs, len(c.X))
		for j := range c.X {
			xy[j].X, xy[j].Y = c.X[j], c.Y[j]
		}
		if len(xy) == 0 {
			continue
		}
		if c.Points {
			s, err := plotter.NewScatter(xy)
			if err != nil {
				return fmt.Errorf("drawing %s: points %s: %w", p.Name, c.Name, err)
			}
			faint := colours[n%len(colours)]
			faint.A = 70
			s.Shape, s.Radius, s.Color = vgdraw.CircleGlyph{}, vg.Points(1.2), color.NRGBA(faint)
			g.Add(s)
			continue
		}
		l, err := plotter.NewLine(xy)
		if err != nil {
			return fmt.Errorf("drawing %s: curve %s: %w", p.Name, c.Name, err)
		}
		l.Width, l.Color, l.Dashes = vg.Points(1.8), colours[n%len(colours)], dashes[n%len(dashes)]
		g.Add(l)
		g.Legend.Add(label(c.Name), l)
		n++
	}
	g.Y.Min = min(g.Y.Min, 0)
	if p.LogX {
		if g.X.Min <= 0 {
			return fmt.Errorf("drawing %s: a logarithmic axis starts above 0, not at %g", p.Name, g.X.Min)
		}
		g.X.Scale, g.X.Tick.Marker = plot.LogScale{}, doublings{}
	} else {
		g.X.Min = min(g.X.Min, 0)
	}
	// Room above the curves for the legend.
	g.Y.Max += (g.Y.Max - g.Y.Min) * (0.08 + 0.07*float64(n))
	to, err := g.WriterTo(width, height, format)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", p.Name, err)
	}
	_, err = to.WriteTo(w)
	return err
}

// Files draws p as base-NAME.svg and base-NAME.png in dir, and returns their paths.
func Files(dir, base string, p chart.Plot) ([]string, error) {
	var out []string
	for _, format := range []string{"svg", "png"} {
		name := filepath.Join(dir, base+"-"+p.Name+"."+format)
		f, err := os.Create(name)
		if err != nil {
			return out, err
		}
		err = Write(f, p, format)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return out, err
		}
		out = append(out, name)
	}
	return out, nil
}
