package guest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle/lab"
)

// liar is a guest in which fettle mends and undoes as it should, but for one lie.
type liar struct {
	fixed, undone  bool
	lie            map[string]string // by stage: what the check says of the subject instead
	others         string            // status of another trap, once it is fixed
	fails          string            // the verb that ends with status 3
	said           string            // by the probe once it is fixed
	died           string            // what was started and has ended, by stage
	stages         []lab.Stage
	checks         int
	spoils, leaves bool // a line of the file that is not its own; something behind the undo
	slip           int  // how a fix with a slip ends; 0: the plan allows none, -1: as if mended
	// spoilt is how a fix by a plan that was spoilt on purpose ends: "fails", "mends", "absent" where the
	// plan has not that step, "leaves" where it fails and something stays.
	spoilt map[string]string
}

// tree is one file, of which the fix changes one line.
func (l *liar) tree() (map[string]string, error) {
	text := "a = 1\nb = 2\n"
	if l.fixed && !l.undone {
		text = "a = 3\nb = 2\n"
		if l.spoils {
			text = "a = 3\n"
		}
	}
	out := map[string]string{"/etc/x": "mode 0100644 owner 0:0\n" + text}
	if l.undone && l.leaves {
		out["/etc/x.bak"] = "mode 0100644 owner 0:0\n"
	}
	return out, nil
}

func (l *liar) Stage(s lab.Stage) error { l.stages = append(l.stages, s); return nil }

func (l *liar) run(argv []string, _ []byte) (string, int, error) {
	switch {
	case slices.Equal(argv, []string{"fettle", "check", "--format", "jsonl", "--limit", checkLimit}):
		other := "clear"
		if l.fixed && l.others != "" {
			other = l.others
		}
		return line("t", "s", "found") + line("other", "x", other) + line("far", "", "not-applicable"), 1, nil
	case argv[0] == "fettle" && argv[1] == "check":
		stage := []string{"check", "recheck", "after-undo", "slip"}[min(l.checks, 3)]
		l.checks++
		if lie, ok := l.lie[stage]; ok {
			return lie, 0, nil
		}
		status := "found"
		if l.fixed && !l.undone {
			status = "clear"
		}
		return line("t", "s", status), 0, nil
	case argv[0] == "fettle-lab" && argv[3] == lab.ListSlips:
		if l.slip == 0 {
			return "", 0, nil
		}
		return lab.SlipPrefix + "left out: x\n", 0, nil
	case argv[0] == "fettle-lab" && l.spoilt[argv[3]] == "absent":
		return lab.NothingToSpoil + ": 1 steps", 3, nil
	case argv[0] == "fettle-lab" && (l.spoilt[argv[3]] == "fails" || l.spoilt[argv[3]] == "leaves"):
		l.leaves = l.spoilt[argv[3]] == "leaves"
		return "it broke", 6, nil
	case argv[0] == "fettle-lab":
		if l.slip > 0 {
			return "it broke", l.slip, nil
		}
		l.fixed, l.undone = true, false
		return "done", 0, nil
	case argv[0] == "fettle":
		if l.fails == argv[1] {
			return "it broke", 3, nil
		}
		l.fixed, l.undone = l.fixed || argv[1] == "fix", argv[1] == "undo"
		return "done", 0, nil
	}
	if l.fixed && !l.undone {
		if l.said != "" {
			return l.said, 0, nil
		}
		return "good", 0, nil
	}
	return "bad", 0, nil
}

func line(trap, subject, status string) string {
	return fmt.Sprintf(`{"trap":%q,"outcomes":[{"trap":%[1]q,"subject":%q,"status":%q}]}`+"\n", trap, subject, status)
}

