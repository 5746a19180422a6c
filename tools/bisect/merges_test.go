package bisect

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// graph is a repository made by hand. The figure of a commit is the sum of the
// numbers in its files, so that what two branches do adds up when they are merged.
type graph struct {
	t   *testing.T
	dir string
}

func newGraph(t *testing.T) *graph {
	g := &graph{t, t.TempDir()}
	g.git("init", "-q", "-b", "main")
	return g
}

func (g *graph) git(args ...string) string {
	g.t.Helper()
	return g.feed("", args...)
}

// feed is git with an input.
func (g *graph) feed(input string, args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", g.dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit that sets a file to a number, and tags it.
func (g *graph) commit(name string, figure int) {
	g.t.Helper()
	write(g.t, filepath.Join(g.dir, "part-"+name), fmt.Sprintln(figure), 0o644)
	g.git("add", "-A")
	g.git("commit", "-q", "-m", name)
	g.git("tag", name)
}

// branch begins one at a tag.
func (g *graph) branch(name, at string) { g.git("checkout", "-q", "-b", name, at) }

func (g *graph) merge(name, into string, branches ...string) {
	g.git("checkout", "-q", into)
	g.git(append([]string{"merge", "-q", "--no-ff", "-m", name}, branches...)...)
	g.git("tag", name)
}

// several makes commits that change nothing.
func (g *graph) several(name string, n int) {
	for i := range n {
		g.commit(fmt.Sprint(name, i), 0)
	}
}

const sumOfParts = `cat part-* | awk '{ n += $1 } END { print n }'`

// found are the subjects of the commits that a hunt blames, those inside a
// merge behind it; "itself" where nothing that it brought moved the figure.
func found(h *History, r *Result) string {
	var all []string
	for _, c := range r.Verdict.Changes {
		text := h.Commits[c.Last].Subject
		if branches, into := r.Brought[c.Last]; into {
			var inner []string
			for _, b := range branches {
				switch {
				case b.Result == nil:
					inner = append(inner, "?")
				case len(b.Result.Verdict.Changes) > 0:
					inner = append(inner, found(b.History, b.Result))
				}
			}
			if len(inner) == 0 {
				inner = []string{"itself"}
			}
			text += "(" + strings.Join(inner, " ") + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func (g *graph) hunt(good, bad string, firstParent bool) (*Hunt, *Result) {
	g.t.Helper()
	h := hunt(g.t, g.dir, []string{good, bad}, Command{Run: sumOfParts})
	h.FirstParent, h.Fresh = firstParent, true
	r, err := h.Run(context.Background())
	if err != nil {
		g.t.Fatal(err)
	}
	return h, r
}

func TestMerges(t *testing.T) {
	means.Short(t, "takes seconds")
	g := newGraph(t)
	g.commit("start", 100)
	g.several("main-a", 3)
	g.branch("quiet", "start")
	g.several("quiet", 2)
	g.merge("merge-quiet", "main", "quiet")
	g.branch("topic", "main-a1")
	g.several("topic-a", 3)
	g.branch("deep", "topic-a0")
	g.several("deep-a", 2)
	g.commit("slow", 20)
	g.several("deep-b", 2)
	g.merge("merge-deep", "topic", "deep")
	g.several("topic-b", 2)
	g.git("checkout", "-q", "main")
	g.several("main-b", 2)
	g.merge("merge-topic", "main", "topic")
	g.several("main-c", 2)
	for _, c := range []struct {
		good, bad   string
		firstParent bool
		want        string
	}{
		{"start", "main", false, "merge-topic(merge-deep(slow))"},
		{"start", "main", true, "merge-topic"},
		{"topic-a0", "topic", false, "merge-deep(slow)"},
		// The good end is on a branch: main's own commits do not have it.
		{"topic-a0", "main", false, "merge-topic(merge-deep(slow))"},
		{"deep-a1", "main", false, "merge-topic(merge-deep(slow))"},
	} {
		h, r := g.hunt(c.good, c.bad, c.firstParent)
		if got := found(h.History, r); got != c.want || !r.Sure || r.Confidence() < 0.95 {
			t.Errorf("%s..%s: %s (sure: %v, %.3f), want %s", c.good, c.bad, got, r.Sure, r.Confidence(), c.want)
		}
		for _, commit := range h.History.Commits {
			g.git("merge-base", "--is-ancestor", c.good, commit.Hash)
		}
	}
}

// A merge of three branches: two of them moved the figure, on both ways.
func TestOctopus(t *testing.T) {
	g := newGraph(t)
	g.commit("start", 100)
	for _, b := range []struct {
		name   string
		figure int
	}{{"one", 30}, {"two", 0}, {"three", -10}} {
		g.branch(b.name, "start")
		g.several(b.name+"-a", 2)
		g.commit(b.name+"-did", b.figure)
		g.several(b.name+"-b", 2)
	}
	g.git("checkout", "-q", "main")
	g.several("main", 3)
	g.merge("octopus", "main", "one", "two", "three")
	g.several("after", 2)
	h, r := g.hunt("start", "main", false)
	if got, want := found(h.History, r), "octopus(one-did three-did)"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// A merge whose own resolution moved the figure, and one that brought a
// history of its own.
func TestTheMergeItself(t *testing.T) {
	g := newGraph(t)
	g.commit("start", 100)
	g.branch("topic", "start")
	g.several("topic", 4)
	g.git("checkout", "-q", "main")
	g.several("main", 2)
	g.git("merge", "-q", "--no-commit", "--no-ff", "topic")
	g.commit("evil", 50)
	g.several("after", 2)
	h, r := g.hunt("start", "main", false)
	if got := found(h.History, r); got != "evil(itself)" {
		t.Errorf("found %s", got)
	}
	g.git("checkout", "-q", "--orphan", "foreign")
	g.git("rm", "-q", "-rf", ".")
	g.commit("foreign-start", 0)
	g.several("foreign-a", 2)
	g.commit("foreign-slow", 7)
	g.several("foreign-b", 2)
	g.git("checkout", "-q", "main")
	g.git("merge", "-q", "--allow-unrelated-histories", "-m", "subtree", "foreign")
	g.several("last", 2)
	h, r = g.hunt("after1", "main", false)
	if got := found(h.History, r); got != "subtree(foreign-slow)" {
		t.Errorf("found %s", got)
	}
}

// A branch whose tip cannot be built: the merge is named, the branch is not judged.
func TestABranchThatDoesNotBuild(t *testing.T) {
	g := newGraph(t)
	g.commit("start", 100)
	g.branch("topic", "start")
	g.several("topic", 3)
	g.commit("topic-broken", 30)
	write(t, filepath.Join(g.dir, "broken"), "", 0o644)
	g.git("add", "-A")
	g.git("commit", "-q", "--amend", "--no-edit")
	g.git("checkout", "-q", "main")
	g.several("main", 3)
	g.git("merge", "-q", "--no-commit", "--no-ff", "topic")
	g.git("rm", "-q", "-f", "broken")
	g.git("commit", "-q", "-m", "merge")
	h := hunt(t, g.dir, []string{"start", "main"}, Command{Run: sumOfParts, Build: "! test -e broken"})
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := found(h.History, r); got != "merge(?)" || r.Sure || !strings.Contains(r.Brought[r.Merges()[0]][0].Why, "topic-broken") {
		t.Errorf("found %s, sure: %v", got, r.Sure)
	}
}

// git itself replays the log of a hunt that went into a merge.
func TestGitReplaysTheLogOfAMerge(t *testing.T) {
	g := newGraph(t)
	g.commit("start", 100)
	g.branch("topic", "start")
	g.several("topic-a", 6)
	g.commit("slow", 20)
	g.several("topic-b", 6)
	g.git("checkout", "-q", "main")
	g.several("main-a", 6)
	g.merge("merge", "main", "topic")
	g.several("main-b", 6)
	h, r := g.hunt("start", "main", false)
	log := filepath.Join(t.TempDir(), "log")
	write(t, log, r.GitLog(h.History, Terms{"fast", "slow"}), 0o644)
	out := g.git("bisect", "replay", log)
	if want := g.git("rev-parse", "slow^{commit}") + " is the first slow commit"; !strings.Contains(out, want) {
		b, _ := os.ReadFile(log)
		t.Errorf("want %q:\n%s\n%s", want, out, b)
	}
	if !slices.Equal(r.Merges(), []int{7}) {
		t.Errorf("merges at %v", r.Merges())
	}
}
