package proof

import (
	"os"
	"strings"
	"testing"
)

// docs/raid.md shows the units as they are proven.
func TestUnitsInDocs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/raid.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{onceService, onceTimer} {
		if !strings.Contains(string(b), "```\n"+unit+"```\n") {
			t.Errorf("docs/raid.md does not have this unit:\n%s", unit)
		}
	}
}
