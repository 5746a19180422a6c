package belief

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestExactly compares what a reading tells, reckoned exactly, with what drawn sets
// of changes say: also where most readings are on the bad level, and the first
// commit may have done it, or none.
func TestExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name     string
		kind     Kind
		prior    Prior
		readings []Reading
	}{
		{"nothing read", Tests, knowing(0, 0.2, 0.8), nil},
		{"between", Tests, knowing(0, 0.2, 0.8), []Reading{{At: 64, Figure: 1}, {At: 32}, {At: 48, Figure: 1}, {At: 40}, {At: 40, Figure: 1}}},
		{"the first, or none", Tests, knowing(0, 0.2, 0.8),
			[]Reading{{At: 64, Figure: 1}, {At: 8, Figure: 1}, {At: 2, Figure: 1}, {At: 1, Figure: 1}, {At: 1, Figure: 1}, {At: 1, Figure: 1}}},
		{"a figure", Figures, knowing(1, 10, 12), []Reading{{At: 64, Figure: 11.5}, {At: 32, Figure: 10.5}, {At: 48, Figure: 11.1}}},
	} {
		p := New(tt.kind, 128, tt.readings, tt.prior)
		exact, drawn := p.exactly(), p.draw(rng, 1<<14)
		if exact == nil {
			t.Errorf("%s: left to draws", tt.name)
			continue
		}
		for _, c := range p.candidates(everything) {
			if got, want := exact(c), p.information(c, drawn); math.Abs(got-want) > 0.02 {
				t.Errorf("%s: reading %d tells %.3f bits; drawn %.3f", tt.name, c, got, want)
			}
		}
	}
	if New(Figures, 128, nil, knowing(0, 10, 12)).exactly() != nil ||
		New(Tests, 128, nil, Prior{Extra: 2, Levels: []float64{0.2, 0.8}}).exactly() != nil {
		t.Error("with the noise not told, or several changes, draws are needed")
	}
}
