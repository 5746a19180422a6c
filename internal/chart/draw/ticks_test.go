package draw

import (
	"bytes"
	"strings"
	"testing"

	"fettle/internal/chart"
)

var hyperbola = chart.Plot{Name: "h", Title: "One over x", X: "x", Y: "y", LogX: true, Curves: []chart.Curve{
	{Name: "falls", X: []float64{1, 2, 4, 8, 16}, Y: []float64{1, 0.5, 0.25, 0.125, 0.0625}},
}}

func TestLogarithmicFile(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, hyperbola, "svg"); err != nil || !strings.Contains(b.String(), "falls") {
		t.Fatalf("%v", err)
	}
	bad := hyperbola
	bad.Curves = []chart.Curve{{Name: "c", X: []float64{0, 1}, Y: []float64{0, 1}}}
	if err := Write(&b, bad, "svg"); err == nil {
		t.Error("an axis from 0 was drawn logarithmically")
	}
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 5200, "0 1000 2000 3000 4000 5000"}, {0, 15, "0 2.5 5 7.5 10 12.5 15"}, {0, 0.9, "0 0.25 0.5 0.75"},
		{-3, 3, "-3 -2 -1 0 1 2 3"}, {0, 1, "0 0.25 0.5 0.75 1"},
		{0, 100, "0 25 50 75 100"}, {5, 5, "5"}, {0, 3.2e9, "0 5e+08 1e+09 1.5e+09 2e+09 2.5e+09 3e+09"},
	} {
		var got []string
		for _, tick := range (round{}).Ticks(c.lo, c.hi) {
			got = append(got, tick.Label)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%g to %g: %s, want %s", c.lo, c.hi, s, c.want)
		}
	}
}
