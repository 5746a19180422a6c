package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fettle/internal/means"
)

func curve(name string, xy ...float64) Curve {
	c := Curve{Name: name}
	for i := 0; i < len(xy); i += 2 {
		c.X, c.Y = append(c.X, xy[i]), append(c.Y, xy[i+1])
	}
	return c
}

// TestTextShapes: straight lines in a picture of 17 columns and 9 lines are where one would draw them.
func TestTextShapes(t *testing.T) {
	for name, c := range map[string]struct {
		plot Plot
		want string
	}{
		"rises": {Plot{Title: "t", X: "s", Curves: []Curve{curve("c", 0, 0, 16, 8)}}, `t
      8 |               AA
        |             AA
        |           AA
        |         AA
      4 |       AA
        |     AA
        |   AA
        | AA
      0 |A
        +-----------------
         0      s       16
         A  c
`},
		"below nothing too": {Plot{Title: "t", X: "s", Curves: []Curve{curve("c", 0, 4, 8, -4, 16, 4)}}, `t
      4 |A               A
        | A             A
        |  A           A
        |   A         A
      0 |    A       A
        |     A     A
        |      A   A
        |       A A
     -4 |        A
        +-----------------
         0      s       16
         A  c
`},
		"begins far from 0": {Plot{Title: "t", Y: "y", Curves: []Curve{curve("c", 1000, 8, 1016, 8)}}, `t (y)
      8 |AAAAAAAAAAAAAAAAA
        |
        |
        |
      4 |
        |
        |
        |
      0 |
        +-----------------
         1000         1016
         A  c
`},
		"begins near 0": {Plot{Title: "t", Curves: []Curve{curve("c", 10, 8, 320, 8)}}, `t
      8 | AAAAAAAAAAAAAAAA
        |
        |
        |
      4 |
        |
        |
        |
      0 |
        +-----------------
         0             320
         A  c
`},
		"of one point": {Plot{Title: "t", X: "s", Curves: []Curve{curve("c", 5, 8)}}, `t
      8 |A
        |
        |
        |
      4 |
        |
        |
        |
      0 |
        +-----------------
         5       s       5
         A  c
`},
		"logarithmic, of one point": {Plot{Title: "t", X: "s", LogX: true, Curves: []Curve{curve("c", 5, 8)}}, `t
      8 |A
        |
        |
        |
      4 |
        |
        |
        |
      0 |
        +-----------------
         5 s, logarithmic 5
         A  c
`},
		"logarithmic": {Plot{Title: "t", X: "", LogX: true, Curves: []Curve{curve("c", 1, 0, 16, 8, 256, 0)}}, `t
      8 |        A
        |       A A
        |      A   A
        |     A     A
      4 |    A       A
        |   A         A
        |  A           A
        | A             A
      0 |A               A
        +-----------------
         1 , logarithmic 256
         A  c
`},
		"of zeroes": {Plot{Title: "t", X: "s", Curves: []Curve{curve("c", 0, 0, 16, 0)}}, `t
      1 |
        |
        |
        |
    0.5 |
        |
        |
        |
      0 |AAAAAAAAAAAAAAAAA
        +-----------------
         0      s       16
         A  c
`},
	} {
		if got := text(t, c.plot); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// text is a small picture of p, which must not take long.
func text(t *testing.T, p Plot) string {
	t.Helper()
	var got string
	means.Within(t, fmt.Sprintf("drawing %+v", p), func() { got = p.Text(26, 9) })
	return got
}

// body is the lines of a picture without their numbers, down to the axis.
func body(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if _, of, ok := strings.Cut(line, "|"); ok {
			out = append(out, strings.TrimSuffix(of, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

// TestTextOrder: where curves meet the first one shows, and points lie below all of them.
func TestTextOrder(t *testing.T) {
	points := curve("c", 0, 0, 4, 4, 8, 8)
	points.Points = true
	p := Plot{Curves: []Curve{points, curve("falls", 0, 8, 16, 0), curve("flat", 0, 4, 16, 4), curve("too", 0, 4, 16, 4)}}
	want := strings.Join([]string{
		"AA      .",
		"  AA",
		"    AA",
		"      AA",
		"BBBBBBBBAABBBBBBB",
		"          AA",
		"            AA",
		"              AA",
		".               A",
	}, "\n")
	if got := body(p.Text(26, 9)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTextLeavesOutWhatItCannotDraw: curves without values, or with more of one than of the other, have no letter.
func TestTextLeavesOutWhatItCannotDraw(t *testing.T) {
	odd := Curve{Name: "odd", X: []float64{0, 1}, Y: []float64{1}}
	oddPoints := Curve{Name: "c", X: []float64{0, 1, 2}, Y: []float64{900}, Points: true}
	p := Plot{Title: "t", Curves: []Curve{{Name: "empty"}, odd, oddPoints, curve("good", 0, 1, 1, 1)}}
	if got := p.Text(26, 4); !strings.HasSuffix(got, "\n         A  good\n") || strings.Contains(got, "odd") ||
		strings.Contains(got, "empty") ||
		!strings.Contains(got, "\n      1 |AAAAAAAAAAAAAAAAA\n") {
		t.Error(got)
	}
	for _, curves := range [][]Curve{{{Name: "empty"}}, {odd}, {{Name: "p", X: []float64{1}, Y: []float64{1}, Points: true}}} {
		if got := (Plot{Title: "t", Curves: curves}).Text(26, 4); got != "t: nothing to draw\n" {
			t.Errorf("%+v: %q", curves, got)
		}
	}
	var many []Curve
	for i := range 30 { // there are 26 letters
		many = append(many, curve(fmt.Sprint(i), 0, float64(i), 1, float64(i)))
	}
	if got := (Plot{Title: "t", Curves: many}).Text(26, 40); !strings.HasSuffix(got, "\n         Z  25\n") {
		t.Error(got)
	}
}

// TestTextSparesOutliers: the few points that lie far above all others do not flatten the curves.
func TestTextSparesOutliers(t *testing.T) {
	points := Curve{Name: "c", Points: true}
	for i := range 200 {
		points.X, points.Y = append(points.X, float64(i)), append(points.Y, 10)
	}
	points.Y[50], points.Y[60], points.Y[70] = 1000, 1000, math.Inf(1)
	points.Y[80], points.Y[90] = math.NaN(), math.Inf(-1)
	p := Plot{Title: "t", Curves: []Curve{points, curve("c", 0, 5, 199, 5)}}
	if got := p.Text(26, 9); !strings.Contains(got, "\n     10 |.................\n") ||
		!strings.Contains(got, "\n      5 |AAAAAAAAAAAAAAAAA\n") {
		t.Error(got)
	}
	for i := range 5 {
		points.Y[i] = 40 // too many to leave out
	}
	if got := p.Text(26, 9); !strings.Contains(got, "\n     40 |.") {
		t.Error(got)
	}
}

// TestTextRoundsItsNumbers to what a line or a column of the picture tells apart.
func TestTextRoundsItsNumbers(t *testing.T) {
	p := Plot{Title: "t", X: "seconds", Curves: []Curve{curve("c", 3.004, 1234.56, 1999.7, 0.2)}}
	got := p.Text(66, 9)
	for _, want := range []string{"\n   1200 |A", "\n    600 |", "\n      0 |", "\n         0  ", "  2000\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	p.LogX = true
	if got := p.Text(66, 9); !strings.Contains(got, "\n         3    ") || !strings.Contains(got, "   seconds, logarithmic   ") ||
		!strings.Contains(got, "  2000\n") {
		t.Error(got)
	}
	small := Plot{Title: "t", Curves: []Curve{curve("c", 0.0105, 0.00049, 0.0194, 0.00051)}}
	if got := small.Text(26, 5); !strings.Contains(got, "\n 0.0005 |AAAA") || !strings.Contains(got, "\n         0.0105     0.0194\n") {
		t.Error(got)
	}
}

func TestShort(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.001: "0.001", 0.00099: "0.00099", 0.000123: "0.00012", -0.000123: "-0.00012", 0.12345: "0.123", 1: "1", 99.96: "100",
		99.94: "99.9",
		100:   "100", 100.4: "100", 123.5: "124", -100.5: "-100", 999_999: "999999", 1_000_000: "1e+06", 1_234_567: "1.2e+06", -2e9: "-2e+09",
		-1: "-1", -12.34: "-12.3",
	} {
		if got := Short(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

func TestRoundedToWhatCanBeTold(t *testing.T) {
	for _, c := range []struct{ f, step, want float64 }{
		{1234.56, 0, 1234.56}, {1234.56, math.NaN(), 1234.56}, {1234.56, 1, 1235}, {1234.56, 9.99, 1235}, {1234.56, 10, 1230},
		{1234.56, 250, 1200},
		{1234.56, 0.5, 1234.6}, {1234.56, 0.01, 1234.56}, {-3e-11, 0.1, 0}, {-1234.56, 10, -1230}, {1234.56, -1, 1234.56},
	} {
		if got := to(c.f, c.step); got != c.want || math.Signbit(got) != math.Signbit(c.want) {
			t.Errorf("%v by steps of %v: %v, want %v", c.f, c.step, got, c.want)
		}
	}
}
