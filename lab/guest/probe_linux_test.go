package guest

import (
	"strings"
	"testing"

	"fettle/lab"
)

func TestProbe(t *testing.T) {
	for _, c := range []struct {
		probe lab.Probe
		want  string
	}{
		{lab.Probe{Run: []string{"printf", "one\ntwo\n"}}, "one"},
		{lab.Probe{Run: []string{"printf", "took 1.5 s\nin all"}, Find: `took ([0-9.]+ s)`}, "1.5 s"},
		{lab.Probe{Run: []string{"printf", "a\nnothing"}, Find: `took (.*)`}, "not told: nothing"},
		{lab.Probe{Run: []string{"false"}, Timed: true}, "status 1"},
		{lab.Probe{Run: []string{"/nonexistent"}}, "fork/exec /nonexistent: no such file or directory"},
	} {
		if got := (&player{run: run}).ask(c.probe); got != c.want {
			t.Errorf("%v: %q, want %q", c.probe.Run, got, c.want)
		}
	}
	if got := (&player{run: run}).ask(lab.Probe{Run: []string{"true"}, Timed: true}); !strings.HasSuffix(got, " s") {
		t.Errorf("timed: %q", got)
	}
}

// What a probe must show is judged stage by stage.
func TestProbeWants(t *testing.T) {
	p := &player{run: run, orders: lab.Orders{Scenario: lab.Scenario{Probes: []lab.Probe{
		{Name: "any", Run: []string{"printf", "x"}},
		{Name: "login", Run: []string{"printf", "in"}, Want: []string{"", "in", "refused"}},
	}}}}
	for nth, ok := range []bool{true, true, false} {
		st := lab.Stage{OK: true, Said: "found"}
		p.probe(&st, nth)
		if st.OK != ok || p.failed == ok {
			t.Errorf("stage %d: ok %v, failed %v, said %s", nth, st.OK, p.failed, st.Said)
		}
		if st.Probes["login"] != "in" || st.Probes["any"] != "x" {
			t.Errorf("stage %d: %v", nth, st.Probes)
		}
		if !ok && st.Said != "probe login: expected \"refused\", and it was \"in\"\nfound" {
			t.Errorf("said %q", st.Said)
		}
	}
}
