package why

import (
	"testing"

	"fettle/engine/trap"
	"fettle/why/firstlook"
)

// TestChecksAreNoted: of what a log names, the check that finds something in that very thing is told,
// and none that found it elsewhere or did not find it.
func TestChecksAreNoted(t *testing.T) {
	facts := []firstlook.Fact{
		{Thing: firstlook.Thing{Kind: "unit", Name: "nginx.service"}},
		{Thing: firstlook.Thing{Kind: "disk", Name: "sda"}},
		{Thing: firstlook.Thing{Kind: "disk", Name: "sdb"}},
	}
	for _, r := range []trap.Result{
		{Trap: "clear", Outcomes: []trap.Outcome{{Subject: "nginx.service", Status: trap.Clear}}},
		{Trap: "other", Outcomes: []trap.Outcome{{Subject: "nginx.service.d", Status: trap.Found}, {Subject: "sda1", Status: trap.Found}}},
		{Trap: "down", Outcomes: []trap.Outcome{{Subject: "nginx.service", Status: trap.Found, Summary: "it is down"}}},
		{Trap: "late", Outcomes: []trap.Outcome{{Subject: "nginx.service", Status: trap.Found, Summary: "again"}}},
		{Trap: "disk", Outcomes: []trap.Outcome{{Subject: "/dev/sda", Status: trap.Found, Summary: "it is old"}}},
	} {
		note(facts, r)
	}
	for i, want := range []string{"down", "disk", ""} {
		if facts[i].Trap != want {
			t.Errorf("%s: %q, want %q", facts[i].Name, facts[i].Trap, want)
		}
	}
	if facts[0].Finding != "it is down" {
		t.Error(facts[0].Finding)
	}
}
