package trap

import "testing"

func TestRegrade(t *testing.T) {
	r := Result{Outcomes: []Outcome{{Status: Found, Severity: Notice}, {Status: Unknown}}}
	r.Regrade(Critical)
	if r.Outcomes[0].Severity != Critical || r.Outcomes[1].Severity != 0 {
		t.Errorf("%+v", r.Outcomes)
	}
}
