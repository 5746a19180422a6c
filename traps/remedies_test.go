package traps

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestRemedies: README says how many traps there are, and how many have a remedy;
// it may be a few behind, never ahead.
func TestRemedies(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`It knows (\d+) traps; for (\d+) of them it has a remedy`).FindSubmatch(b)
	if said == nil {
		t.Fatal("README.md does not say how many traps there are")
	}
	n := 0
	for _, tr := range All() {
		if tr.Plan != nil {
			n++
		}
	}
	for i, have := range []int{len(All()), n} {
		if claimed, _ := strconv.Atoi(string(said[i+1])); claimed > have || claimed < have-40 {
			t.Errorf("README.md says %d, and there are %d", claimed, have)
		}
	}
}
