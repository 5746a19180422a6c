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
// User-Mode Linux: found, fixed, no other trap set, undone, those of a tenth of the traps on the
// distribution's kernel, the others on the quicker one. Of those for another engine and the long
// ones a tenth has its turn (TestRota), and make lab-long plays all; fettle lab tries every slip.
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
	quicker, installed := labtest.Options(t), labtest.Distribution(t)
	turn, traps := means.Turn(t), map[string]int{}
	play(t, quick, func(trap string) lab.Options {
		n, ok := traps[trap]
		if !ok {
			n = len(traps)
			traps[trap] = n
		}
		if n%means.Turns == turn {
			return installed
		}
		return quicker
	})
}

func play(t *testing.T, jobs []lab.Job, on func(trap string) lab.Options) {
	t.Helper()
	jobs = slices.Clone(jobs)
	record(t).Times(jobs) // the longest begin
	// Of the slips that a plan allows a tenth is tried at each commit: all would take longer than the stories.
	slips := lab.SlipTurn{Of: means.Turns, At: means.Turn(t)}
	for i := range jobs {
		jobs[i].Options = on(jobs[i].Trap)
		jobs[i].Options.Slips = slips
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
				t.Logf("%.1f s, Linux %s", o.Verdict.Took.Seconds(), o.Verdict.Kernel)
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
