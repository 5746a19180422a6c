package chart

import (
	"math"
	"strings"
	"testing"
)

var hyperbola = Plot{Name: "h", Title: "One over x", X: "x", Y: "y", LogX: true, Curves: []Curve{
	{Name: "falls", X: []float64{1, 2, 4, 8, 16}, Y: []float64{1, 0.5, 0.25, 0.125, 0.0625}},
	{Name: "stays", X: []float64{1, 16}, Y: []float64{1, 1}},
}}

func TestText(t *testing.T) {
	got := hyperbola.Text(40, 5)
	// Numbers stand at every fourth line and the last.
	want := `One over x (y)
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

// TestTextAxis: the numbers at the axis are round, and its end is 0.
func TestTextAxis(t *testing.T) {
	p := Plot{Title: "t", X: "s", Curves: []Curve{{Name: "c", X: []float64{0, 719.98}, Y: []float64{12.3, 160093.4}}}}
	got := p.Text(60, 16)
	for _, want := range []string{" 160000 |", "      0 |", " 0 ", " 720\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, bad := range []string{"e-", "160093", "-0 |"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q in\n%s", bad, got)
		}
	}
}

func TestTextOfNothing(t *testing.T) {
	for _, p := range []Plot{{Title: "none"}, {Title: "one", Curves: []Curve{{Name: "c", X: []float64{3}, Y: []float64{0}}}}} {
		if got := p.Text(1, 1); !strings.HasPrefix(got, p.Title) {
			t.Errorf("%q", got)
		}
	}
}

func TestTextPoints(t *testing.T) {
	p := Plot{Title: "t", X: "s", Curves: []Curve{
		{Name: "c", Points: true, X: []float64{0, 1, 2, 3}, Y: []float64{4, 2, 0, 2}},
		{Name: "c", X: []float64{0, 3}, Y: []float64{2, 2}},
	}}
	want := "t\n" +
		"      4 |.\n" +
		"        |\n" +
		"        |AAAAAAAAAAAAAAAA\n" +
		"        |\n" +
		"      0 |          .\n"
	if got := p.Text(20, 5); !strings.HasPrefix(got, want) || strings.Count(got, " c\n") != 1 {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	p.Curves[0].Y = []float64{math.NaN(), math.Inf(1), -1e300, 1e300}
	p.Text(20, 5) // no place for them
}

var phases = Bars{Name: "login", Title: "web1 <&>", X: "seconds", Bars: []Bar{
	{Name: "connect", Value: 0.02, Low: 0.01, High: 0.03},
	{Name: "auth none", Value: 1, Low: 0.9, High: 1.4},
	{Name: "session open", Value: 0.5, Low: 0.5, High: 0.5},
}}

func TestBarsText(t *testing.T) {
	want := "  connect           0.02  #\n" +
		"  auth none         1.00  ##################################\n" +
		"  session open      0.50  #################\n"
	if got := phases.Text(60, "#"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for line := range strings.Lines(phases.Text(40, "#")) {
		if len(line) > 41 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	if got := (Bars{Bars: []Bar{{Name: "a"}}}).Text(80, "#"); got != "  a      0.00\n" {
		t.Errorf("a bar of nothing: %q", got)
	}
}
