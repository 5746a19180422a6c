package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ARCHITECTURE.md draws every folder that has Go in it, none that is gone, and
// has a row for every module that go.mod asks for.
func TestArchitectureIsDrawnAsItStands(t *testing.T) {
	b, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > 200 {
		t.Errorf("ARCHITECTURE.md has %d lines: it is to be read in one sitting, in 200; decisions belong in docs/decisions.md", n)
	}
	_, rest, _ := strings.Cut(string(b), "```\n")
	tree, rest, _ := strings.Cut(rest, "```\n")
	drawn := map[string]bool{}
	for _, m := range regexp.MustCompile(`([\w-]+)/`).FindAllStringSubmatch(tree, -1) {
		drawn[m[1]] = true
	}
	there := map[string]bool{"kernels": true, "ansible": true, "NAME": true, "proof": true} // recipes; a collection; each trap's
	for _, dir := range folders(t) {
		name := filepath.Base(dir)
		there[name] = true
		for up := filepath.Dir(dir); up != "."; up = filepath.Dir(up) {
			there[filepath.Base(up)] = true
		}
		if inOneTrap(dir) || drawn[name] {
			continue
		}
		t.Errorf("ARCHITECTURE.md does not draw the folder %s", dir)
	}
	for name := range drawn {
		if !there[name] {
			t.Errorf("ARCHITECTURE.md draws %s/, which is not there", name)
		}
	}
	modulesHaveReasons(t, rest)
}

// folders are those with Go files, relative to the top.
func folders(t *testing.T) []string {
	seen := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case strings.HasSuffix(p, ".go"):
			seen[filepath.Dir(p)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for dir := range seen {
		out = append(out, dir)
	}
	return out
}

// inOneTrap: the folders of traps are alike, and drawn once.
func inOneTrap(dir string) bool {
	parts := strings.Split(dir, "/")
	return parts[0] == "traps" && len(parts) > 1 && parts[1] != "rules" && parts[1] != "proofs"
}

func modulesHaveReasons(t *testing.T, text string) {
	t.Helper()
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		m := regexp.MustCompile(`^\t(\S+) v\S+$`).FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		parts := strings.Split(m[1], "/")
		name := parts[len(parts)-1]
		if regexp.MustCompile(`^v\d+$`).MatchString(name) {
			name = parts[len(parts)-2]
		}
		if !regexp.MustCompile(`(?m)^\|.*[/ ]` + regexp.QuoteMeta(name) + `\b.*\|`).MatchString(text) {
			t.Errorf("ARCHITECTURE.md gives no reason for the module %s", m[1])
		}
	}
}
