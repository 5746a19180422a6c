package draw

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"fettle/chart"
)

// TestNastyNames: a name that a host or a recorded series chose leaves a
// picture well-formed, and holds no markup.
func TestNastyNames(t *testing.T) {
	const nasty = "\x1b[31m<script>alert(1)</script>&\x00\xff\u202e"
	var curves, bars bytes.Buffer
	err := Write(&curves, chart.Plot{Title: nasty, X: nasty, Y: nasty, Curves: []chart.Curve{{Name: nasty, X: []float64{1, 2}, Y: []float64{1, 2}}}}, "svg")
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteBars(&bars, chart.Bars{Title: nasty, X: nasty, Bars: []chart.Bar{{Name: nasty, Value: 1}}}, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*bytes.Buffer{&curves, &bars} {
		if s := b.String(); strings.Contains(s, "<script>") || strings.ContainsAny(s, "\x1b\x00\u202e") {
			t.Errorf("a name is in the picture as it was: %s", s)
		}
		for d := xml.NewDecoder(b); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}
