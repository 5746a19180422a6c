package report

import (
	"strings"
	"testing"
)

// TestReasonsAreCounted: what is left out of the paragraph on what is unknown is
// counted in it.
func TestReasonsAreCounted(t *testing.T) {
	var all []ignorance
	for _, r := range []string{"one", "two", "three", "four", "five"} {
		all = append(all, ignorance{reason: r, first: r, who: []string{r + "-a", r + "-b"}})
	}
	text, _ := paragraph(all)
	if !strings.Contains(text, "2 checks: three (three-a, three-b)") || !strings.HasSuffix(text, "; 4 more for other reasons") {
		t.Error(text)
	}
	if text, _ := paragraph(all[:4]); !strings.Contains(text, "2 checks: four") || strings.Contains(text, "more") {
		t.Error(text)
	}
}
