package bisect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorktrees: one that a killed hunt left is taken over, with what its builds made; what is none of ours is refused.
func TestWorktrees(t *testing.T) {
	dir, hashes := repository(t, []map[string]string{{"a": "1", ".gitignore": "*.o\n"}, {"a": "2", "b": "x"}, {"a": "3"}})
	ctx := t.Context()
	h, err := ReadHistory(ctx, dir, hashes[0], hashes[2])
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "tree")
	if _, err := addWorktree(ctx, h, at); err != nil {
		t.Fatal(err)
	}
	w, err := addWorktree(ctx, h, at)
	if err != nil {
		t.Fatal("its own is refused:", err)
	}
	holds := func() string {
		var out []string
		names, _ := filepath.Glob(filepath.Join(at, "[a-z]*"))
		for _, name := range names {
			b, _ := os.ReadFile(name)
			out = append(out, filepath.Base(name)+"="+string(b))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ hash, want string }{{hashes[1], "a=2 b=x"}, {hashes[2], "a=3 b=x built.o=o"}, {hashes[0], "a=1 built.o=o"}} {
		write(t, filepath.Join(w.gitDir(ctx), "index.lock"), "", 0o600) // of a killed hunt
		if err := w.checkout(ctx, c.hash); err != nil || holds() != c.want {
			t.Errorf("%s holds %q (%v), want %q", c.hash, holds(), err, c.want)
		}
		write(t, filepath.Join(at, "built.o"), "o", 0o600)
		write(t, filepath.Join(at, "left"), "l", 0o600)
		write(t, filepath.Join(at, "a"), "changed", 0o600)
	}
	names, err := w.ignored(ctx, []string{"a", "built.o", "left", "x y.o"})
	if err != nil || !slices.Equal(names, []string{"built.o", "x y.o"}) {
		t.Errorf("ignored are %q (%v)", names, err)
	}
	if names, err := w.ignored(ctx, []string{"a"}); err != nil || len(names) > 0 {
		t.Errorf("ignored are %q (%v)", names, err)
	}
	err = w.checkout(ctx, "0123456789abcdef")
	if err == nil || !strings.HasPrefix(err.Error(), "checking out 0123456789abcdef: git checkout: ") {
		t.Error(err)
	}
	if err := w.remove(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		t.Errorf("the worktree is left: %v", err)
	}
	other, _ := repository(t, []map[string]string{{"a": "1"}, {"a": "2"}})
	file, below := filepath.Join(t.TempDir(), "file"), filepath.Join(dir, "below")
	write(t, file, "x", 0o600)
	write(t, filepath.Join(below, "mine"), "x", 0o600)
	for place, want := range map[string]string{other: "it belongs to another repository", file: "it is not a folder",
		below: "it belongs to another repository"} {
		_, err := addWorktree(ctx, h, place)
		if full := place + " is not a worktree that a hunt left (" + want + "); remove it"; err == nil || err.Error() != full {
			t.Errorf("%s: %v, want %s", place, err, full)
		}
	}
}

// TestBeginsAnew: a hunt goes on with its journal, and forgets it where that is asked for.
func TestBeginsAnew(t *testing.T) {
	git := t.TempDir()
	h := &Hunt{History: commits(3), Command: Command{Run: "x"}}
	h.History.GitDir = git
	for _, c := range []struct {
		fresh bool
		runs  int
		logs  bool
	}{{false, 0, false}, {false, 1, true}, {true, 0, false}, {false, 1, true}} {
		h.Fresh = c.fresh
		s, err := h.begin()
		if err != nil {
			t.Fatal(err)
		}
		_, none := os.Stat(filepath.Join(h.Logs(), "c1.log"))
		if s.runs() != c.runs || (none == nil) != c.logs {
			t.Errorf("fresh %v: %d runs, want %d; logs are kept: %v", c.fresh, s.runs(), c.runs, none == nil)
		}
		if err := s.journal.add(entry{Commit: "c1", Figure: 1}); err != nil || s.runs() != c.runs+1 {
			t.Errorf("%d runs (%v)", s.runs(), err)
		}
		write(t, filepath.Join(h.Logs(), "c1.log"), "", 0o600)
		s.journal.close()
		if c.runs == 1 {
			if err := os.WriteFile(filepath.Join(h.dir(), "journal.jsonl"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.History.GitDir = filepath.Join(git, "gone")
	if _, err := h.begin(); err == nil || !strings.HasPrefix(err.Error(), "the hunt's folder "+git+"/gone/fettle-bisect: ") {
		t.Error(err)
	}
}

// TestFromABranch: where the good end lies on a branch, the line begins with it and goes on with the merge that brought it.
func TestFromABranch(t *testing.T) {
	g := newGraph(t)
	for _, args := range [][]string{{"commit", "-q", "--allow-empty", "-m", "m0"}, {"checkout", "-q", "-b", "side"},
		{"commit", "-q", "--allow-empty", "-m", "b1"}, {"tag", "b1"}, {"commit", "-q", "--allow-empty", "-m", "b2"}, {"checkout", "-q", "main"},
		{"commit", "-q", "--allow-empty", "-m", "m1"}, {"commit", "-q", "--allow-empty", "-m", "m2"},
		{"merge", "-q", "--no-ff", "-m", "M", "side"},
		{"commit", "-q", "--allow-empty", "-m", "m3"}} {
		g.git(args...)
	}
	for _, c := range []struct{ good, bad, want string }{
		{"b1", "main", "b1 M m3"}, {"side", "main", "b2 M m3"}, {"b1", "side", "b1 b2"},
		{"main~3", "main", "m1 m2 M m3"}, {"b1", "main~1", "b1 M"},
	} {
		h, err := ReadHistory(t.Context(), g.dir, c.good, c.bad)
		if err != nil {
			t.Errorf("%s..%s: %v", c.good, c.bad, err)
			continue
		}
		var got []string
		for _, one := range h.Commits {
			got = append(got, one.Subject)
		}
		if said := strings.Join(got, " "); said != c.want || h.tip().Subject != got[len(got)-1] || len(h.tip().Short()) != 12 {
			t.Errorf("%s..%s: %s, want %s", c.good, c.bad, said, c.want)
		}
		if !Older(t.Context(), g.dir, c.bad, c.good) || Older(t.Context(), g.dir, c.good, c.bad) {
			t.Errorf("which of %s and %s is older is not known", c.good, c.bad)
		}
	}
	if Older(t.Context(), g.dir, "main", "nosuch") {
		t.Error("older than what is not there")
	}
}
