package report

import (
	"fmt"
	"strings"
	"testing"

	"fettle/trap"
)

// TestBrief: of many traps, those that need nobody are counted and not listed.
func TestBrief(t *testing.T) {
	for _, n := range []int{briefFrom - 1, briefFrom} {
		var traps []*trap.Trap
		for i := range n {
			traps = append(traps, someTrap(fmt.Sprintf("t%02d", i), "title", false))
		}
		var b strings.Builder
		w := newText(&b, Options{Width: 80})
		w.Begin(Meta{Host: "h"}, traps)
		for _, tr := range traps {
			w.Result(trap.Result{Trap: tr.ID(), Outcomes: []trap.Outcome{{Trap: tr.ID(), Status: trap.Clear, Summary: "fine"}}})
		}
		w.Result(trap.Result{Trap: "x", Outcomes: []trap.Outcome{{Trap: "x", Status: trap.Unknown, Reason: "needs root"}}})
		w.End(0)
		out := b.String()
		if listed, want := strings.Contains(out, "t00"), n < briefFrom; listed != want {
			t.Errorf("%d traps: listed %v, want %v:\n%s", n, listed, want, out)
		}
		if !strings.Contains(out, "UNKNOWN") || !strings.Contains(out, fmt.Sprintf("%d clear", n)) {
			t.Errorf("%d traps:\n%s", n, out)
		}
	}
}
