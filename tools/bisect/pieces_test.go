package bisect

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/tools/bisect/belief"
)

// commits are a history of so many, named c0, c1 and so on.
func commits(n int) *History {
	h := &History{}
	for i := range n {
		h.Commits = append(h.Commits, Commit{Hash: fmt.Sprintf("c%d", i), Subject: fmt.Sprintf("s%d", i)})
	}
	return h
}

func moved(first, last int, before, after float64) belief.Change {
	return belief.Change{First: first, Last: last, Probability: 0.9, Before: belief.Level{Mean: before, Error: 3},
		After: belief.Level{Mean: after, Error: 4}}
}

// TestFigures: which of what a run prints is the figure.
func TestFigures(t *testing.T) {
	match := regexp.MustCompile(`took (\S+) (ms|s)?`)
	for _, c := range []struct {
		match *regexp.Regexp
		out   string
		want  string
	}{
		{nil, "x\n1\n 2.5 \nend\n", "2.5"}, {nil, "0", "0"}, {nil, "1e150", "1e+150"}, {nil, "-1e-150", "-1e-150"}, {nil, "3\n1e151",
			"is not a number from"},
		{nil, "1e-151", "is not a number from"}, {nil, "NaN", "is not a number from"}, {nil, "none", "printed no figure"}, {nil, "",
			"printed no figure"},
		{regexp.MustCompile(`took (\S+)`), "took 1\ntook 2 ms\n3\n", "2"}, {regexp.MustCompile(`took \S+`), "took 1", `"took 1", which is not`},
		{match, "took 7 s", `"s", which is not`}, {regexp.MustCompile(`took(.*)s`), "took 7 s", "7"},
		{nil, "5\n" + strings.Repeat("x", tailLimit), "printed no figure"}, {nil, "5\n" + strings.Repeat("x", tailLimit-2), "5"},
		{nil, strings.Repeat("x\n", tailLimit) + "6", "6"},
	} {
		f := figure{match: c.match}
		for i := 0; i < len(c.out); i += 1000 {
			f.Write([]byte(c.out[i:min(len(c.out), i+1000)]))
		}
		v, err := f.value()
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want || len(f.tail) > tailLimit {
			t.Errorf("%v of %.40q: %s, want %s; %d bytes kept", c.match, c.out, got, c.want, len(f.tail))
		}
	}
}

// broken takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestLimitedLog: so many bytes, and the rest is dropped without an error.
func TestLimitedLog(t *testing.T) {
	var b bytes.Buffer
	l := &limited{w: &b, left: 5}
	for _, s := range []string{"abc", "def", "ghi"} {
		if n, err := l.Write([]byte(s)); n != 3 || err != nil {
			t.Errorf("%s: %d, %v", s, n, err)
		}
	}
	if b.String() != "abcde" {
		t.Error(b.String())
	}
	if _, err := (&limited{w: broken{}, left: 1}).Write([]byte("a")); err == nil {
		t.Error("a log that cannot be written is no error")
	}
	if _, err := (&limited{w: broken{}}).Write([]byte("a")); err != nil {
		t.Error(err)
	}
}

