package proving

import (
	"path/filepath"
	"testing"

	"fettle/lab"
	"fettle/traps/proofs"
)

// TestRecorder: what is chosen from all is a run, and what is named counts to the last, so that nothing else gets older by it.
func TestRecorder(t *testing.T) {
	name, jobs := filepath.Join(t.TempDir(), "proofs.md"), proofs.Jobs()
	for i, c := range []struct {
		all  bool
		want int
	}{{false, 1}, {true, 2}, {false, 2}, {true, 3}, {true, 4}} {
		note, err := labFlags{record: name, all: c.all}.recorder()
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs[i : i+2] {
			if err := note(lab.Outcome{Job: j, Verdict: lab.Verdict{OK: true}}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := lab.ReadRecord(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs[i : i+2] {
			if p, ok := r.Of(&j); !ok || p.Run != c.want {
				t.Errorf("%d: %s was played in run %d, want %d", i, j.Name(), p.Run, c.want)
			}
		}
	}
}

// TestTwoRecord: of two that play at the same time neither loses what the other took down.
func TestTwoRecord(t *testing.T) {
	name, jobs := filepath.Join(t.TempDir(), "proofs.md"), proofs.Jobs()[:4]
	var notes [2]func(lab.Outcome) error
	for i := range notes {
		var err error
		if notes[i], err = (labFlags{record: name}).recorder(); err != nil {
			t.Fatal(err)
		}
	}
	for i, j := range jobs {
		if err := notes[i%2](lab.Outcome{Job: j, Verdict: lab.Verdict{OK: true}}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := lab.ReadRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if _, ok := r.Of(&j); !ok {
			t.Errorf("%s was played, and is not in the record", j.Name())
		}
	}
}
