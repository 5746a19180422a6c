package proving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/internal/means"
	"fettle/lab"
	"fettle/tools/bisect"
	"fettle/tools/bisect/belief"
	"fettle/tools/measure/blockcache"
)

// told are outcomes of all kinds.
var told = func() []lab.Outcome {
	good := lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "good", About: "what is shown of a trap", Long: true}}
	bad := lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "bad", About: "what fails"}}
	innocent := lab.Job{Trap: "a", Scenario: lab.Scenario{Name: "innocent", Innocent: true}}
	asks := lab.Job{Experiment: &lab.Experiment{Name: "asks", About: "what is asked"}}
	stages := []lab.Stage{{Name: "check", OK: true, Said: "found it\nand\x1b more", Took: 1250 * time.Millisecond,
		Probes: map[string]string{"mtu": "1500", "a name": "a value that is longer"}},
		{Name: "recheck", OK: true, Said: "clear", Probes: map[string]string{"mtu": "9000"}}, {Name: "fix", OK: true, Said: "done"}}
	failed := append(slices.Clone(stages[:1]), lab.Stage{Name: "fix", Said: "it broke\nbadly", Took: time.Second})
	table := &lab.Table{Columns: []string{"What", "How"}, Rows: [][]string{{"one", "two"}, {"three"}}, Notes: []string{"A note."}}
	all := lab.Verdict{OK: true, Engine: "uml", Kernel: "6.1\x1b", Boot: 400 * time.Millisecond, Took: 3250 * time.Millisecond}
	with := func(change func(*lab.Verdict)) lab.Verdict { v := all; change(&v); return v }
	return []lab.Outcome{
		{Job: good, Verdict: with(func(v *lab.Verdict) { v.Stages = stages })},
		{Job: bad, Verdict: with(func(v *lab.Verdict) {
			v.OK, v.Why, v.Stages, v.Console = false, "fix: it broke", failed, "panic\nhalt"
		})},
		{Job: bad, Verdict: with(func(v *lab.Verdict) { v.OK, v.Why, v.Retries = false, "it never\nspoke", 2 })},
		{Job: bad, Verdict: with(func(v *lab.Verdict) { v.OK = false })},
		{Job: innocent, Verdict: all}, {Job: good, Err: errors.New("no kernel\x1b")},
		{Job: asks, Verdict: with(func(v *lab.Verdict) { v.Stages, v.Table = stages[:1], table })},
		{Job: asks, Verdict: with(func(v *lab.Verdict) { v.OK, v.Why, v.Stages, v.Table = false, "it broke", failed, &lab.Table{} })},
	}
}()

// TestLabSays: what is told of each outcome: short, long, and with all that was said; as a table of Markdown, and of what there is.
func TestLabSays(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	var b bytes.Buffer
	a := program{&app.App{Stdout: &b}}
	for _, form := range []struct{ long, verbose bool }{{false, false}, {true, false}, {true, true}} {
		fmt.Fprintf(&b, "== long %v, verbose %v\n", form.long, form.verbose)
		for _, o := range told {
			a.labText(o, form.long, form.verbose)
		}
	}
	b.WriteString("== Markdown\n")
	if err := labMarkdown(&b, told); err != nil {
		t.Fatal(err)
	}
	b.WriteString("== Markdown of an experiment\n")
	if err := labMarkdown(&b, told[6:]); err != nil {
		t.Fatal(err)
	}
	b.WriteString("== a list\n")
	for _, o := range told {
		a.listLab(&o.Job)
	}
	means.Written(t, "testdata/lab.txt", b.String())
}

