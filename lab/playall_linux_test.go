package lab_test

import (
	"sync/atomic"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

// Machines side by side do not get into each other's way.
func TestSideBySide(t *testing.T) {
	means.Short(t, "takes seconds")
	opt := labtest.Options(t)
	echo := lab.Scenario{Prepare: []lab.Act{{Write: &lab.File{Path: "/run/x"}}, {Run: []string{"ip", "link", "add", "br0", "type", "bridge"}},
		{Run: []string{"sleep", "1"}}}, Needs: lab.Needs{Modules: []string{"bridge"}}}
	var jobs []lab.Job
	for _, name := range []string{"one", "two", "three"} {
		s := echo
		s.Name = name
		jobs = append(jobs, lab.Job{Trap: "bridge-mtu", Scenario: s, Options: opt})
	}
	for i := range jobs {
		jobs[i].Scenario.Innocent = true
	}
	var n atomic.Int32
	lab.PlayAll(t.Context(), jobs, 3, func(o lab.Outcome) {
		n.Add(1)
		if o.Err != nil || !o.Verdict.OK {
			t.Errorf("%s: %v %s", o.Job.Name(), o.Err, o.Verdict.Why)
		}
	})
	if n.Load() != 3 {
		t.Errorf("%d outcomes", n.Load())
	}
}
