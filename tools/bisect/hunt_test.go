package bisect

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/bisect/belief"
)

// repository makes a git repository; each commit holds the given files.
func repository(t *testing.T, commits []map[string]string) (dir string, hashes []string) {
	t.Helper()
	g := newGraph(t)
	var stream strings.Builder // git-fast-import(1)
	for i, files := range commits {
		subject := fmt.Sprintf("commit %d", i)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\n", time.Now().Unix())
		fmt.Fprintf(&stream, "data %d\n%s\n", len(subject), subject)
		for name, text := range files {
			fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
		}
	}
	g.feed(stream.String(), "fast-import", "--quiet")
	g.git("reset", "-q", "--hard")
	return g.dir, strings.Fields(g.git("rev-list", "--reverse", "main"))
}

// speeds is a history whose file "speed" says how fast a commit is.
func speeds(n int, at map[int]string) []map[string]string {
	commits := make([]map[string]string, n)
	for i := range commits {
		commits[i] = map[string]string{"count": fmt.Sprint(i)}
		if s, ok := at[i]; ok {
			commits[i]["speed"] = s
		}
	}
	return commits
}

// noisy prints the speed and up to 2 of noise: the same from one test run to the next,
// as a hunt may be wrong as often as its confidence says.
func noisy(t *testing.T) string {
	t.Helper()
	seed := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(seed, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`n=$(( ($(cat %[1]s) * 1103515245 + 12345) %% 2147483648 )); echo $n >%[1]s.$$; mv %[1]s.$$ %[1]s; echo "warming up"; `+
		`echo $(( $(cat speed) * 100 + n / 65536 %% 256 * 200 / 255 ))`, seed)
}

func hunt(t *testing.T, dir string, hashes []string, c Command) *Hunt {
	t.Helper()
	if c.Limit == 0 {
		c.Limit = time.Minute
	}
	h, err := ReadHistory(context.Background(), dir, hashes[0], hashes[len(hashes)-1])
	if err != nil {
		t.Fatal(err)
	}
	return &Hunt{History: h, Command: c, Confidence: 0.95, Prior: belief.One, MaxRuns: 200}
}

func wantChanges(t *testing.T, r *Result, want ...int) {
	t.Helper()
	var got []int
	for _, c := range r.Verdict.Changes {
		if c.First != c.Last {
			t.Errorf("change left at %d-%d", c.First, c.Last)
		}
		got = append(got, c.Last)
	}
	if !r.Sure || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %v (sure: %v, %.3f) in %d runs, want %v", got, r.Sure, r.Verdict.Confidence, len(r.Runs), want)
	}
}

// One change that explains a part only is not the end of it: nobody asked for several.
func TestLooksOn(t *testing.T) {
	means.Short(t, "takes seconds")
	dir, hashes := repository(t, speeds(40, map[int]string{0: "4", 16: "9", 23: "15"}))
	for _, prior := range []belief.Prior{belief.One, {None: 0.02, Extra: 1e-9}} {
		h := hunt(t, dir, hashes, Command{Run: noisy(t)})
		h.Prior, h.Fresh = prior, true
		r, err := h.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		wantChanges(t, r, 16, 23)
		if r.Partial() {
			t.Errorf("%+v explain only a part of %+v", r.Verdict.Changes, r.Ends)
		}
	}
}

