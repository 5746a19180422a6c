package proofs

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
	"fettle/lab/remedyproof"
)

func TestMain(m *testing.M) {
	code := m.Run()
	labtest.Cleanup()
	os.Exit(code)
}

// TestProofs plays every quick scenario and experiment of every trap on
// User-Mode Linux: found, fixed, no other trap set, undone. Those for another
// engine and the long ones are make lab-long's.
func TestProofs(t *testing.T) {
	means.Short(t, "boots some dozens of machines")
	opt := labtest.Options(t)
	var quick []lab.Job
	for _, j := range Jobs() {
		if j.Trap != "" && j.Trap != remedyproof.Group && !j.Long() && j.Needs().Engine != "qemu" {
			j.Options = opt
			quick = append(quick, j)
		}
	}
	if len(quick) == 0 {
		t.Fatal("no scenario to play")
	}
	start, lacking := time.Now(), 0
	lab.PlayAll(t.Context(), quick, 0, func(o lab.Outcome) {
		t.Run(o.Job.Name(), func(t *testing.T) {
			switch {
			case errors.As(o.Err, new(*lab.MissingError)):
				lacking++
				labtest.Lacks(t, o.Err) // the others have what they need
			case o.Err != nil:
				t.Error(o.Err)
			case !o.Verdict.OK:
				t.Errorf("%s\n%s", o.Verdict.Why, o.Verdict.Console)
			default:
				t.Logf("%.1f s", o.Verdict.Took.Seconds())
			}
			if o.Job.Experiment != nil && o.Verdict.OK && (o.Verdict.Table == nil || len(o.Verdict.Table.Rows) == 0) {
				t.Error("the table is empty")
			}
		})
	})
	t.Logf("%d scenarios and experiments in %.0f s", len(quick), time.Since(start).Seconds())
	if lacking > 0 {
		means.Missing(t, fmt.Sprintf("lacks a program in %d of %d scenarios", lacking, len(quick)))
	}
}
