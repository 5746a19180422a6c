package traps

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/traps/rules"
)

// TestNoFindingIsLost takes one answer after the other away from every golden
// host in which a trap is found. What was found must then still be found, or
// be unknown: clear, or silence, would be a lie.
func TestNoFindingIsLost(t *testing.T) {
	means.Short(t, "takes seconds")
	files, err := filepath.Glob("*/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden hosts: %v", err)
	}
	samples, err := filepath.Glob("rules/*/*.txtar")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples of rules: %v", err)
	}
	written := map[string]bool{} // which traps are rules: these have samples of their own
	for _, tr := range rules.All() {
		written[tr.ID()] = true
	}
	found := map[string]bool{}
	all := All()
	for _, f := range append(files, samples...) {
		src, _ := hosttest.Load(t, f)
		for _, tr := range all {
			if rule := filepath.Base(filepath.Dir(f)); written[tr.ID()] != strings.HasPrefix(f, "rules/") || written[tr.ID()] && tr.ID() != rule {
				continue
			}
			whole := &traptest.Blind{Source: src}
			before := traptest.Run(t, tr, host.New(whole))
			if !slices.ContainsFunc(before, traptest.IsFound) {
				continue
			}
			found[tr.ID()] = true
			t.Run(tr.ID()+"/"+strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
				for _, q := range whole.Answered() {
					for _, err := range []error{host.ErrDenied, host.ErrNotCollected} {
						after := traptest.Run(t, tr, host.New(&traptest.Blind{Source: src, Hide: q, Err: err}))
						if lost := traptest.Lost(before, after); lost != "" {
							t.Errorf("without %q (%v):\n%s\nwas:\n%s\nis:\n%s", q, err, lost, traptest.Lines(before), traptest.Lines(after))
						}
					}
				}
			})
		}
	}
	for _, tr := range all {
		if !found[tr.ID()] {
			t.Errorf("no golden host shows %s", tr.ID())
		}
	}
}
