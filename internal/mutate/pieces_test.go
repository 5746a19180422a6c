package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const aPatch = "# the door stays open\n# test: ./p -run TestDoor\n--- a/p/p.go\n+++ b/p/p.go\n@@ -3 +3 @@\n" +
	"-func Door() bool { return true }\n" +
	"+func Door() bool { return false }\n"

// TestParse: what a patch is about, and how its tests are started; one that does not say that is refused.
func TestParse(t *testing.T) {
	m, err := parse("x.patch", []byte(aPatch))
	if err != nil || m.name != "x.patch" || m.effect != "the door stays open" || strings.Join(m.test, " ") != "./p -run TestDoor" ||
		!bytes.HasPrefix(m.patch, []byte("--- a/p/p.go\n")) {
		t.Errorf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		"": ":1: expected", "# only\n# test: ./p": ":1: expected", "no effect\n# test: ./p\n\n@@ -1 +1 @@\n": ":1: expected",
		"# x\ntest: ./p\n\n@@ -1 +1 @@\n": ":2: expected", "# x\n# test: \n\n@@ -1 +1 @@\n": ":2: expected",
		"# x\n# test: -run 'A|B'\n\n@@ -1 +1 @@\n": ":2: no shell reads",
		"# x\n# test: -run \"A\"\n\n@@ -1 +1 @@\n": ":2: no shell reads",
		"# x\n# test: ./p\n--- a\n+++ b\n":         ":3: expected a unified diff",
	} {
		if m, err := parse("x.patch", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "x.patch"+want) {
			t.Errorf("%q: %+v, %v; want %s", text, m, err, want)
		}
	}
}

// TestReport: each mistake with how it fared, and whether enough were noticed.
func TestReport(t *testing.T) {
	of := func(how string, n int) (all []result) {
		for range n {
			all = append(all, result{mutation: &mutation{name: "b" + how, effect: "an effect"}, how: how, said: "1\n2\n3\n4\n5\n6\n"})
		}
		return all
	}
	for _, c := range []struct {
		results []result
		lacks   string
		has     []string
		want    string
	}{
		{of(noticed, 1), "6", []string{"noticed      bnoticed\n             an effect\n", "1 of 1 mistakes are noticed.\n"}, ""},
		{append(of(noticed, 97), of(missed, 3)...), "6", []string{"97 of 100 mistakes", "NOT NOTICED  b"}, ""},
		{append(of(noticed, 96), of(missed, 4)...), "6", []string{"96 of 100 mistakes"}, "fewer than 97 of 100 mistakes are noticed"},
		{append(of(noticed, 99), of(stale, 1)...), "1\n", []string{"\n             2\n             3\n", "6\n"},
			"1 patches do not apply, or their tests fail without them"},
		{append(of(unsound, 1), of(stale, 1)...), "1\n", []string{"UNSOUND", "0 of 2"}, "2 patches do not apply"},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "report"))
		if err != nil {
			t.Fatal(err)
		}
		err = report(f, c.results)
		b, rerr := os.ReadFile(f.Name())
		if f.Close(); rerr != nil || (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, %v; want %q", err, rerr, c.want)
		}
		for _, want := range c.has {
			if !strings.Contains(string(b), want) || strings.Contains(string(b), "             "+c.lacks) {
				t.Errorf("%s\nhas no %q, or has %q", b, want, c.lacks)
			}
		}
	}
}

// repository is one with these files, of which the first are committed; it is the working folder then.
func repository(t *testing.T, committed, others map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", t.TempDir())
	put := func(files map[string]string) {
		for name, text := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	git := func(args ...string) {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	put(committed)
	git("init", "-q")
	git("add", "-A")
	put(others)
}

// TestCopyTree: the source is copied as it is, with its modes, links and what is not committed, without what is ignored.
func TestCopyTree(t *testing.T) {
	repository(t, map[string]string{".gitignore": "ignored\n", "a/b": "text", "gone": "", "script": ""},
		map[string]string{"new": "new", "ignored": "x", "a/b": "changed"})
	if err := errors.Join(os.Remove("gone"), os.Chmod("script", 0o755), os.Symlink("a/b", "link")); err != nil {
		t.Fatal(err)
	}
	dir, err := copyTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a/b": "changed", "new": "new", "link": "changed", "script": ""} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if st, err := os.Stat(dir + "/script"); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if to, err := os.Readlink(dir + "/link"); to != "a/b" || err != nil {
		t.Errorf("a link leads to %q, %v", to, err)
	}
	for _, name := range []string{"ignored", "gone", ".git"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is copied", name)
		}
	}
	t.Chdir(t.TempDir())
	if dir, err := copyTree(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "git ls-files: ") {
		t.Errorf("without a repository: %s, %v", dir, err)
	}
}

