// Package draw draws the plots of package chart as SVG and PNG.
package draw

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"fettle/internal/chart"
	"fettle/internal/files"
)

// Okabe and Ito's colours can be distinguished by those who see red and green
// alike; the dashes tell the curves apart in black and white.
var (
	colours = []color.NRGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255},
		{204, 121, 167, 255}, {230, 159, 0, 255}}
	dashes = [][]vg.Length{
		nil,
		{vg.Points(6), vg.Points(3)},
		{vg.Points(2), vg.Points(2)},
		{vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)},
	}
)

const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter

// sans is how the texts are set: pages around a picture are.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// newPlot is a plot whose texts are all in sans.
func newPlot() *plot.Plot {
	g := plot.New()
	for _, f := range []*font.Font{&g.Title.TextStyle.Font, &g.X.Label.TextStyle.Font, &g.Y.Label.TextStyle.Font,
		&g.X.Tick.Label.Font, &g.Y.Tick.Label.Font, &g.Legend.TextStyle.Font} {
		f.Typeface, f.Variant = sans.Typeface, sans.Variant
	}
	g.Title.Padding, g.Title.TextStyle.Font.Size = vg.Points(6), vg.Points(13)
	g.X.Tick.Marker, g.Y.Tick.Marker = round{}, round{}
	return g
}

// Write draws p in a format that gonum/plot knows: "svg" or "png". The legend
// is below, so that it hides nothing; the height grows with it.
func Write(w io.Writer, p chart.Plot, format string) error {
	g := newPlot()
	g.Title.Text, g.X.Label.Text, g.Y.Label.Text = label(p.Title), label(p.X), label(p.Y)
	g.Add(plotter.NewGrid())
	var lines []*plotter.Line
	var names []string
	for _, c := range p.Curves {
		if len(c.X) != len(c.Y) {
			return fmt.Errorf("drawing %s: curve %s has %d values of x and %d of y", p.Name, c.Name, len(c.X), len(c.Y))
		}
		xy := make(plotter.XYs, len(c.X))
		for j := range c.X {
			xy[j].X, xy[j].Y = c.X[j], c.Y[j]
		}
		n := len(lines) // points take the colour of the line that follows
		switch {
		case len(xy) == 0:
		case c.Points:
			s, err := plotter.NewScatter(xy)
			if err != nil {
				return fmt.Errorf("drawing %s: points %s: %w", p.Name, c.Name, err)
			}
			faint := colours[n%len(colours)]
			faint.A = 70
			s.Shape, s.Radius, s.Color = vgdraw.CircleGlyph{}, vg.Points(1.2), color.NRGBA(faint)
			g.Add(s)
		default:
			l, err := plotter.NewLine(xy)
			if err != nil {
				return fmt.Errorf("drawing %s: curve %s: %w", p.Name, c.Name, err)
			}
			l.Width, l.Color, l.Dashes = vg.Points(1.8), colours[n%len(colours)], dashes[n%len(dashes)]
			lines, names = append(lines, l), append(names, label(c.Name))
		}
	}
	for _, l := range lines { // over all points
		g.Add(l)
	}
	g.Y.Min = min(g.Y.Min, 0)
	if p.LogX {
		if g.X.Min <= 0 {
			return fmt.Errorf("drawing %s: a logarithmic axis starts above 0, not at %g", p.Name, g.X.Min)
		}
		g.X.Scale, g.X.Tick.Marker = plot.LogScale{}, doublings{}
	} else {
		g.X.Min = min(g.X.Min, 0)
		g.X.Max += (g.X.Max - g.X.Min) * 0.005 // a mark at the very end
	}
	g.Y.Max += (g.Y.Max - g.Y.Min) * 0.04
	columns, below := legends(g.Legend, names, lines)
	canvas, all, err := paper(height+below, format)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", p.Name, err)
	}
	g.Draw(vgdraw.Crop(all, margin, -2*margin, below, -margin))
	for i, l := range columns {
		part := (width - legendLeft) * vg.Length(i) / vg.Length(len(columns))
		l.Draw(vgdraw.Crop(all, legendLeft+part, 0, 0, below-all.Max.Y+all.Min.Y))
	}
	_, err = canvas.WriteTo(w)
	return err
}

const (
	margin     = 4 // points
	legendLeft = 1 * vg.Centimeter
	others     = 1.2 // how much wider the viewer's own sans may be
	pngDPI     = 160
)

// paper is a white canvas of the format.
func paper(high vg.Length, format string) (vg.CanvasWriterTo, vgdraw.Canvas, error) {
	var canvas vg.CanvasWriterTo
	var err error
	if format == "png" { // gonum's own is of 96 dots an inch
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, high), vgimg.UseDPI(pngDPI))}
	} else if canvas, err = vgdraw.NewFormattedCanvas(width, high, format); err != nil {
		return nil, vgdraw.Canvas{}, err
	}
	all := vgdraw.NewCanvas(canvas, width, high)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	return canvas, all, nil
}

// legends lays the legend out in as many columns as the names leave room for,
// and tells how high that is.
func legends(like plot.Legend, names []string, lines []*plotter.Line) (columns []plot.Legend, high vg.Length) {
	like.Top, like.Left, like.Padding = true, true, vg.Points(2)
	longest, row := vg.Length(0), vg.Length(0)
	for _, n := range names {
		box := like.TextStyle.Rectangle(n)
		longest, row = max(longest, box.Max.X*others), max(row, box.Max.Y)
	}
	n := min(max(1, int((width-legendLeft)/(longest+like.ThumbnailWidth+vg.Points(12)))), 4, max(1, len(names)))
	rows := (len(names) + n - 1) / n
	columns = make([]plot.Legend, n)
	for i := range columns {
		columns[i] = like
	}
	for i, name := range names {
		columns[i/max(rows, 1)].Add(name, lines[i])
	}
	if rows > 0 {
		high = (row+like.Padding)*vg.Length(rows) + vg.Points(10)
	}
	return columns, high
}

// Files draws p as base-NAME.svg and base-NAME.png in dir, each whole or not at
// all, and returns their paths.
func Files(dir, base string, p chart.Plot) ([]string, error) {
	var out []string
	for _, format := range []string{"svg", "png"} {
		name := filepath.Join(dir, base+"-"+p.Name+"."+format)
		var b bytes.Buffer
		err := Write(&b, p, format)
		if err == nil {
			err = files.WriteFile(name, b.Bytes(), 0o644)
		}
		if err != nil {
			return out, err
		}
		out = append(out, name)
	}
	return out, nil
}