// play tells the story of the lying guest, and returns the last stage.
func (l *liar) play(s lab.Scenario) lab.Stage {
	p := &player{orders: lab.Orders{Trap: "t", Scenario: s}, host: l, run: l.run, tree: l.tree, act: func(lab.Act) error { return nil },
		ended: func() string {
			if len(l.stages) == 2 { // at the third stage, the fix
				return l.died
			}
			return ""
		}}
	p.story()
	return l.stages[len(l.stages)-1]
}

// Each stage's wrong result fails the scenario, and the stage says so.
func TestLyingGuests(t *testing.T) {
	x := map[string]string{"/etc/x": "a = 3\nb = 2\n"}
	whole := lab.Scenario{Subject: "s", Files: x, Probes: []lab.Probe{{Name: "login", Run: []string{"ask"},
		Want: []string{"bad", "good", "bad"}}}}
	innocent := lab.Scenario{Subject: "s", Innocent: true}
	vanishes := lab.Scenario{Subject: "s", Vanishes: true, Files: x}
	anything := lab.Scenario{Files: x}
	says := func(stage, status string) map[string]string { return map[string]string{stage: line("t", "s", status)} }
	for _, c := range []struct {
		name     string
		scenario lab.Scenario
		liar     liar
		stage    string // that must fail; "" is none
		said     string
	}{
		{"the truth", whole, liar{}, "", ""},
		{"the truth of no subject in particular", anything, liar{}, "", ""},
		{"not found", whole, liar{lie: says("check", "clear")}, "check", "expected to be found, and was not"},
		{"found in another subject", whole, liar{lie: map[string]string{"check": line("t", "z", "found")}}, "check",
			"expected to be found, and was not"},
		{"a check that says nothing", whole, liar{lie: map[string]string{"check": ""}}, "check", "said nothing that could be read"},
		{"fix fails", whole, liar{fails: "fix"}, "fix", "fettle fix t --yes --yes-irreversible --limit 3m --on s: exit status 3"},
		{"still found", whole, liar{lie: says("recheck", "found")}, "recheck", "expected to be clear, and was found"},
		{"unknown after the fix", whole, liar{lie: says("recheck", "unknown")}, "recheck", "could not be looked at"},
		{"the whole host unknown after the fix", whole,
			liar{lie: map[string]string{"recheck": line("t", "s", "clear") + line("t", "", "unknown")}}, "recheck", "could not be looked at"},
		{"does not apply after the fix", whole, liar{lie: says("recheck", "not-applicable")}, "recheck",
			"expected to be clear, and is not-applicable"},
		{"not spoken of after the fix", whole, liar{lie: map[string]string{"recheck": line("t", "z", "clear")}}, "recheck",
			"does not speak of it any more"},
		{"nothing applies after the fix", anything, liar{lie: says("recheck", "not-applicable")}, "recheck",
			"expected to be clear, and is not-applicable"},
		{"vanished as told", vanishes, liar{lie: map[string]string{"recheck": line("t", "z", "clear")}}, "", ""},
		{"vanished as told, yet does not apply", vanishes, liar{lie: says("recheck", "not-applicable")}, "recheck",
			"expected not to be spoken of " +
				"any more, and is not-applicable"},
		{"the probe sees no change", whole, liar{said: "bad"}, "recheck", `probe login: expected "good", and it was "bad"`},
		{"another trap is set", whole, liar{others: "found"}, "others", "the fix sets another trap: other:x"},
		{"another trap cannot be looked for any more", whole, liar{others: "unknown"}, "others", "after the fix these cannot be looked at " +
			"any more: other:x"},
		{"undo fails", whole, liar{fails: "undo"}, "undo", "fettle undo --yes: exit status 3"},
		{"not back after the undo", whole, liar{lie: says("after-undo", "clear")}, "after-undo", "expected to be found, and was not"},
		{"a daemon dies", whole, liar{died: "sshd -D: exit status 255"}, "fix", "what the scenario had started " +
			"has ended: sshd -D: exit status 255"},
		{"a file as it should be", lab.Scenario{Subject: "s", Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}}, liar{}, "", ""},
		{"a line of a file is lost", lab.Scenario{Subject: "s", Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}}, liar{spoils: true},
			"files", `/etc/x holds "a = 3\n", and should hold "a = 3\nb = 2\n"`},
		{"a file is missing", lab.Scenario{Subject: "s", Files: map[string]string{"/etc/y": ""}}, liar{}, "files", "/etc/y is not there"},
		{"a file that the scenario does not speak of", lab.Scenario{Subject: "s"}, liar{}, "files", "does not say what it must hold"},
		{"a slip that fails", whole, liar{slip: 6}, "", ""},
		{"a slip that nobody notices", whole, liar{slip: -1}, "slip", "nobody noticed"},
		{"a slip that is harmless", lab.Scenario{Subject: "s", Files: x,
			Harmless: map[string]string{"left out: x": "it is"}}, liar{slip: -1}, "", ""},
		{"harmless, and no slip of this plan", lab.Scenario{Subject: "s", Files: x, Harmless: map[string]string{"left out: y": "it is"}},
			liar{}, "slips", "declared harmless, and the plan does not allow it: left out: y"},
		{"something stays behind the undo", whole, liar{leaves: true}, "as-before", "/etc/x.bak was not there"},
		{"innocent", innocent, liar{lie: says("check", "clear")}, "", ""},
		{"innocent, does not apply", innocent, liar{lie: says("check", "not-applicable")}, "", ""},
		{"innocent, and found", innocent, liar{lie: says("check", "found")}, "innocent", "expected to be clear, and was found"},
		{"innocent, and unknown", innocent, liar{lie: says("check", "unknown")}, "innocent", "could not be looked at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			last := c.liar.play(c.scenario)
			switch {
			case c.stage == "" && !last.OK:
				t.Errorf("%s: %s", last.Name, last.Said)
			case c.stage != "" && (last.OK || last.Name != c.stage || !strings.Contains(last.Said, c.said)):
				t.Errorf("%s, ok %v: %q, want %s to say %q", last.Name, last.OK, last.Said, c.stage, c.said)
			}
			if c.stage == "" && !c.scenario.Innocent &&
				!strings.Contains(c.liar.said+said(c.liar.stages, "others"), "none of the 1 other traps that could be set here; 1 do not apply") {
				t.Errorf("others: %q", said(c.liar.stages, "others"))
			}
		})
	}
}

