package traps

import (
	"slices"
	"testing"

	"fettle/engine/trap"
)

// TestHorizons: horizons and areas have names that are known, and an area is covered only
// by what bites at the next start.
func TestHorizons(t *testing.T) {
	for _, tr := range All() {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range a.Horizon {
			if !slices.Contains(trap.HorizonNames, h) {
				t.Errorf("%s: horizon %q: expected one of %q", tr.ID(), h, trap.HorizonNames)
			}
		}
		for _, c := range a.Covers {
			if !slices.Contains(trap.AreaNames, c) {
				t.Errorf("%s: covers %q: expected one of %q", tr.ID(), c, trap.AreaNames)
			}
		}
		if own := tr.Covers(trap.Packages); len(a.Covers) > 0 && !tr.At(trap.NextStart) && !(own && tr.At(trap.Upgrade)) {
			t.Errorf("%s covers %q, and does not bite then", tr.ID(), a.Covers)
		}
	}
}
