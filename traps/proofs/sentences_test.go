package proofs

import (
	"slices"
	"testing"

	"fettle/lab"
)

// TestNoSentences: what scenarios expect of fettle check and fettle fix is read from
// JSON. Its sentences are for people, and are reworded.
func TestNoSentences(t *testing.T) {
	for _, j := range Jobs() {
		for _, s := range j.Scenario.Steps {
			for _, a := range s.Acts {
				if e := a.Expect; e != nil && sentence(e) {
					t.Errorf("%s, %s: %q expects %q: use lab.Checked, lab.Mended or --format json", j.Name(), s.Name, e.Run, e.Has+e.Lacks)
				}
			}
		}
	}
}

func sentence(e *lab.Expect) bool {
	return len(e.Run) > 1 && e.Run[0] == "fettle" && (e.Run[1] == "check" || e.Run[1] == "fix") && e.Has+e.Lacks != "" &&
		!slices.Contains(e.Run, "--format")
}
