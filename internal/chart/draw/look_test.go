package draw

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fettle/internal/chart"
	"fettle/internal/means"
)

func line(name string, y ...float64) chart.Curve {
	c := chart.Curve{Name: name, Y: y}
	for i := range y {
		c.X = append(c.X, float64(1+i))
	}
	return c
}

// samples are pictures of each kind, by name.
func samples() map[string]chart.Picture {
	readings := line("measured", 2, 5, 3, 8)
	readings.Points = true
	many := chart.Plot{Name: "many", Title: "Many", X: "s", Y: "n", Curves: []chart.Curve{readings, line("first", 1, 4, 9, 16)}}
	for i := range 6 {
		many.Curves = append(many.Curves, line("curve "+strconv.Itoa(i), float64(i), -float64(i)))
	}
	long := chart.Plot{Name: "long", Title: "Long names", X: "s", Curves: []chart.Curve{
		line(strings.Repeat("long name ", 4), 1, 2), line(strings.Repeat("another ", 4), 2, 1), line("short", 1)}}
	spread := chart.Bars{Name: "bars", Title: "Spread", X: "seconds", Bars: []chart.Bar{
		{Name: "one", Value: 10, Low: 8, High: 14}, {Name: "low", Value: 5, Low: 1, High: 5}, {Name: "two", Value: 2, Low: 2, High: 2.5}}}
	return map[string]chart.Picture{
		"many": {Plot: &many}, "long": {Plot: &long}, "log": {Plot: &hyperbola}, "bars": {Bars: &spread},
		"one": {Plot: &chart.Plot{Name: "one", Curves: []chart.Curve{line("alone", 3)}}},
	}
}

var fraction = regexp.MustCompile(`[0-9]+\.[0-9]+`)

// drawn is a picture as SVG, in points, with the numbers rounded to tenths.
func drawn(t *testing.T, p chart.Picture) string {
	t.Helper()
	var b bytes.Buffer
	var err error
	means.Within(t, fmt.Sprintf("drawing %+v", p), func() { err = Picture(&b, p, "svg") })
	if err != nil {
		t.Fatal(err)
	}
	return fraction.ReplaceAllStringFunc(b.String(), func(s string) string {
		f, _ := strconv.ParseFloat(s, 64)
		return strconv.FormatFloat(f, 'f', 1, 64)
	})
}

// TestPictures holds the drawings against those that were looked at.
func TestPictures(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"many", "long", "log", "bars", "one"} {
		fmt.Fprintf(&all, "<!-- %s -->\n%s", name, drawn(t, samples()[name]))
	}
	means.Written(t, "testdata/pictures.txt", all.String())
}