// TestReading: what a build and a run come to, as git bisect run would have it (git-bisect(1)).
func TestReading(t *testing.T) {
	for _, c := range []struct {
		name       string
		command    Command
		build, run any // a status or an error
		want       string
	}{
		{"a figure", Command{}, nil, 0, "7"}, {"after a build", Command{Build: "b"}, 0, 0, "7"}, {"the build fails", Command{Build: "b"}, 2, 0,
			"skip: the build ended with status 2"},
		{"the build is too slow", Command{Build: "b"}, &skip{"took longer"}, 0, "skip: the build took longer"},
		{"no shell", Command{Build: "b"}, errors.New("no shell"), 0, "no shell"}, {"the run fails", Command{}, nil, 1,
			"skip: the run ended with status 1"},
		{"a test passes", Command{Kind: belief.Tests}, nil, 0, "0"}, {"a test fails", Command{Kind: belief.Tests}, nil, 1, "1"},
		{"a test fails otherwise", Command{Kind: belief.Tests}, nil, 124, "1"}, {"no verdict", Command{Kind: belief.Tests}, nil, 125,
			"skip: the run ended with status 125"},
		{"not found", Command{Kind: belief.Tests}, nil, 126, "skip: the run ended with status 126"},
		{"a test hangs", Command{Kind: belief.Tests}, nil, &skip{"hung"}, "skip: the run hung"},
	} {
		run := func(_ context.Context, in []string, line string, _ io.Writer, out *figure) (int, error) {
			result := c.run
			if line == "b" {
				result = c.build
			} else if out != nil {
				out.Write([]byte("7\n"))
			}
			if err, ok := result.(error); ok {
				return 0, err
			}
			return result.(int), nil
		}
		v, err := c.command.read(t.Context(), run, io.Discard)
		got := fmt.Sprint(v)
		var why *skip
		if errors.As(err, &why) {
			got = "skip: " + err.Error()
		} else if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestShell: what a line ends with, what it is told, and where it runs.
func TestShell(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, line string
		in         []string
		limit      time.Duration
		status     int
		out, err   string
	}{
		{"passes", "echo 1; pwd; echo $FETTLE_COMMIT", nil, time.Minute, 0, "1\n" + dir + "\nabc\n", ""},
		{"complains", "echo err >&2", nil, time.Minute, 0, "err\n", ""},
		{"fails", "exit 3", nil, time.Minute, 3, "", ""},
		{"is killed", "kill -9 $$", nil, time.Minute, 0, "", "was ended by killed"},
		{"takes too long", "sleep 60", nil, 50 * time.Millisecond, 0, "", "took longer than 50ms"},
		{"in something else", "x y", []string{"/bin/echo", "-n"}, time.Minute, 0, "x y", ""},
		{"cannot be run", "x", []string{"/no/such/program"}, time.Minute, 0, "",
			`running "x": fork/exec /no/such/program: no such file or directory`},
	} {
		var log bytes.Buffer
		out := &figure{}
		command := &Command{Limit: c.limit}
		status, err := command.here(dir, "abc")(t.Context(), c.in, c.line, &log, out)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if status != c.status || log.String() != c.out || said != c.err || strings.ReplaceAll(c.out, "err\n", "") != string(out.tail) {
			t.Errorf("%s: status %d, %q (of it %q), %q", c.name, status, log.String(), out.tail, said)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (&Command{Limit: time.Minute}).here(dir, "abc")(ctx, nil, "true", io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestJournals: a torn line goes, a damaged one and another hunt's are refused, and so is what is no file.
func TestJournals(t *testing.T) {
	b := begun{Good: "a", Bad: "b", Run: "x"}
	const first = `{"begun":{"good":"a","bad":"b","run":"x"},"figure":0}` + "\n"
	const one = `{"commit":"a","figure":1.5,"start":2}` + "\n"
	for _, c := range []struct{ name, text, want, kept string }{
		{"new", "", "1 entries", first}, {"two", first + one, "2 entries", first + one}, {"torn", first + one + `{"commit":"b"`, "2 entries",
			first + one},
		{"torn at once", first[:9], "1 entries", first}, {"damaged", first + "x\n" + one, "journal.jsonl:2 is damaged (invalid character",
			first + "x\n" + one},
		{"immense", first + `{"figure":1e200}` + "\n", "journal.jsonl:2 is damaged (the figure 1e+200); forget the hunt with --fresh", ""},
		{"another's", strings.Replace(first, `"x"`, `"y"`, 1), "is of another hunt (other revisions or commands); forget it with --fresh", ""},
		{"without its beginning", one, "is of another hunt", ""},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "journal.jsonl")
		if c.text != "" {
			if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j, err := openJournal(dir, b)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%d entries", len(j.entries))
		}
		kept, _ := os.ReadFile(name)
		if !strings.Contains(got, c.want) || c.kept != "" && string(kept) != c.kept {
			t.Errorf("%s: %s, %q", c.name, got, kept)
		}
		if err != nil {
			continue
		}
		if err := j.add(entry{Commit: "z", Figure: 2}); err != nil {
			t.Error(err)
		}
		if err := errors.Join(j.close(), j.add(entry{Commit: "z"})); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(),
			"writing the journal") {
			t.Errorf("closed: %v", err)
		}
		if now, _ := os.ReadFile(name); !bytes.HasSuffix(now, []byte(`{"commit":"z","figure":2}`+"\n")) || !bytes.HasPrefix(now, kept) {
			t.Errorf("%s: then %q", c.name, now)
		}
	}
	for name, plant := range map[string]func(name string) error{
		"link": func(name string) error { return os.Symlink("/dev/null", name) },
		"FIFO": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"dir":  func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		dir := t.TempDir()
		if err := plant(filepath.Join(dir, "journal.jsonl")); err != nil {
			t.Fatal(err)
		}
		if _, err := openJournal(dir, b); err == nil || !strings.Contains(err.Error(), "opening the journal") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBar: the darker the likelier, in as many columns as there is room.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		gaps    []belief.Gap
		commits int
		width   int
		want    string
	}{
		{[]belief.Gap{{First: 1, Last: 2, Change: 0.02}, {First: 3, Last: 3, Change: 0.9}, {First: 4, Last: 4}}, 4, 10, "..# "},
		{[]belief.Gap{{First: 1, Last: 2, Change: 0.01}, {First: 3, Last: 4, Change: 1}}, 4, 10, "  **"},
		{[]belief.Gap{{First: 1, Last: 1, Change: 1}}, 4, 2, "# "}, {[]belief.Gap{{First: 4, Last: 4, Change: 0.25}}, 4, 2, " :"},
		{[]belief.Gap{{First: 3, Last: 3, Change: 0.3}, {First: 4, Last: 4, Change: 0.3}}, 4, 2, " *"},
		{nil, 3, 0, " "}, {[]belief.Gap{{First: 1, Last: 1, Change: 2}}, 1, 1, "#"},
	} {
		if got := Bar(c.gaps, c.commits, c.width, true); got != c.want {
			t.Errorf("%+v of %d in %d: %q, want %q", c.gaps, c.commits, c.width, got, c.want)
		}
	}
	if got := Bar([]belief.Gap{{First: 1, Last: 1, Change: 1}, {First: 2, Last: 2, Change: 0.3}}, 2, 2, false); got != "█▒" {
		t.Error(got)
	}
	for _, c := range []struct {
		f    *Figure
		by   float64
		want string
	}{{nil, 1, ""}, {&Figure{Higher: true}, 1, "better"}, {&Figure{Higher: true}, -1, "worse"}, {&Figure{}, 1, "worse"}, {&Figure{}, -1,
		"better"}, {&Figure{}, 0, ""}} {
		if got := c.f.Judge(c.by); got != c.want {
			t.Errorf("%+v by %v: %q, want %q", c.f, c.by, got, c.want)
		}
	}
}

// looked is a hunt in which the larger one of two changes, at c3, is a merge whose second branch brought it.
func looked() (*History, *Result) {
	h, side, other := commits(6), commits(3), commits(2)
	for i := range side.Commits {
		side.Commits[i].Hash = fmt.Sprintf("d%d", i)
	}
	other.Commits[1].Hash = "e1"
	run := func(at int, figure float64) Run { return Run{At: at, Figure: figure} }
	return h, &Result{Sure: true, Skipped: map[int]string{2: "no build"}, Scale: 2,
		Verdict: belief.Verdict{Confidence: 0.9, Changes: []belief.Change{moved(3, 3, 10, 40), moved(5, 5, 40, 30)},
			Levels: []belief.Level{{Mean: 10}, {Mean: 40}, {Mean: 30}}},
		Gaps: []belief.Gap{{First: 1, Last: 2, Change: 0.1}, {First: 3, Last: 3, Change: 0.9}},
		Ends: [2]belief.Level{{Mean: 10}, {Mean: 30}},
		Runs: []Run{run(0, 10), run(5, 30), {At: 2, Skipped: "no build"}, run(1, 11), run(1, 9), run(3, 40), run(4, 41)},
		Brought: map[int][]Branch{3: {{History: other, Why: "an end gives no reading"},
			{History: side, Result: &Result{Sure: true, Verdict: belief.Verdict{Confidence: 0.5, Changes: []belief.Change{moved(2, 2, 10, 40)}},
				Runs: []Run{run(1, 10), run(2, 40)}}}}}}
}

// TestWhatAHuntSays: the log for git, the report for programs and the curves.
func TestWhatAHuntSays(t *testing.T) {
	h, r := looked()
	log := r.GitLog(h, Terms{"old", "new"})
	var got []string
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); f[0] == "git" && f[2] != "start" || f[1] == "first" {
			got = append(got, strings.Join(f[2:], " "))
		}
	}
	if said := strings.Join(got, "|"); said != "new c5|old c0|skip c2|old c1|new c3|new c4|old d1|new d2|new commit: [d2] s2" {
		t.Error(said)
	}
	if !strings.HasPrefix(log, "git bisect start '--term-old=old' '--term-new=new'\n# new: [c5] s5\n") {
		t.Error(log)
	}
	for name, change := range map[string]func(r *Result){"not sure": func(r *Result) { r.Sure = false },
		"no change":   func(r *Result) { r.Verdict.Changes = nil },
		"two commits": func(r *Result) { r.Verdict.Changes[0].First = 2 }} {
		h, r := looked()
		if change(r); strings.Contains(r.GitLog(h, Terms{"old", "new"}), "# first") {
			t.Errorf("%s: %s", name, r.GitLog(h, Terms{"old", "new"}))
		}
	}
	r.Brought[3][1].Result.Sure = false
	if first, ok := r.firstBad(h); !ok || first.Hash != "c3" {
		t.Errorf("a branch that tells nothing: %v, %v", first, ok)
	}
	rep := r.Report(h)
	if rep.Confidence != 0.45 || rep.Noise != 2 || rep.Ends != [2]float64{10, 30} || rep.Partial || len(rep.Runs) != 7 ||
		rep.Runs[3].Commit != "c1" {
		t.Errorf("%+v", rep)
	}
	if c := rep.Changes[0]; c.First.Hash != "c3" || c.Last.Hash != "c3" || c.Before != 10 || c.After != 40 || c.Error != 5 ||
		len(c.Brought) != 2 ||
		c.Brought[0].Unread == "" || c.Brought[0].Commits != 1 || c.Brought[0].Tip.Hash != "e1" || len(c.Brought[0].Changes) != 0 ||
		c.Brought[1].Commits != 2 || c.Brought[1].Tip.Hash != "d2" || len(c.Brought[1].Changes) != 1 || len(c.Brought[1].Runs) != 2 {
		t.Errorf("%+v", c)
	}
	var curves []string
	for _, p := range r.Plot(h) {
		for _, c := range p.Curves {
			curves = append(curves, fmt.Sprint(c.Name, c.X, c.Y))
		}
		if p.X != "commits after c0" {
			t.Error(p.X)
		}
	}
	if said := strings.Join(curves, "; "); said != "readings[0 5 1 1 3 4] [10 30 11 9 40 41]; level[0 3 3 5 5 5] [10 10 40 40 30 30]; "+
		"probability of a change[1 2 3 3] [0.05 0.05 0.9 0.9]" {
		t.Error(said)
	}
}

// TestMergesAreLookedInto: those that are sure to be the one.
func TestMergesAreLookedInto(t *testing.T) {
	h, r := looked()
	h.Commits[3].Parents, h.Commits[5].Parents = []string{"c2", "d2"}, []string{"c4"}
	if got := fmt.Sprint(r.merges(h), r.Merges()); got != "[3] [3]" {
		t.Error(got)
	}
	r.Verdict.Changes[0].First = 2
	if got := r.merges(h); len(got) != 0 {
		t.Error(got)
	}
	r.Sure, r.Verdict.Changes[0].First = false, 3
	if got := r.merges(h); len(got) != 0 {
		t.Error(got)
	}
}

// somewhere is a place that runs nothing.
type somewhere struct {
	place
	name string
}

func (s *somewhere) host() string { return s.name }

// TestLosesHosts: it goes on while one is left.
func TestLosesHosts(t *testing.T) {
	a, b := &somewhere{name: "a"}, &somewhere{name: "b"}
	var told []string
	s := &session{Hunt: &Hunt{Lost: func(host string, why error) { told = append(told, host+": "+why.Error()) }}, places: []place{a, b}}
	if err := s.lose(a, errors.New("gone")); err != nil || len(s.places) != 1 || s.places[0] != place(b) || len(s.lost) != 1 {
		t.Errorf("%v, %v", err, s.places)
	}
	if err := s.lose(b, errors.New("gone too")); err == nil || err.Error() != "no host is left: gone too" || strings.Join(told,
		"|") != "a: gone" {
		t.Errorf("%v, told %q", err, told)
	}
	if got := fmt.Sprint(s.machine("x"), s.machine("y"), s.machine("x"), s.machines); got != "0 1 0 [x y]" {
		t.Error(got)
	}
}

// TestTakes: a reading is written down, counted and told, unless it ends the hunt.
func TestTakes(t *testing.T) {
	h := commits(4)
	j, err := openJournal(t.TempDir(), begun{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	var told []Progress
	s := &session{Hunt: &Hunt{History: h, MaxRuns: 5, Tell: func(p Progress) { told = append(told, p) }}, journal: j}
	l := s.line(h, belief.One, 0.95)
	start := time.UnixMicro(1_700_000_000_250_000)
	if err := l.take(job{at: &somewhere{}, hash: "c1", run: Run{At: 1, Figure: 7, Start: start, Took: 3 * time.Second, Built: true,
		Host: "x"}}); err != nil {
		t.Fatal(err)
	}
	if err := l.take(job{hash: "c2", run: Run{At: 2, Skipped: "no", Start: start, Took: time.Second}}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[1].Runs != 2 || told[1].Each != 2*time.Second || told[1].Last.At != 2 || told[1].Left != 0 {
		t.Errorf("%+v", told)
	}
	if got := l.readings(); len(got) != 1 || got[0].At != 1 || got[0].Figure != 7 || got[0].Time != 1_700_000_000.25 {
		t.Errorf("%+v", got)
	}
	again := s.line(h, belief.One, 0.95)
	if len(again.runs) != 2 || again.runs[0] != (Run{At: 1, Figure: 7, Start: start, Took: 3 * time.Second, Built: true, Host: "x"}) ||
		again.skipped[2] != "no" || s.runs() != 2 {
		t.Errorf("%+v", again.runs)
	}
	again.inFlight = []job{{run: Run{At: 1, Host: "y"}}}
	if n := again.count(func(r Run) bool { return r.At == 1 }); n != 2 {
		t.Errorf("%d runs of c1", n)
	}
	for most, want := range map[int]bool{3: true, 4: false} {
		if again.most = most; again.done() != want {
			t.Errorf("after 3 of %d: done %v", most, !want)
		}
	}
	again.most, again.MaxRuns = 9, 3
	if !again.done() {
		t.Error("more runs than the hunt may take")
	}
	if err := l.take(job{err: errors.New("broken")}); err == nil || err.Error() != "broken" || s.runs() != 2 {
		t.Errorf("%v", err)
	}
	err = l.take(job{hash: "c3", run: Run{At: 3, Skipped: "no build", Log: "/x/log"}})
	if err == nil || err.Error() != "c3 (s3), an end of the history, gives no reading: no build; its log is /x/log" {
		t.Errorf("%v", err)
	}
	l.runs = l.runs[:1]
	for _, c := range []struct {
		gaps []belief.Gap
		want int
	}{{[]belief.Gap{{First: 1, Last: 2, Change: 0.5}, {First: 3, Last: 3, Change: 0.5}}, 9},
		{[]belief.Gap{{First: 1, Last: 3, Change: 1}}, 10},
		{[]belief.Gap{{First: 3, Last: 3, Change: 1}}, 2}, {[]belief.Gap{{First: 1, Last: 2, Change: 1e-7}, {First: 3, Last: 3, Change: 1}}, 2}} {
		if got := l.left(c.gaps); got != c.want {
			t.Errorf("%+v: %d runs left, want %d", c.gaps, got, c.want)
		}
	}
}

// TestPacked: what is sent to a host: files with their modes and links, below tree/, of nobody's.
func TestPacked(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a"), []byte("hello"), 0o755), os.Symlink("a", filepath.Join(dir,
		"l"))); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pack(&b, dir, []string{"a", "l"}); err != nil {
		t.Fatal(err)
	}
	texts, err := packed(map[string]string{"y": "2", "x": "1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, from := range []io.Reader{&b, texts} {
		r := tar.NewReader(from)
		for {
			h, err := r.Next()
			if err != nil {
				break
			}
			text, _ := io.ReadAll(r)
			got = append(got, fmt.Sprintf("%s %o %d%d%s%s %s%s", h.Name, h.Mode, h.Uid, h.Gid, h.Uname, h.Gname, h.Linkname, text))
		}
	}
	if said := strings.Join(got, "|"); said != "tree/a 755 00 hello|tree/l 777 00 a|x 600 00 1|y 600 00 2" {
		t.Error(said)
	}
	if err := pack(io.Discard, dir, []string{"gone"}); err == nil || !strings.HasPrefix(err.Error(), "packing gone: ") {
		t.Error(err)
	}
	if got := fmt.Sprintf("%q", splitNUL("a\x00\x00b\x00")); got != `["a" "b"]` {
		t.Error(got)
	}
}

// TestEffect: a change's size, and its error of both sides.
func TestEffect(t *testing.T) {
	if by, err := Effect(moved(1, 1, 30, 10)); by != -20 || err != 5 {
		t.Error(by, err)
	}
	for changes, want := range map[string][]belief.Change{"c2": {moved(1, 1, 1, 2), moved(2, 2, 9, 1)}, "c1": {moved(1, 1, 1, 5), moved(2,
		2, 5, 1)}} {
		c, ok := (&Result{Verdict: belief.Verdict{Changes: want}}).largest()
		if !ok || fmt.Sprintf("c%d", c.Last) != changes {
			t.Errorf("the largest of %+v: %+v", want, c)
		}
	}
	if !countable(0) || countable(math.Inf(1)) || countable(math.NaN()) || !countable(-1e150) || countable(-1.1e150) ||
		!countable(1e-150) || countable(9e-151) {
		t.Error("countable")
	}
}
