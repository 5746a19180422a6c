package draw

import (
	"bytes"
	"strings"
	"testing"

	"fettle/chart"
)

var hyperbola = chart.Plot{Name: "h", Title: "One over x", X: "x", Y: "y", LogX: true, Curves: []chart.Curve{
	{Name: "falls", X: []float64{1, 2, 4, 8, 16}, Y: []float64{1, 0.5, 0.25, 0.125, 0.0625}},
	{Name: "stays", X: []float64{1, 16}, Y: []float64{1, 1}},
}}

func TestText(t *testing.T) {
	got := Text(hyperbola, 40, 5)
	// Numbers stand at every fourth line and the last.
	want := `One over x
      1 |AAABBBBBBBBBBBBBBBBBBBBBBBBBBBB
        |   AAAA
        |       AAAAA
        |            AAAAAAAAAAAA
      0 |                        AAAAAAA
        +-------------------------------
         1       x, logarithmic       16
         A  falls
         B  stays
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(got) {
		if len(line) > 41 {
			t.Errorf("%d columns: %q", len(line)-1, line)
		}
	}
}

func TestTextOfNothing(t *testing.T) {
	for _, p := range []chart.Plot{{Title: "none"}, {Title: "one", Curves: []chart.Curve{{Name: "c", X: []float64{3}, Y: []float64{0}}}}} {
		if got := Text(p, 1, 1); !strings.HasPrefix(got, p.Title) {
			t.Errorf("%q", got)
		}
	}
}

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
