package proofs

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
	"fettle/lab/remedyproof"
)

// TestProofs plays every quick scenario and experiment of every trap on
// User-Mode Linux: found, fixed, no other trap set, undone. Of those for another
// engine and the long ones a tenth has its turn (TestRota), and make lab-long plays all; fettle lab tries
// every slip.
func TestProofs(t *testing.T) {
	means.Short(t, "boots some dozens of machines")
	var quick []lab.Job
	for _, j := range Jobs() {
		if j.Trap != "" && j.Trap != remedyproof.Group && !j.Long() && j.Needs().Engine != "qemu" {
			quick = append(quick, j)
		}
	}
	if len(quick) == 0 {
		t.Fatal("no scenario to play")
	}
	play(t, quick)
}

// slipTurns: of the slips that a plan allows one in so many is tried at each commit. All
// of them at each would take longer than the stories.
const slipTurns = 5

func play(t *testing.T, jobs []lab.Job) {
	t.Helper()
	opt := labtest.Options(t)
	opt.Slips = lab.SlipTurn{Of: slipTurns, At: means.Turn(t)}
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Options = opt
	}
	start, lacking := time.Now(), 0
	lab.PlayAll(t.Context(), jobs, 0, func(o lab.Outcome) {
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
	t.Logf("%d scenarios and experiments in %.0f s", len(jobs), time.Since(start).Seconds())
	if lacking > 0 {
		means.Missing(t, fmt.Sprintf("lacks a program in %d of %d scenarios", lacking, len(jobs)))
	}
}
