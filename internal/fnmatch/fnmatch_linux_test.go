package fnmatch

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestAsLibc compares with find(1), whose -name is the C library's fnmatch(3).
func TestAsLibc(t *testing.T) {
	find := means.Tool(t, "find")
	dir := t.TempDir()
	var names []string
	r := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		b := make([]byte, 1+r.IntN(most))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 150 {
		name := word("abcB1-]^x.", 5)
		if name == "." || name == ".." || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	patterns := []string{
		"*",
		"a*",
		"?b*",
		"[a-c]*",
		"[!a-c]*",
		"[^a]*",
		"[]a]*",
		"[]-]*",
		"[a-]*",
		`\a*`,
		`[\]a]*`,
		"[[:alpha:]]*",
		"[[:digit:]-]*",
		"[[:upper:][:digit:]]?",
		"a[",
		"*.",
		"**x",
		"[a",
		"[!]a]*",
	}
	for range 400 {
		patterns = append(patterns, word("abB1*?[]!-x.", 6))
	}
	matched := 0
	for _, p := range patterns {
		// "[]" and the like in the midst of a set that is not closed are the C
		// library's own affair: it has differed from release to release.
		if strings.Count(p, "[") > 1 && !strings.Contains(p, "[:") {
			continue
		}
		cmd := exec.Command(find, dir, "-mindepth", "1", "-name", p, "-printf", "%f\n")
		cmd.Env = []string{"LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		theirs := strings.Fields(string(out))
		for _, name := range names {
			if got, want := Match(p, name), slices.Contains(theirs, name); got != want {
				t.Errorf("pattern %q, name %q: %v; find says %v", p, name, got, want)
			}
		}
		matched += len(theirs)
	}
	if matched < 500 {
		t.Errorf("only %d names matched: nothing was compared", matched)
	}
}