// TestTables: columns are as wide as what is in them, in letters, the widest narrowed to a console's width; text is broken between
// words.
func TestTables(t *testing.T) {
	var b bytes.Buffer
	for _, table := range []lab.Table{
		{Columns: []string{"ä", "long head"}, Rows: [][]string{{"ööö", "b"}, {"c"}, {"d", "e", "no column"}}, Notes: []string{"Note."}},
		{Columns: []string{"one", "two", "three"}, Rows: [][]string{{strings.Repeat("word ", 12), strings.Repeat("ß", 50), "x"}},
			Notes: []string{strings.Repeat("note ", 20)}},
	} {
		writeTable(&b, &table)
	}
	means.Written(t, "testdata/tables.txt", b.String())
	for _, c := range []struct {
		widths []int
		room   int
		want   string
	}{{[]int{10, 20}, 30, "[10 20]"}, {[]int{10, 20}, 29, "[10 19]"}, {[]int{20, 20, 5}, 39, "[17 17 5]"}, {[]int{20, 20}, 10, "[8 8]"},
		{[]int{3, 9}, 1, "[3 8]"}} {
		if narrow(c.widths, c.room); fmt.Sprint(c.widths) != c.want {
			t.Errorf("in %d: %v, want %s", c.room, c.widths, c.want)
		}
	}
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"", 3, ""}, {"ab cd", 5, "ab cd"}, {"ab cd", 4, "ab|cd"}, {"abcd", 4, "abcd"}, {"a bcdef g", 4, "a|bcde|f g"},
		{"äöüß", 2, "äö|üß"}} {
		if got := strings.Join(wrapCell(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
	long := "  " + strings.Repeat("y", 48)
	for in, want := range map[string]string{long: long, long + " z": long + "\n" + strings.Repeat(" ", 34) + "z",
		strings.Repeat(" ", 20) + strings.Repeat("y ", 20): strings.Repeat(" ", 20) + strings.Repeat("y ", 20)} {
		if got := folded(in, 30, false); got != want {
			t.Errorf("%q\nnot\n%q", got, want)
		}
		if got := folded(in, 30, true); got != in {
			t.Errorf("as it is: %q", got)
		}
	}
}

// TestHuntSays: what is told while commits are measured, and of what came out.
func TestHuntSays(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	var commits []bisect.Commit
	for _, c := range "0123456789" {
		commits = append(commits, bisect.Commit{Hash: strings.Repeat(string(c), 40), Subject: "Subject " + string(c) + "\x1b"})
	}
	history := &bisect.History{Commits: commits}
	level := func(mean, err float64) belief.Level { return belief.Level{Mean: mean, Error: err} }
	one := belief.Change{First: 3, Last: 3, Before: level(10, 0.1), After: level(12.5, 0.2)}
	several := belief.Change{First: 5, Last: 8, Before: level(0, 0.1), After: level(-2, 0.1)}
	ends := [2]belief.Level{level(10, 0.1), level(12.5, 0.1)}
	found := func(changes ...belief.Change) belief.Verdict {
		return belief.Verdict{Changes: changes, Confidence: 0.987}
	}
	terms := bisect.Terms{Good: "fast", Bad: "slow"}
	hunt := &bisect.Hunt{History: history, MaxRuns: 100, Terms: terms, Prior: belief.One}
	tests := &bisect.Hunt{History: history, MaxRuns: 100, Terms: terms, Prior: belief.One, Command: bisect.Command{Kind: belief.Tests}}
	figure := &bisect.Hunt{History: history, MaxRuns: 100, Terms: terms, Prior: belief.Several,
		Figure: &bisect.Figure{Name: "x", Unit: "ms"}}
	branch := bisect.Branch{History: history, Result: &bisect.Result{Verdict: found(belief.Change{First: 1, Last: 1, Before: level(1, 0),
		After: level(2, 0)})}}
	alone := bisect.Branch{History: history, Result: &bisect.Result{Verdict: found()}}
	var b strings.Builder
	for _, c := range []struct {
		about  string
		hunt   *bisect.Hunt
		result bisect.Result
	}{
		{"none", hunt, bisect.Result{Verdict: found(), Total: 1, Sure: true}},
		{"one", hunt, bisect.Result{Verdict: found(one), Total: 20, Sure: true, Scale: 0.25, Ends: ends}},
		{"one, not sure, for want of runs", hunt, bisect.Result{Verdict: found(one), Total: 100, Ends: ends, Drifted: true}},
		{"one, not sure", hunt, bisect.Result{Verdict: found(one), Total: 99, Ends: ends, Skipped: map[int]string{4: "no"}}},
		{"a part", hunt, bisect.Result{Verdict: found(one), Total: 2, Sure: true, Ends: [2]belief.Level{level(10, 0.1), level(22, 0.1)}}},
		{"a part of several", figure, bisect.Result{Verdict: found(several, one), Total: 2, Sure: true,
			Ends: [2]belief.Level{level(10, 0.1), level(22, 0.1)}}},
		{"tests", tests, bisect.Result{Verdict: found(belief.Change{First: 2, Last: 2, Before: level(0.1, 0), After: level(0.75, 0)}),
			Total: 20, Sure: true, Ends: [2]belief.Level{level(0.1, 0.01), level(0.75, 0.01)}}},
		{"a merge", hunt, bisect.Result{Verdict: found(one), Total: 20, Sure: true, Ends: ends,
			Brought: map[int][]bisect.Branch{3: {branch, alone, {Why: "too many\x1b"}}}}},
		{"a merge alone", hunt, bisect.Result{Verdict: found(one), Total: 20, Sure: true, Ends: ends,
			Brought: map[int][]bisect.Branch{3: {alone, alone}}}},
	} {
		fmt.Fprintf(&b, "== %s\n%s", c.about, strings.ReplaceAll(bisectText(c.hunt, &c.result, 80), c.hunt.Logs(), "/LOGS"))
	}
	b.WriteString("== meanwhile\n")
	p := bisect.Progress{History: history, Runs: 7, Verdict: found(), Last: bisect.Run{At: 2, Figure: 1234.5678, Log: "/LOG"}}
	fmt.Fprintln(&b, readingLine(p))
	fmt.Fprintln(&b, beliefLine(p, 60))
	p.Last.Skipped, p.Left, p.Each = "it broke\x1b", 3, 1700*time.Millisecond
	fmt.Fprintln(&b, readingLine(p))
	fmt.Fprintln(&b, beliefLine(p, 60))
	p.Gaps = []belief.Gap{{First: 1, Last: 5, Change: 0.1}, {First: 6, Last: 9, Change: 0.9}}
	fmt.Fprintln(&b, beliefLine(p, 60))
	p.History = &bisect.History{Commits: slices.Repeat(commits, 20)}
	p.Gaps[1].Last = 199
	for _, width := range []int{20, 60, 61} {
		fmt.Fprintln(&b, beliefLine(p, width))
	}
	means.Written(t, "testdata/hunt.txt", b.String())
}

var took = regexp.MustCompile(`_ns": \d+`)

// TestRefused: what is asked for in a way that cannot be meant, and what may be.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"job.fio": "[a]\nrw=randread\nsize=1m\n", "trace.csv": "1,2\n", "file": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	session, err := filepath.Abs("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	apptest.Session(t, session, func(_ context.Context, args []string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errs)
		return code, took.ReplaceAllString(out.String(), "_ns\": SOME"), errs.String()
	})
}

