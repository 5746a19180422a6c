package proofs

import (
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

const (
	recordFile = "../../docs/proofs.md"
	tooLong    = 60 * time.Second // what takes longer is for make rota and make lab-long
)

// TestRota plays the long scenarios whose turn it is: a tenth at each commit, of those
// that User-Mode Linux can play in a minute.
func TestRota(t *testing.T) {
	means.Short(t, "boots a dozen machines")
	due := rota(t, means.Turn(t))
	if len(due) == 0 {
		means.Left(t, "nothing has its turn")
	}
	opt := labtest.Options(t)
	play(t, due, func(string) lab.Options { return opt })
}

// TestRotaIsWhole: in ten turns each has had its own.
func TestRotaIsWhole(t *testing.T) {
	seen := map[string]int{}
	for i := range means.Turns {
		for _, j := range rota(t, i) {
			seen[j.Name()]++
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d scenarios have a turn in ten: the record (%s) knows of more long ones that take less than %s",
			len(seen), recordFile, tooLong)
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s has %d turns in ten", name, n)
		}
	}
}

// TestRecordHolds: what somebody has recorded held, and was played in the last ten runs.
// What nobody has recorded yet is told: make rota takes it first.
func TestRecordHolds(t *testing.T) {
	r := record(t)
	held, waiting := 0, 0
	for _, j := range Jobs() {
		switch p, ok := r.Of(&j); {
		case !ok:
			waiting++
			t.Logf("nobody has recorded %s", j.Name())
		case p.Result != lab.Proved:
			t.Errorf("%s was not proved when it was last played, by %s: %s", j.Name(), p.Version, p.Result)
		case p.Run < r.Last()-means.Turns:
			t.Errorf("nobody has played %s in the last %d runs: make rota", j.Name(), means.Turns)
		default:
			held++
		}
	}
	if held < 80 {
		t.Errorf("only %d of %d scenarios are in the record (%s)", held, held+waiting, recordFile)
	}
}

func record(t *testing.T) *lab.Record {
	t.Helper()
	r, err := lab.ReadRecord(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rota are the jobs of a turn.
func rota(t *testing.T, turn int) (due []lab.Job) {
	t.Helper()
	r, n := record(t), 0
	for _, j := range Jobs() {
		p, ok := r.Of(&j)
		if !j.Long() || j.Named() || j.Needs().Engine == "qemu" || j.Needs().Kernel != "" || !ok || p.Seconds > tooLong.Seconds() {
			continue
		}
		if n%means.Turns == turn {
			due = append(due, j)
		}
		n++
	}
	return due
}
