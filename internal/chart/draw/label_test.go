package draw

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/chart"
)

// TestNastyNames: a name that a host or a recorded series chose leaves a
// picture well-formed, and holds no markup.
func TestNastyNames(t *testing.T) {
	const nasty = "\x1b[31m<script>alert(1)</script>&\x00\xff\u202e"
	var curves, bars bytes.Buffer
	err := Write(
		&curves,
		chart.Plot{Title: nasty, X: nasty, Y: nasty, Curves: []chart.Curve{{Name: nasty, X: []float64{1, 2}, Y: []float64{1, 2}}}},
		"svg",
	)
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

// TestFilesWhole: a picture that cannot be drawn leaves the old one.
func TestFilesWhole(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "a-b.svg")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	bad := chart.Plot{Name: "b", LogX: true, Curves: []chart.Curve{{Name: "c", X: []float64{0, 1}, Y: []float64{1, 2}}}}
	if _, err := Files(dir, "a", bad); err == nil {
		t.Fatal("a logarithm of nothing was drawn")
	}
	if b, err := os.ReadFile(old); string(b) != "old" {
		t.Errorf("there is now %q, %v", b, err)
	}
	good := bad
	good.LogX = false
	made, err := Files(dir, "a", good)
	if es, _ := os.ReadDir(dir); err != nil || len(made) != 2 || len(es) != 2 {
		t.Errorf("made %v, %v; there are %v", made, err, es)
	}
}
