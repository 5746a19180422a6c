//go:build linux

package proving

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/lab"
)

var labOutcomes = []lab.Outcome{
	{
		Job:     lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "good"}},
		Verdict: lab.Verdict{OK: true, Took: 1500 * time.Millisecond, Kernel: "6.1", Engine: "uml"},
	},
	{
		Job:     lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "bad"}},
		Verdict: lab.Verdict{Why: "check: \x1b[31m<not> found", Console: "panic"},
	},
	{Job: lab.Job{Experiment: &lab.Experiment{Name: "wide", About: "asks"}}, Err: errors.New("no kernel")},
}

// The form that Jenkins, GitLab and GitHub's reporters read: testsuites,
// testsuite with counts, testcase with classname, name and time.
func TestLabJUnit(t *testing.T) {
	var b strings.Builder
	if err := labJUnit(&b, labOutcomes); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<testsuites name="fettle lab" tests="3"`, `<testsuite name="fettle lab" tests="3" failures="1" errors="1" skipped="0" time="1.500">`,
		`<testcase classname="fettle.lab.a" name="good" time="1.500"></testcase>`,
		`<failure message="failed">`, "&lt;not&gt; found", `<error message="the machine could not be built">no kernel</error>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape, which XML cannot hold")
	}
}

func TestLabMarkdown(t *testing.T) {
	o := labOutcomes[2]
	o.Err, o.Verdict = nil, lab.Verdict{OK: true, Kernel: "6.1", Engine: "uml",
		Table: &lab.Table{Columns: []string{"What", "How"}, Rows: [][]string{{"a|b", "c\nd"}}, Notes: []string{"A note."}}}
	var b strings.Builder
	if err := labMarkdown(&b, append(labOutcomes[:2:2], o)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| a/good | proved | uml 6.1 | 1.5 |", "| a/bad | NOT PROVED |", "**wide**: asks (uml, kernel 6.1)",
		"| What | How |\n| --- | --- |\n| a\\|b | c d |\n\nA note.\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestTableFitsAConsole(t *testing.T) {
	var b strings.Builder
	writeTable(
		&b,
		&lab.Table{Columns: []string{"One", "Two"}, Rows: [][]string{{strings.Repeat("word ", 30), strings.Repeat("x", 100)}, {"short"}, {}},
			Notes: []string{strings.Repeat("note ", 40)}},
	)
	for line := range strings.Lines(b.String()) {
		if n := len(strings.TrimRight(line, "\n")); n > tableWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if got := strings.Count(b.String(), "word"); got != 30 {
		t.Errorf("%d words of 30 are left", got)
	}
	if got := strings.Count(b.String(), "x"); got != 100 {
		t.Errorf("%d letters of 100 are left", got)
	}
}

func TestHeadline(t *testing.T) {
	for said, want := range map[string]string{
		"":                       "",
		"undone: a\n  undone: b": "undone: a",
		strings.Repeat("a ", 38) + "its\n  end\n\ngive b": strings.Repeat("a ", 38) + "its end",
		"wrote a\nwrote b":      "wrote a",
		"found a\n  - evidence": "found a",
		"found a\n    deep":     "found a",
	} {
		if got := headline(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// TestFiguresEndWhereTheyEnd: no line of the table ends in spaces.
func TestFiguresEndWhereTheyEnd(t *testing.T) {
	var b strings.Builder
	labFigures(
		&b,
		lab.Verdict{
			Stages: []lab.Stage{{Name: "check", Probes: map[string]string{"mtu": "1"}}, {Name: "recheck", Probes: map[string]string{"mtu": ""}}},
		},
	)
	want := "                                trapped         fixed\n  mtu                           1               -\n"
	if got := b.String(); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") || strings.Contains(got, " \n") {
		t.Errorf("%q", got)
	}
}

func TestLabTextFitsAConsole(t *testing.T) {
	var b strings.Builder
	a := program{&app.App{Stdout: &b}}
	long := strings.Repeat("word ", 30)
	a.labText(lab.Outcome{Job: lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "good", About: long}},
		Verdict: lab.Verdict{OK: true, Stages: []lab.Stage{{Name: "check", OK: true, Said: long}}}}, true, false)
	a.labText(lab.Outcome{Job: lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "bad"}},
		Verdict: lab.Verdict{Stages: []lab.Stage{{Name: "fix", Said: "short\n   " + long}}}}, true, false)
	for line := range strings.Lines(b.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if !strings.Contains(b.String(), "\n"+strings.Repeat(" ", 33)+"word") {
		t.Errorf("the second line lost its place:\n%s", b.String())
	}
}
