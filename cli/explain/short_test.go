package explain

import (
	"regexp"
	"testing"

	shipped "fettle/traps"
)

var emptySection = regexp.MustCompile(`(?m)^# (.*)\n+(# |\z)`)

// TestShortHasNoEmptySection: a heading with nothing under it tells nothing.
func TestShortHasNoEmptySection(t *testing.T) {
	for _, tr := range shipped.All() {
		art, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		if m := emptySection.FindStringSubmatch(short(art, tr.Plan != nil)); m != nil {
			t.Errorf("%s: %q is empty", tr.ID(), m[1])
		}
	}
}
