package traps

import "testing"

// TestRemedies: README says how many traps have a remedy.
func TestRemedies(t *testing.T) {
	n := 0
	for _, tr := range All() {
		if tr.Plan != nil {
			n++
		}
	}
	if n < 50 {
		t.Errorf("%d traps have a remedy", n)
	}
}
