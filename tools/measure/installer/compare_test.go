package installer

import (
	"testing"
	"time"
)

// A run is compared with the first, phase by phase; the first, phases that it
// has not, and what was not timed on either side are not.
func TestCompare(t *testing.T) {
	timed := func(name string, took time.Duration) Phase { return Phase{Name: name, Took: took, Done: true} }
	packages := timed("packages", 64*time.Minute)
	faster := timed("packages", 44*time.Minute)
	got := Compare([]Run{
		{
			Name:     "a",
			Packages: &packages,
			Phases:   []Phase{timed("x", 2*time.Minute), timed("x", 2*time.Minute), {Name: "open"}, timed("instant", 0)},
		},
		{
			Name:     "b",
			Packages: &faster,
			Phases:   []Phase{timed("x", 5*time.Minute), timed("open", time.Minute), timed("instant", time.Second), timed("new", 1)},
		},
		{Name: "c", Phases: []Phase{{Name: "x", Done: true, Jumped: true}}},
	})
	for _, c := range []struct {
		name     string
		t        *Timing
		saved    float64
		compared bool
		untimed  string
	}{
		{"first", &got[0].Phases[0], 0, false, ""},
		{"the first's packages", got[0].Packages, 0, false, ""},
		{"longer than both together", &got[1].Phases[0], -0.25, true, ""},
		{"the first did not end", &got[1].Phases[1], 0, false, ""},
		{"the first took no time", &got[1].Phases[2], 0, false, ""},
		{"the first lacks it", &got[1].Phases[3], 0, false, ""},
		{"packages", got[1].Packages, 0.3125, true, ""},
		{"clock", &got[2].Phases[0], 0, false, "the clock was set"},
		{"open", &got[0].Phases[1], 0, false, "did not end"},
	} {
		if c.t.Saved != c.saved || c.t.Compared != c.compared || c.t.Untimed() != c.untimed {
			t.Errorf("%s: %+v (%q)", c.name, *c.t, c.t.Untimed())
		}
	}
	if got[2].Packages != nil {
		t.Error("packages out of nowhere")
	}
}