// TestSizes: sizes and numbers as they may be written.
func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "1B": 1, "64KiB": 65536, "64K": 65536, "1k": 1024, "1kB": 1000, "1KB": 1000,
		"1.5GiB": 3 << 29, "2MB": 2e6, "2M": 2 << 20, " 3 GB ": 3e9, "1T": 1 << 40, "1TB": 1e12, "1TiB": 1 << 40, "1G": 1 << 30, "1MiB": 1 << 20,
		"4000000T": 4e6 << 40,
		"0":        -1, "-1": -1, "": -1, "x": -1, "4194304T": -1, "nan": -1, "KiB": -1, "1.6": 2} {
		if got, err := parseBytes(s); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for s, want := range map[string]int{"0": 0, "200000": 200000, "5M": 5e6, "0.5k": 500, "1K": 1000, "2G": 2e9, "4294967295": 4294967295,
		"4294967296": -1, "-1": -1, "x": -1, "1.6": 2, "5G": -1} {
		if got, err := parseCount(s); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for s, want := range map[string]int{"0": 0, "50%": 50, "99": 99, "99.9%": 99, "0%": 0, "100": -1, "100%": -1, "-1%": -1, "x%": -1,
		"x": -1} {
		w, err := parseWarmup(s)
		n := 0
		if err == nil {
			n, err = w.of(100)
		}
		if (err != nil) != (want < 0) || err == nil && n != want {
			t.Errorf("%q of 100: %d, %v; want %d", s, n, err, want)
		}
	}
}

// TestProgressLines: on a terminal what is simulated, measured and played is one line, five times a second at most.
func TestProgressLines(t *testing.T) {
	means.Ends(t)
	master, tty := means.OpenTerminal(t)
	synctest.Test(t, func(t *testing.T) {
		a := program{&app.App{Program: "fettle", Stderr: tty}}
		p := a.newSimProgress()
		for _, done := range []int64{1e6, 2e6, 3e6, 4e6} {
			time.Sleep(100 * time.Millisecond)
			p.at(done, 10e6)
		}
		p.clear()
		say := a.blockcacheProgress()
		say(blockcache.Progress{Run: 1, Runs: 5, Doing: "laying out", Left: 61400 * time.Millisecond})
		l := a.newLabProgress(make([]lab.Job, 3), labFlags{format: "text"})
		time.Sleep(10 * time.Second)
		jobs := l.watch([]lab.Job{told[0].Job})
		jobs[0].Options.OnStart()
		l.ended(told[1])
		jobs[0].Options.OnStage(lab.Stage{Name: "fix"})
		l.clear()
	})
	got := means.ShownSoFar(t, master, tty)
	for want, shown := range map[string]bool{"simulating: 1 of 10 million requests, 1s left": true, "simulating: 2 of 10": false,
		"simulating: 3 of 10 million requests, 1s left": true, "simulating: 4 of 10": false, "1 of 5: laying out, 1m1s left": true,
		"0 of 3: a/good (boot)": true, "1 of 3, about 20s left: a/good (boot)": true, "1 of 3, about 20s left: a/good (fix)": true} {
		if strings.Contains(got, want) != shown {
			t.Errorf("%q is shown: %v\n%q", want, !shown, got)
		}
	}

	var errs bytes.Buffer
	a := program{&app.App{Program: "fettle", Stderr: &errs}}
	say := a.blockcacheProgress()
	for range 2 {
		say(blockcache.Progress{Run: 1, Runs: 5, Doing: "laying out", Left: 61400 * time.Millisecond})
	}
	say(blockcache.Progress{Note: "warm\x1b"})
	l := a.newLabProgress(make([]lab.Job, 2), labFlags{format: "json"})
	l.ended(told[0])
	l.ended(told[1])
	a.newLabProgress(make([]lab.Job, 2), labFlags{format: "text"}).ended(told[0])
	a.newLabProgress(make([]lab.Job, 1), labFlags{format: "json"}).ended(told[0])
	a.newLabProgress(make([]lab.Job, 2), labFlags{format: "json", shell: true}).ended(told[0])
	const want = "1 of 5: laying out, 1m1s left of all\nfettle: warm\\x1b\n1 of 2: a/good: proved\n2 of 2: a/bad: NOT PROVED\n"
	if errs.String() != want {
		t.Errorf("%q; want %q", errs.String(), want)
	}
}

// TestKillPoints: a killed fettle notes each point, and ends at the one that is meant, of all or of one name.
func TestKillPoints(t *testing.T) {
	const env = "FETTLE_TEST_KILLED"
	if at := os.Getenv(env); at != "" {
		log, err := os.OpenFile(at, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		k := &killSwitch{log: log}
		fmt.Sscanf(filepath.Base(at), "%d@%s", &k.kill, &k.name)
		for range 3 {
			k.point("before")
			k.point("after")
		}
		io.WriteString(log, "end\n")
		os.Exit(0)
	}
	for at, want := range map[string]string{"0": "before after before after before after end", "3": "before after before",
		"2@after": "before after before after", "1@before": "before", "4@after": "before after before after before after end"} {
		name := filepath.Join(t.TempDir(), at)
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestKillPoints$")
		cmd.Env = append(os.Environ(), env+"="+name)
		err := cmd.Run()
		b, rerr := os.ReadFile(name)
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		ended := strings.HasSuffix(want, "end")
		if got := strings.Join(strings.Fields(string(b)), " "); got != want || rerr != nil || ended != (err == nil) ||
			!ended && status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %q, %v; want %q", at, got, err, want)
		}
	}
}
