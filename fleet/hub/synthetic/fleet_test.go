package synthetic

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/fleet/hub/message"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/report"
	"fettle/traps"
)

// TestCorpus makes corpus.json.zst with FETTLE_UPDATE=1: all traps' checks over
// all golden hosts.
func TestCorpus(t *testing.T) {
	if os.Getenv("FETTLE_UPDATE") == "1" {
		b, err := json.Marshal(gather(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("corpus.json.zst", message.Squeeze(b), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known := map[string]bool{}
	for _, tr := range traps.All() {
		known[tr.ID()] = true
	}
	n := 0
	for _, s := range Samples() {
		if !known[s.ID] {
			t.Errorf("%s is no trap any more: make the corpus anew", s.ID)
		}
		if len(s.Outcomes) > 0 {
			n++
		}
	}
	if n < 50 {
		t.Errorf("only %d traps tell something", n)
	}
}

func gather(t *testing.T) []Sample {
	var goldens []string
	for _, pattern := range []string{"../../../traps/*/testdata/*.txtar", "../../../traps/rules/*/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		goldens = append(goldens, files...)
	}
	byTrap := map[string][][]trap.Outcome{}
	for _, g := range goldens {
		src, _ := hosttest.Load(t, g)
		for _, tr := range traps.All() {
			var telling []trap.Outcome
			found := false
			for _, o := range traptest.Run(t, tr, host.New(src)) {
				if o.Status == trap.Found || o.Status == trap.Unknown {
					telling = append(telling, o)
					found = found || o.Status == trap.Found
				}
			}
			// Of the hosts of other traps most is unknown.
			if found && len(telling) <= 3 && len(byTrap[tr.ID()]) < 8 {
				byTrap[tr.ID()] = append(byTrap[tr.ID()], telling)
			}
		}
	}
	var out []Sample
	for _, info := range report.Infos(traps.All()) {
		out = append(out, Sample{info, byTrap[info.ID]})
	}
	return out
}

func TestFleetStaysTheSame(t *testing.T) {
	f := Fleet{Seed: 1, Hosts: 10, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a, b := f.State(3, 7), f.State(3, 7)
	if a.Digest() != b.Digest() {
		t.Error("the same host on the same day is another")
	}
	changed, findings := 0, 0
	for i := range 200 {
		a, b := f.State(i, 7), f.State(i, 8)
		if a.Digest() != b.Digest() {
			changed++
		}
		for _, r := range a.Results {
			findings += len(r.Outcomes)
		}
	}
	if changed == 0 || changed > 100 || findings < 200 || findings > 4000 {
		t.Errorf("of 200 hosts %d changed in a day, with %d findings", changed, findings)
	}
}