func said(stages []lab.Stage, name string) string {
	for _, s := range stages {
		if s.Name == name {
			return s.Said
		}
	}
	return ""
}

// Plans that were spoilt on purpose are tried in the story's machine, one after the other: only one that
// leaves it in pieces ends that.
func TestSpoiltInTheStory(t *testing.T) {
	l := &liar{spoilt: map[string]string{"early": "fails", "good": "mends", "gone": "absent", "late": "fails", "breaks": "leaves",
		"never": "fails"}}
	p := &player{orders: lab.Orders{Trap: "t", Spoilt: []string{"early", "good", "gone", "late", "breaks", "never"},
		Scenario: lab.Scenario{Subject: "s", Files: map[string]string{"/etc/x": "a = 3\nb = 2\n"}}}, host: l, run: l.run, tree: l.tree,
		act: func(lab.Act) error { return nil }, ended: func() string { return "" }}
	p.story()
	want := []struct {
		name string
		ok   bool
		said string
	}{
		{"early", true, "noticed: fix: it broke"},
		{"good", false, "nobody noticed"},
		{"gone", false, "the plan has changed"},
		{"late", true, "noticed: fix: it broke"},
		{"breaks", false, "and after it the machine is not as before: /etc/x.bak was not there"},
	}
	got := slices.DeleteFunc(l.stages, func(s lab.Stage) bool { return !strings.HasPrefix(s.Name, lab.SpoiltPrefix) })
	if len(got) != len(want) {
		t.Fatalf("%d plans were tried, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if s := got[i]; s.Name != lab.SpoiltPrefix+w.name || s.OK != w.ok || !strings.Contains(s.Said, w.said) {
			t.Errorf("%s, ok %v: %q; want ok %v and %q", s.Name, s.OK, s.Said, w.ok, w.said)
		}
	}
}