// TestPatches: a patch whose mistake is noticed, one that is missed, one that does not apply, one whose test fails by itself, and one
// whose test is skipped.
func TestPatches(t *testing.T) {
	at := func(name string) string { return "p/testdata/mutations/" + name + ".patch" }
	with := func(from, to string) string { return strings.Replace(aPatch, from, to, 1) }
	repository(t, map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p/p.go": "package p\n\nfunc Door() bool { return true }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestDoor(t *testing.T) { if !Door() { t.Fail() } }\n\n" +
			"func TestNothing(*testing.T) {}\n\nfunc TestFails(t *testing.T) { t.Fail() }\n\nfunc TestSkips(t *testing.T) { t.Skip() }\n",
		at("1-good"): aPatch, at("2-missed"): with("TestDoor", "TestNothing"), at("3-stale"): with("-func Door", "-func Gate"),
		at("4-broken"): with("return false", "return nothing"), at("5-fails"): with("TestDoor", "TestFails"),
		at("6-skips"): with("TestDoor", "TestSkips"), "p/other.patch": "no mistake"}, nil)
	all, err := find(".", regexp.MustCompile("[0-9]-"))
	if err != nil || len(all) != 6 {
		t.Fatalf("%d patches, %v", len(all), err)
	}
	tree, err := copyTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{noticed, missed, stale, stale, unsound, unsound}
	for i, r := range tryAll(t.Context(), all, []string{tree}) {
		if r.how != want[i] || r.mutation != all[i] || r.took <= 0 || r.took > time.Hour {
			t.Errorf("%s: %s after %s, want %s; said %s", r.name, r.how, r.took, want[i], r.said)
		}
	}
	if b, err := os.ReadFile(tree + "/p/p.go"); err != nil || !strings.Contains(string(b), "return true") {
		t.Errorf("a mistake stays: %s, %v", b, err)
	}
	for only, want := range map[string]string{"(": "-only: ", "none$": "no patch in testdata/mutations matches"} {
		if err := run(t.Context(), only, 1); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("-only %s: %v", only, err)
		}
	}
	if err := os.WriteFile(at("8-bad"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if all, err := find(".", regexp.MustCompile("")); err == nil || !strings.HasPrefix(err.Error(), at("8-bad")+":1: ") {
		t.Errorf("%d patches, %v", len(all), err)
	}
}

// TestScores: of those tried so many are noticed, and more is wanted where data or access depend on the code.
func TestScores(t *testing.T) {
	for _, c := range []struct {
		s                      score
		tried, percent, wanted int
	}{
		{score{pkg: grave[0], noticed: 8, missed: 1, hung: 1, left: 5, all: 15}, 10, 80, enoughGrave}, {score{pkg: "x"}, 0, 100,
			enoughElse},
		{score{pkg: "x", noticed: 2, missed: 1}, 3, 66, enoughElse}, {score{pkg: "x", missed: 1}, 1, 0, enoughElse},
	} {
		if tr, p, w := c.s.tried(), c.s.percent(), c.s.wanted(); tr != c.tried || p != c.percent || w != c.wanted {
			t.Errorf("%+v: %d, %d, %d", c.s, tr, p, w)
		}
	}
}

// TestGeneration: a line of the table for each package, what is not noticed, and whether that is too much.
func TestGeneration(t *testing.T) {
	repository(t, map[string]string{"go.mod": "module m\n\ngo 1.26\n",
		"p/p.go": "package p\n\nfunc Few(n int) bool { return n < 3 }\n\nfunc Many(n int) bool { return n >= 9 }\n\n" +
			"func No(b bool) bool { return !b }\n",
		"p/p_test.go":  "package p\n\nimport \"testing\"\n\nfunc TestP(t *testing.T) { if !Few(2) || !Many(9) || !No(false) { t.Fail() } }\n",
		"q/q.go":       "package q\n\nfunc Few(n int) bool { return n < 3 }\n",
		"q/q_test.go":  "package q\n\nimport \"testing\"\n\nfunc TestQ(t *testing.T) { t.Error(\"it is broken\") }\n",
		"x/broken.txt": ""}, nil)
	var log, out bytes.Buffer
	g := &generation{pkgs: []string{"./p/"}, limit: time.Minute, log: &log}
	err := g.run(t.Context(), &out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err != nil || len(lines) != 3 || lines[2] != "| p | 4 | 3 | 1 | 0 | 0 | 75 | 75 |" ||
		log.String() != "NOT NOTICED p/p.go:3: < becomes <=: func Few(n int) bool { return n < 3 }\n" {
		t.Errorf("%v\n%s\n%s", err, out.String(), log.String())
	}
	same := map[string]string{"p/p.go: >= becomes >: func Many(n int) bool { return n >= 9 }": "why"}
	s, err := g.try(t.Context(), "p", same)
	if err != nil || s.noticed != 2 || s.missed != 1 || s.left != 1 || s.all != 4 || len(s.survivors) != 1 || s.spent <= 0 {
		t.Errorf("with one that changes nothing: %+v, %v", s, err)
	}
	g = &generation{pkgs: []string{"q"}, limit: time.Minute, log: &log}
	if err := g.run(t.Context(), &out); err == nil || !strings.HasPrefix(err.Error(), "TestQ of q fails as it is: ") ||
		!strings.Contains(err.Error(), "it is broken") {
		t.Errorf("tests that fail: %v", err)
	}
}
