// Package chart describes what fettle draws, curves over one pair of axes, as
// plain data. Package internal/chart/draw writes them to files.
package chart

// DrawVerb FORMAT is fettle-lab's hidden verb that draws the Picture, as JSON on
// its standard input: "svg" or "png".
const DrawVerb = "__draw"

// Picture is one of the two.
type Picture struct {
	Plot *Plot `json:"plot,omitempty"`
	Bars *Bars `json:"bars,omitempty"`
}

// Plot is curves over one pair of axes.
type Plot struct {
	Name   string  `json:"name"`  // part of its file's name: "saved"
	Title  string  `json:"title"` // above it
	X      string  `json:"x"`     // axis with its unit: "seconds"
	Y      string  `json:"y"`
	LogX   bool    `json:"log_x,omitempty"` // equal ratios of x are equally far apart; x is above 0
	Curves []Curve `json:"curves"`
}

// Curve is one line of a plot.
type Curve struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
	// Points draws the values as faint points instead of a line: raw readings
	// under a smoothed curve. They take the colour of the curve that follows
	// and have no line in the legend.
	Points bool `json:"points,omitempty"`
}
