package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// marks are those of the curves, in order: a serial console has them all.
const marks = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Text draws p in plain characters, width columns wide and height lines high
// without the legend. Each curve has a letter; where several meet, the first
// one shows. Faint points are dots, where no curve is; the few that lie far
// above all curves are left out.
func (p Plot) Text(width, height int) string {
	const margin = 8 // for the numbers at the left
	w, h := max(width-margin-1, 16), max(height, 4)
	var curves, points []Curve
	for _, c := range p.Curves {
		switch {
		case c.Points && len(c.X) == len(c.Y):
			points = append(points, c)
		case !c.Points && len(c.X) > 0 && len(c.X) == len(c.Y) && len(curves) < len(marks):
			curves = append(curves, c)
		}
	}
	if len(curves) == 0 {
		return p.Title + ": nothing to draw\n"
	}
	at := func(x float64) float64 {
		if p.LogX {
			return math.Log(x)
		}
		return x
	}
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), 0.0, math.Inf(-1)
	for _, c := range curves {
		for i := range c.X {
			x0, x1 = min(x0, c.X[i]), max(x1, c.X[i])
			y0, y1 = min(y0, c.Y[i]), max(y1, c.Y[i])
		}
	}
	y1 = max(y1, most(points))
	if !p.LogX && x0 > 0 && x0 < x1/20 {
		x0 = 0
	}
	if y1 <= y0 {
		y1 = y0 + 1
	}
	grid := make([][]byte, h)
	for i := range grid {
		grid[i] = []byte(strings.Repeat(" ", w))
	}
	column := func(x float64) int {
		if x1 <= x0 {
			return 0
		}
		return int((at(x)-at(x0))/(at(x1)-at(x0))*float64(w-1) + 0.5)
	}
	row := func(y float64) int { return h - 1 - int((y-y0)/(y1-y0)*float64(h-1)+0.5) }
	for _, c := range points {
		for i := range c.X {
			if r, col := row(c.Y[i]), column(c.X[i]); r >= 0 && r < h && col >= 0 && col < w {
				grid[r][col] = '.'
			}
		}
	}
	for n := len(curves) - 1; n >= 0; n-- {
		c := curves[n]
		for i := range c.X {
			from, to := column(c.X[i]), column(c.X[min(i+1, len(c.X)-1)])
			for col := from; col <= max(from, to-1); col++ {
				y := c.Y[i]
				if to > from {
					y += (c.Y[min(i+1, len(c.Y)-1)] - y) * float64(col-from) / float64(to-from)
				}
				if r := row(y); r >= 0 && r < h && col >= 0 && col < w {
					grid[r][col] = marks[n]
				}
			}
		}
	}
	var b strings.Builder
	title := p.Title
	if p.Y != "" { // there is no room beside the numbers
		title += " (" + p.Y + ")"
	}
	fmt.Fprintf(&b, "%s\n", title)
	for i, line := range grid {
		label := ""
		if i%4 == 0 || i == h-1 {
			label = Short(to(y1-(y1-y0)*float64(i)/float64(h-1), (y1-y0)/float64(h-1)))
		}
		fmt.Fprintf(&b, "%*s |%s\n", margin-1, label, strings.TrimRight(string(line), " "))
	}
	fmt.Fprintf(&b, "%*s +%s\n", margin-1, "", strings.Repeat("-", w))
	lo, hi := Short(x0), Short(x1)
	if !p.LogX {
		lo, hi = Short(to(x0, (x1-x0)/float64(w))), Short(to(x1, (x1-x0)/float64(w)))
	}
	axis := p.X
	if p.LogX {
		axis += ", logarithmic"
	}
	gap := max(w-len(lo)-len(hi)-utf8.RuneCountInString(axis), 2)
	fmt.Fprintf(&b, "%*s%s%*s%s%*s%s\n", margin+1, "", lo, gap/2, "", axis, gap-gap/2, "", hi)
	for n, c := range curves {
		fmt.Fprintf(&b, "%*s%c  %s\n", margin+1, "", marks[n], c.Name)
	}
	return b.String()
}

// to rounds f to the power of ten below step: what a line of the picture cannot
// tell apart is not written, and the last line is 0 where the numbers' errors
// made it -3e-11.
func to(f, step float64) float64 {
	if !(step > 0) {
		return f
	}
	digits := math.Floor(math.Log10(step))
	if unit := math.Pow(10, math.Abs(digits)); digits >= 0 {
		f = math.Round(f/unit) * unit
	} else {
		f = math.Round(f*unit) / unit
	}
	return f + 0 // no -0
}

// most is what 98 of 100 points stay below.
func most(points []Curve) float64 {
	var all []float64
	for _, c := range points {
		for _, y := range c.Y {
			if !math.IsNaN(y) && !math.IsInf(y, 0) {
				all = append(all, y)
			}
		}
	}
	if len(all) == 0 {
		return math.Inf(-1)
	}
	slices.Sort(all)
	return all[len(all)*98/100]
}

// Short writes a number in at most 7 characters where it can.
func Short(f float64) string {
	if a := math.Abs(f); a >= 1e6 || a > 0 && a < 0.001 {
		return fmt.Sprintf("%.2g", f)
	} else if a >= 100 {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.3g", f)
}
