package lab

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTogether: spoilt plans go with their story, where it is played, comes back into its
// trap, and does not spoil them for it.
func TestTogether(t *testing.T) {
	story := func(name string) Job { return Job{Trap: "t", Scenario: Scenario{Name: name}} }
	spoilt := func(of, name string) Job { return Job{Trap: "t", Scenario: Scenario{Name: of}, Sabotage: name} }
	alone, keeps, shell := spoilt("a", "alone"), story("keeps"), story("shell")
	alone.Alone, keeps.Scenario.UndoKeeps, shell.Options.Shell = true, true, ShellAfterStory
	jobs := []Job{spoilt("a", "early"), story("a"), spoilt("a", "late"), alone, story("b"), keeps, spoilt("keeps", "x"), shell,
		spoilt("shell", "x"), spoilt("absent", "x")}
	var got []string
	for _, j := range together(jobs) {
		got = append(got, j.Name()+" "+strings.Join(j.Spoilt, ","))
	}
	want := []string{"t/a early,late", "t/a/alone ", "t/b ", "t/keeps ", "t/keeps/x ", "t/shell ", "t/shell/x ", "t/absent/x "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if jobs[1].Spoilt != nil {
		t.Error("the caller's job was changed")
	}
}

// TestLongestFirst: what was recorded goes by its time, spoilt plans with their story; the rest
// by what its kind tends to take.
func TestLongestFirst(t *testing.T) {
	r := &Record{of: map[string]Played{"t/slow": {Seconds: 98.5}, "t/quick": {Seconds: 0.5}, "t/two": {Seconds: 7},
		"t/two/x": {Seconds: 6}}}
	job := func(name, sabotage string) Job {
		return Job{Trap: "t", Scenario: Scenario{Name: name}, Sabotage: sabotage}
	}
	booted := job("booted", "")
	booted.Scenario.Needs.Systemd = true
	jobs := []Job{job("quick", ""), job("new", ""), booted, {Trap: "t", Experiment: &Experiment{Name: "measured"}}, job("two", ""),
		job("two", "x"), job("slow", "")}
	r.Times(jobs)
	var got []string
	for _, j := range longestFirst(together(jobs)) {
		got = append(got, j.Name())
	}
	want := []string{"t/slow", "t/two", "t/booted", "t/measured", "t/new", "t/quick"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if jobs[6].Last != 98500*time.Millisecond || jobs[1].Last != 0 {
		t.Errorf("%s and %s", jobs[6].Last, jobs[1].Last)
	}
}

// TestParts: each spoilt plan has an outcome of its own, also one that was not reached.
func TestParts(t *testing.T) {
	o := Outcome{Job: Job{Trap: "t", Scenario: Scenario{Name: "a"}, Spoilt: []string{"good", "bad", "last"}},
		Verdict: Verdict{Trap: "t", Scenario: "a", OK: true, Took: time.Minute, Stages: []Stage{{Name: "fix", OK: true},
			{Name: SpoiltPrefix + "good", OK: true, Took: time.Second, Said: "noticed"},
			{Name: SpoiltPrefix + "bad", Took: 2 * time.Second, Said: "nobody"}, {Name: "slips", OK: true}}}}
	got := o.parts()
	if len(got) != 4 || got[0].Job.Name() != "t/a" || !got[0].Verdict.OK || len(got[0].Verdict.Stages) != 2 ||
		got[0].Verdict.Took != 57*time.Second {
		t.Fatalf("%+v", got)
	}
	for i, want := range []Verdict{{OK: true, Took: time.Second}, {Why: "nobody", Took: 2 * time.Second},
		{Why: "it was not tried: a plan before it left the machine in pieces"}} {
		v := got[i+1].Verdict
		if v.OK != want.OK || v.Why != want.Why || v.Took != want.Took || v.Name() != "t/a/"+o.Job.Spoilt[i] || got[i+1].Job.Name() != v.Name() {
			t.Errorf("%+v", got[i+1])
		}
	}
	o.Verdict.OK, o.Verdict.Why, o.Verdict.Stages = false, "the machine died", nil
	for _, p := range o.parts() {
		if p.Verdict.OK || p.Verdict.Why != "the machine died" {
			t.Errorf("%+v", p)
		}
	}
}

// TestExperimentsAndScenarios: what a job says of itself is said by its scenario, or by its experiment.
func TestExperimentsAndScenarios(t *testing.T) {
	for _, c := range []struct {
		job   Job
		name  string
		about string
		mem   int
		named bool
		long  bool
	}{
		{Job{Trap: "t", Scenario: Scenario{Name: "s", About: "a", Long: true, Needs: Needs{MemMiB: 1}}}, "t/s", "a", 1, false, true},
		{Job{Trap: "t", Scenario: Scenario{Name: "s"}, Sabotage: "x"}, "t/s/x", "", 0, false, false},
		{Job{Trap: "t", Scenario: Scenario{Name: "s", About: "a", Long: true},
			Experiment: &Experiment{Name: "e", About: "b", Named: true, Needs: Needs{MemMiB: 2}}}, "t/e", "b", 2, true, false},
		{Job{Experiment: &Experiment{Name: "e", Long: true}}, "e", "", 0, false, true},
	} {
		j := c.job
		if j.Name() != c.name || j.About() != c.about || j.Needs().MemMiB != c.mem || j.Named() != c.named || j.Long() != c.long {
			t.Errorf("%s: %q, %d MiB, named %t, long %t; want %+v", j.Name(), j.About(), j.Needs().MemMiB, j.Named(), j.Long(), c)
		}
	}
	experiment, shown := Job{Trap: "t", Experiment: &Experiment{Name: "s"}}, job("t", "s")
	shown.Options.Shell = ShellAfterStory
	kept := job("t", "s")
	kept.Scenario.UndoKeeps = true
	spoilt := job("t", "s")
	spoilt.Sabotage = "x"
	for name, story := range map[string]Job{"an experiment": experiment, "with a shell": shown, "undoing keeps": kept, "spoilt, too": spoilt} {
		if got := names(together([]Job{story, spoilt})); !strings.HasSuffix(got, " t/s/x") {
			t.Errorf("%s: a spoilt plan is not tried by itself: %s", name, got)
		}
	}
}
