package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

import "time"

const limit = 5 * time.Minute

func f(from, to string, n int, l locker) (int, error) {
	defer l.Unlock()
	if n < 3 && !l.held() || from == to {
		return 0, nil
	}
	for range n {
		continue
	}
	l.Sync()
	n = min(n, 7) + n
	s := "a" + from
	if err := g(from, to, s); err != nil {
		return n, err
	}
	return n, nil
}
`

// Each kind of mistake is made, and each is one that compiles as Go.
func TestSites(t *testing.T) {
	all, err := sites("p/f.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.what)
		if changed := m.apply([]byte(source)); !valid(changed) {
			t.Errorf("%s makes no Go:\n%s", m.what, changed)
		} else if string(changed) == source {
			t.Errorf("%s changes nothing", m.what)
		}
	}
	for _, want := range []string{"time.Minute becomes Second", "defer Unlock is left out", "< becomes <=", "< becomes >=", "&& becomes ||",
		"|| becomes &&", "! is left out", "== becomes !=", "!= becomes ==", "continue becomes break", "Sync is left out", "min becomes max",
		"+ becomes -", "from and to are swapped", "to and s are swapped", "the error is dropped"} {
		if !slices.Contains(got, want) {
			t.Errorf("no mistake %q among %q", want, got)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != "+ becomes -" })); n != 1 {
		t.Errorf("%d sums are taken for numbers; words are put together with + too", n)
	}
}

// As many turns as it takes try every mistake.
func TestEachHasItsTurn(t *testing.T) {
	all, err := sites("p/f.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*mutant]bool{}
	for turn := 0; turn*4 < len(all); turn++ {
		for _, m := range chosen(all, 4, turn) {
			seen[m] = true
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d mistakes had their turn", len(seen), len(all))
	}
}

func TestCoverage(t *testing.T) {
	l, err := readCoverage(strings.NewReader("mode: set\nfettle/p/f.go:3.10,5.2 2 1\nfettle/p/f.go:7.1,9.2 1 0\n"))
	if err != nil || !l.has("p/f.go", 4) || l.has("p/f.go", 8) || l.has("p/f.go", 6) || l.has("q/f.go", 4) {
		t.Errorf("%v, %v", l, err)
	}
}

// The condition of a case has run where its switch has, whether the case was taken or not; whether a constant of
// the package was used no profile says.
func TestWhatMustHaveRun(t *testing.T) {
	all, err := sites("p/f.go", []byte(`package p

const limit = 3 + 4

func f(n int) int {
	switch n++; {
	case n < limit:
	case n > 9:
		switch {
		case n == 5:
			return n - 1
		}
	}
	return n
}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	for _, m := range all {
		got[m.line] = m.ran
	}
	if want := map[int]int{3: 0, 7: 6, 8: 6, 10: 9, 11: 11}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A mistake that is said to change nothing says why.
func TestEquivalents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	for text, ok := range map[string]bool{"# a comment\n\np/f.go: < becomes <=: if n < 3 { # three is not reached\n": true,
		"p/f.go: < becomes <=: if n < 3 {\n": false} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readEquivalents(name)
		if (err == nil) != ok || ok && got["p/f.go: < becomes <=: if n < 3 {"] != "three is not reached" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := readEquivalents("testdata/equivalent.txt"); err != nil {
		t.Error(err)
	}
}

// TestNamedPackages: what is grave, or has tests elsewhere, is there.
func TestNamedPackages(t *testing.T) {
	named := slices.Concat(grave, slow, children, reached)
	for pkg, tests := range further {
		named = append(named, pkg, tests[0])
	}
	for _, dir := range named {
		if files, _ := filepath.Glob(filepath.Join("../..", dir, "*.go")); len(files) == 0 {
			t.Errorf("%s has no Go", dir)
		}
	}
}