// A scenario that is broken before the trap is set says so.
func TestBrokenPrepare(t *testing.T) {
	l := &liar{}
	p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Prepare: []lab.Act{{Run: []string{"x"}}}}}, host: l, run: l.run,
		act: func(lab.Act) error { return errors.New("x: not there") }, ended: func() string { return "" }}
	p.story()
	if len(l.stages) != 1 || l.stages[0].OK || l.stages[0].Said != "x: not there" {
		t.Errorf("%+v", l.stages)
	}
}

// A slip is judged by the quick probes alone.
func TestSlowProbes(t *testing.T) {
	asked := ""
	probes := []lab.Probe{{Name: "q", Run: []string{"quick"}}, {Name: "s", Run: []string{"slow"}, Slow: true}}
	p := &player{orders: lab.Orders{Scenario: lab.Scenario{Probes: probes}},
		run: func(argv []string, _ []byte) (string, int, error) { asked += argv[0] + " "; return "", 0, nil }}
	for _, quick := range []bool{false, true} {
		if _, err := p.look(1, quick); err != nil {
			t.Error(err)
		}
	}
	if asked != "quick slow quick " {
		t.Errorf("asked: %s", asked)
	}
}

// The numbers that a probe shows are compared with those of the trap.
func TestProbeRatio(t *testing.T) {
	for _, c := range []struct {
		ratio                  float64
		trapped, fixed, undone string
		fails                  string
	}{
		{0.5, "6.1 s", "0.4 s", "5.9 s", ""},
		{0.5, "6.1 s", "5.9 s", "", "recheck"},
		{0.5, "6.1 s", "300 ms", "0.4 s", "after-undo"},
		{2, "10", "500", "12", ""},
		{2, "0", "0", "", "recheck"},
		{2, "100", "150", "", "recheck"},
		{0.5, "status 1", "0.1 s", "", "recheck"},
		{0.5, "6.1 s", "status 1", "", "recheck"},
		{0.5, "6.1 s", "", "", "recheck"},
		{0.5, "6 s", "3 s", "6 s", ""},
		{2, "3", "6", "3", ""},
		{1, "0", "0", "", "recheck"},
		{2, "1 s", "2500 ms", "1 s", ""},
	} {
		p := &player{orders: lab.Orders{Scenario: lab.Scenario{Probes: []lab.Probe{{Name: "n", Run: []string{"x"}, Ratio: c.ratio}}}}}
		failed := ""
		for nth, shown := range []string{c.trapped, c.fixed, c.undone} {
			p.run = func([]string, []byte) (string, int, error) { return shown, 0, nil }
			st := lab.Stage{OK: true}
			if p.failed {
				break
			}
			if p.probe(&st, nth); !st.OK {
				failed = probed[nth]
			}
		}
		if failed != c.fails {
			t.Errorf("%+v: failed at %q", c, failed)
		}
	}
}

// What was started and ends is noticed, unless it may.
func TestDaemonsEnd(t *testing.T) {
	d := &daemons{}
	for _, a := range []lab.Act{{Start: []string{"true"}, MayEnd: true}, {Start: []string{"sh", "-c", "exit 7"}},
		{Start: []string{"sleep", "0.01"}}} {
		if err := d.act(a); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{"sh -c exit 7: exit status 7": true, "sleep 0.01: exit status 0": true}
	for range 500 {
		got := map[string]bool{}
		for _, g := range strings.Split(d.ended(), "; ") {
			got[g] = true
		}
		if maps.Equal(got, want) {
			return
		}
		if err := d.act(lab.Act{Run: []string{"sleep", "0.02"}}); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("ended: %s", d.ended())
}