func TestPartial(t *testing.T) {
	change := func(before, after float64) belief.Change {
		return belief.Change{Before: belief.Level{Mean: before}, After: belief.Level{Mean: after}}
	}
	for _, c := range []struct {
		first, last, err float64
		changes          []belief.Change
		want             bool
	}{
		{400, 1500, 50, []belief.Change{change(400, 900)}, true},
		{400, 1500, 50, []belief.Change{change(400, 900), change(900, 1500)}, false},
		{400, 1500, 400, []belief.Change{change(400, 900)}, false}, // noise
		{1500, 400, 50, []belief.Change{change(1500, 900)}, true},
		{400, 900, 50, []belief.Change{change(430, 880)}, false},
		{400, 450, 5, []belief.Change{change(400, 900)}, true}, // something takes it back
		{400, 1500, 50, nil, false},
	} {
		r := Result{Verdict: belief.Verdict{Changes: c.changes},
			Ends: [2]belief.Level{{Mean: c.first, Error: c.err}, {Mean: c.last, Error: c.err}}}
		if r.Partial() != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestTwoChangesAndABrokenBuild(t *testing.T) {
	commits := speeds(40, map[int]string{0: "10", 12: "20", 29: "15"})
	commits[20]["broken"], commits[21]["broken"] = "yes", ""
	dir, hashes := repository(t, commits)
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := hunt(t, dir, hashes, Command{Build: `! grep -q yes broken 2>/dev/null`, Run: noisy(t)})
	h.Jobs, h.Prior = 2, belief.Several
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, r, 12, 29)
	if by, _ := Effect(r.Verdict.Changes[0]); by < 800 || by > 1200 {
		t.Errorf("the first change is put at %+.0f, want about +1000", by)
	}
	out, _ := exec.Command("git", "-C", dir, "status", "--porcelain").Output()
	if string(out) != "?? mine\n" {
		t.Errorf("the user's tree was touched: %q", out)
	}
	out, _ = exec.Command("git", "-C", dir, "worktree", "list").Output()
	if n := strings.Count(string(out), "\n"); n != 1 {
		t.Errorf("worktrees are left:\n%s", out)
	}
}

func TestFlakyTest(t *testing.T) {
	dir, hashes := repository(t, speeds(30, map[int]string{0: "13", 17: "205"}))
	h := hunt(t, dir, hashes, Command{Kind: belief.Tests, Run: `test $(od -An -N1 -tu1 /dev/urandom) -ge $(cat speed)`})
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// Right 95 of 100 times: a neighbour may be named now and then.
	if len(r.Verdict.Changes) != 1 || !r.Sure || r.Verdict.Changes[0].Last < 15 || r.Verdict.Changes[0].Last > 19 {
		t.Errorf("%+v", r.Verdict)
	}
}

// A commit that hangs, and one that prints no number, are skipped, and said to
// be: the change hides among them and the next that can be read.
func TestHangIsASkip(t *testing.T) {
	commits := speeds(9, map[int]string{0: "1", 5: "9"})
	commits[4]["how"], commits[5]["how"], commits[6]["how"] = "hang", "nothing", ""
	dir, hashes := repository(t, commits)
	h := hunt(t, dir, hashes, Command{Limit: 2 * time.Second,
		Run: `case "$(cat how 2>/dev/null)" in hang) sleep 600 & wait;; nothing) echo fast;; *) cat speed;; esac`})
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Verdict.Changes) != 1 || r.Verdict.Changes[0].First != 4 || r.Verdict.Changes[0].Last != 6 || !r.Sure {
		t.Errorf("%+v", r.Verdict)
	}
	if !strings.Contains(r.Skipped[4], "longer than 2s") || !strings.Contains(r.Skipped[5], "printed no figure") {
		t.Errorf("skipped: %v", r.Skipped)
	}
}

func TestEndWithoutAReading(t *testing.T) {
	dir, hashes := repository(t, speeds(5, map[int]string{0: "1", 3: "NaN"}))
	_, err := hunt(t, dir, hashes, Command{Run: "cat speed"}).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "an end of the history") || !strings.Contains(err.Error(), `"NaN"`) {
		t.Errorf("error: %v", err)
	}
}

// A hunt that is killed goes on with what it has read, whatever the last line
// of its journal looks like.
func TestResume(t *testing.T) {
	means.Short(t, "takes seconds")
	dir, hashes := repository(t, speeds(200, map[int]string{0: "10", 121: "11"}))
	counted := filepath.Join(t.TempDir(), "runs")
	c := Command{Run: "echo x >>" + counted + "; " + noisy(t)}
	h := hunt(t, dir, hashes, c)
	ctx, kill := context.WithCancel(context.Background())
	h.Tell = func(p Progress) {
		if p.Runs == 6 {
			kill()
		}
	}
	if _, err := h.Run(ctx); err == nil {
		t.Fatal("a cancelled hunt ended without an error")
	}
	journal := filepath.Join(h.History.GitDir, "fettle-bisect", "journal.jsonl")
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, `{"commit":"%s","fig`, hashes[3])
	f.Close()
	h = hunt(t, dir, hashes, c)
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) < 7 {
		t.Errorf("%d runs in all", len(r.Runs))
	}
	wrote, _ := os.ReadFile(counted)
	if n := strings.Count(string(wrote), "x"); n > len(r.Runs)+1 {
		t.Errorf("%d runs were made for %d that count: some twice", n, len(r.Runs))
	}
	// Another command is another hunt.
	if _, err := hunt(t, dir, hashes, Command{Run: "cat speed"}).Run(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "--fresh") {
		t.Errorf("error: %v", err)
	}
}

func TestBadRevisions(t *testing.T) {
	dir, hashes := repository(t, speeds(3, map[int]string{0: "1"}))
	for _, c := range []struct{ good, bad, want string }{
		{"nosuch", hashes[2], "nosuch is no commit of"},
		{hashes[1], hashes[1], "same commit"},
		{hashes[2], hashes[0], "is not an ancestor of"},
	} {
		if _, err := ReadHistory(context.Background(), dir, c.good, c.bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s..%s: %v, want %q", c.good, c.bad, err, c.want)
		}
	}
	if _, err := ReadHistory(context.Background(), t.TempDir(), "a", "b"); err == nil ||
		!strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("error: %v", err)
	}
}

// git itself replays the log.
func TestGitReplaysTheLog(t *testing.T) {
	dir, hashes := repository(t, speeds(16, map[int]string{0: "1", 11: "9"}))
	h := hunt(t, dir, hashes, Command{Run: "cat speed"})
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(r.GitLog(h.History, Terms{"fast", "slow"})), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", dir, "bisect", "replay", log).CombinedOutput()
	if err != nil || !strings.Contains(string(out), hashes[11]+" is the first slow commit") {
		t.Errorf("%v\n%s", err, out)
	}
}