// TestPNGs have the SVG's size, at 160 dots an inch, on white.
func TestPNGs(t *testing.T) {
	size := regexp.MustCompile(`width="([0-9.]+)pt" height="([0-9.]+)pt"`)
	for _, name := range []string{"many", "one"} {
		var b bytes.Buffer
		if err := Picture(&b, samples()[name], "png"); err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		said := size.FindStringSubmatch(drawn(t, samples()[name]))
		w, _ := strconv.ParseFloat(said[1], 64)
		h, _ := strconv.ParseFloat(said[2], 64)
		r := m.Bounds()
		if math.Abs(float64(r.Dx())-w*160/72) > 2 || math.Abs(float64(r.Dy())-h*160/72) > 2 || r.Dx() != 1008 {
			t.Errorf("%s: %v, and %s by %s points", name, r, said[1], said[2])
		}
		for _, at := range [][2]int{{0, 0}, {r.Dx() - 2, r.Dy() - 2}, {r.Dx() - 2, 0}} {
			if red, green, blue, _ := m.At(at[0], at[1]).RGBA(); red != 0xffff || green != 0xffff || blue != 0xffff {
				t.Errorf("%s: at %v it is not white", name, at)
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWhatCannotBeDrawnIsTold(t *testing.T) {
	points := chart.Curve{Name: "p", X: []float64{1}, Y: []float64{math.NaN()}, Points: true}
	plot := func(c ...chart.Curve) chart.Picture { return chart.Picture{Plot: &chart.Plot{Name: "x", Curves: c}} }
	for _, c := range []struct {
		p            chart.Picture
		format, want string
	}{
		{chart.Picture{}, "svg", "a picture of nothing"},
		{plot(chart.Curve{Name: "c", X: []float64{1, 2}, Y: []float64{1}}), "svg", "drawing x: curve c has 2 values of x and 1 of y"},
		{plot(points), "svg", "drawing x: points p: "},
		{plot(line("c", 1, math.Inf(1))), "svg", "drawing x: curve c: "},
		{plot(line("c", 1, 2)), "gif87", "drawing x: "},
		{chart.Picture{Plot: &chart.Plot{Name: "x", LogX: true, Curves: []chart.Curve{{Name: "c", X: []float64{-1, 1}, Y: []float64{1, 2}}}}},
			"svg",
			"drawing x: a logarithmic axis starts above 0, not at -1"},
		{chart.Picture{Bars: &chart.Bars{Name: "x", Bars: []chart.Bar{{Value: math.NaN()}}}}, "svg", "drawing x: "},
		{chart.Picture{Bars: &chart.Bars{Name: "x", Bars: []chart.Bar{{Value: 1, Low: math.Inf(-1), High: 1}}}}, "svg", "drawing x: "},
		{chart.Picture{Bars: &phases}, "gif87", "drawing login: "},
	} {
		if err := Picture(io.Discard, c.p, c.format); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for name, p := range map[string]chart.Picture{"curves": plot(line("c", 1, 2)), "bars": {Bars: &phases}} {
		if err := Picture(full{}, p, "svg"); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s on a full disk: %v", name, err)
		}
	}
	if made, err := Files(filepath.Join(t.TempDir(), "none"), "a", *plot(line("c", 1)).Plot); !errors.Is(err, os.ErrNotExist) ||
		len(made) > 0 {
		t.Errorf("a folder that is not there: %v, %v", made, err)
	}
}

// TestEmptyCurvesAreLeftOut, from the legend too.
func TestEmptyCurvesAreLeftOut(t *testing.T) {
	s := drawn(t, chart.Picture{Plot: &chart.Plot{Name: "x", Curves: []chart.Curve{{Name: "empty"}, line("there", 1, 2)}}})
	if strings.Contains(s, "empty") || !strings.Contains(s, "there") {
		t.Error(s)
	}
	none := drawn(t, chart.Picture{Plot: &chart.Plot{Name: "x", Title: "Nothing"}})
	if !strings.Contains(none, `height="283.5pt"`) || !strings.Contains(none, ">Nothing<") {
		t.Errorf("without curves there is no room for a legend: %s", none[:300])
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		log    bool
		lo, hi float64
		want   string
	}{
		{false, 0, 8, "0 1 2 3 4 5 6 7 8"}, {false, 0, 8.1, "0 2.5 5 7.5"}, {false, 0, 20, "0 2.5 5 7.5 10 12.5 15 17.5 20"},
		{false, 0, 20.1, "0 5 10 15 20"}, {false, 0, 39, "0 5 10 15 20 25 30 35"}, {false, 0, 4, "0 1 2 3 4"},
		{false, 0, 3.9, "0 0.5 1 1.5 2 2.5 3 3.5"},
		{false, 95, 103, "95 96 97 98 99 100 101 102 103"}, {false, 100.5, 103, "100 101 102 102 102 103"},
		{false, -20, -12, "-20 -19 -18 -17 -16 -15 -14 -13 -12"},
		{false, 3, 2, "3"}, {false, 7, 7, "7"}, {false, 0, math.Inf(1), "0"}, {false, -math.MaxFloat64, math.MaxFloat64, "-1.8e+308"},
		{false, math.NaN(), 1, "NaN"},
		{true, 1, 16, "1 2 4 8 16"}, {true, 0.25, 2, "0.25 0.5 1 2"}, {true, 3, 17, "4 8 16"}, {true, 1, 256, "1 2 4 8 16 32 64 128 256"},
		{true, 1, 512, "1 - 4 - 16 - 64 - 256 -"}, {true, 1, 1 << 17, "1 - - 8 - - 64 - - 512 - - 4096 - - 32768 - -"}, {true, 5, 7, ""},
		{true, 1, 1, "1"}, {true, 2, 1 << 9, "2 4 8 16 32 64 128 256 512"}, {true, 4, 2048, "4 - 16 - 64 - 256 - 1024 -"},
	} {
		ticks := round{}.Ticks
		if c.log {
			ticks = doublings{}.Ticks
		}
		var got []string
		for _, tick := range ticks(c.lo, c.hi) {
			l := tick.Label
			if l == "" {
				l = "-"
			}
			got = append(got, l)
			if tick.Value < c.lo-1e-9 || tick.Value > c.hi+1e-9 && c.hi >= c.lo {
				t.Errorf("%g to %g: a mark at %g", c.lo, c.hi, tick.Value)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%g to %g: %s, want %s", c.lo, c.hi, s, c.want)
		}
	}
}
