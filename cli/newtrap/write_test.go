package newtrap

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	traps = "package traps\n\nimport (\n\t\"fettle/traps/first\"\n)\n\nfunc All() []*trap.Trap {\n\tall := " +
		"[]*trap.Trap{\n\t\t&first.Trap,\n\t}\n" +
		"\treturn all\n}\n"
	proofs = "package proofs\n\nimport (\n\t\"fettle/traps/first\"\n\tfirstproof \"fettle/traps/first/proof\"\n)\n\nfunc All() []Proof {\n" +
		"\treturn []Proof{\n\t\t{&first.Trap, firstproof.Scenarios, nil, firstproof.Sabotages},\n\t}\n}\n"
)

// small is a checkout with the two lists and nothing else.
func small(t *testing.T, mod, traps, proofs string) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll(filepath.Join(dir, "traps/proofs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": mod, "traps/all.go": traps, "traps/proofs/all.go": proofs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); text != "" && err != nil {
			t.Fatal(err)
		} else if text == "" {
			os.Remove(filepath.Join(dir, name))
		}
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWrites: the folder, each file filled in, and the trap last in both lists.
func TestWrites(t *testing.T) {
	dir := small(t, "module fettle\n\ngo 1.25\n", traps, proofs)
	files, err := Write(dir, "disk-full-2")
	if err != nil {
		t.Fatal(err)
	}
	const want = "traps/diskfull2/lore.md traps/diskfull2/proof/sabotages.go traps/diskfull2/proof/scenarios.go " +
		"traps/diskfull2/testdata/healthy-absent.txtar traps/diskfull2/testdata/healthy.txtar traps/diskfull2/testdata/incomplete.txtar " +
		"traps/diskfull2/testdata/said/trapped.txt traps/diskfull2/testdata/trapped.txtar traps/diskfull2/trap.go traps/diskfull2/trap_test.go " +
		"traps/all.go traps/proofs/all.go"
	if got := strings.Join(files, " "); got != want {
		t.Errorf("wrote %s", got)
	}
	for _, name := range files {
		text := read(t, dir, name)
		if strings.Contains(text, "<<") || strings.Contains(text, ">>") || text == "" {
			t.Errorf("%s is not filled in:\n%s", name, text)
		}
		if strings.HasSuffix(name, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, 0); err != nil {
				t.Error(err)
			}
		}
	}
	if lore, code := read(t, dir, files[0]), read(t, dir, "traps/diskfull2/trap.go"); !strings.Contains(lore, "\nid: disk-full-2\n") ||
		!strings.Contains(code, "package diskfull2\n") {
		t.Errorf("%s\n%s", lore, code)
	}
	for name, want := range map[string]string{
		"traps/all.go": "import (\n\t\"fettle/traps/diskfull2\"\n\t\"fettle/traps/first\"\n)|" +
			"\t\t&first.Trap,\n\t\t&diskfull2.Trap,\n\t}\n\treturn all\n",
		"traps/proofs/all.go": "import (\n\t\"fettle/traps/diskfull2\"\n\tdiskfull2proof " +
			"\"fettle/traps/diskfull2/proof\"\n\t\"fettle/traps/first\"\n" +
			"\tfirstproof \"fettle/traps/first/proof\"\n)|firstproof.Sabotages},\n\t\t{&diskfull2.Trap, diskfull2proof.Scenarios, nil, " +
			"diskfull2proof.Sabotages},\n\t}\n",
	} {
		for _, part := range strings.Split(want, "|") {
			if got := read(t, dir, name); !strings.Contains(got, part) {
				t.Errorf("%s lacks\n%s\nit is\n%s", name, part, got)
			}
		}
	}
}

// TestIDs: they name a folder, a package and a line in lists.
func TestIDs(t *testing.T) {
	long := strings.Repeat("a", 60)
	for id, good := range map[string]bool{"a": true, "a1-2b": true, long: true, long + "a": false, "": false, "1a": false, "a-": false,
		"-a":   false,
		"a--b": false, "a_b": false, "A": false, "a b": false, "a\n": false, "../a": false} {
		dir := small(t, "module fettle\n", traps, proofs)
		_, err := Write(dir, id)
		if (err == nil) != good || !good && !strings.Contains(err.Error(), "lower-case words joined by dashes, as in bridge-mtu") {
			t.Errorf("%q: %v", id, err)
		}
		if es, _ := os.ReadDir(filepath.Join(dir, "traps")); !good && len(es) != 2 {
			t.Errorf("%q made %v", id, es)
		}
	}
}

// TestOtherFolders: where the sources are not as expected nothing is made up, and what is left to do is said.
func TestOtherFolders(t *testing.T) {
	noBlock := "package traps\n\nimport \"fettle/traps/first\"\n\nvar all = []*trap.Trap{\n\t\t&first.Trap,\n}\n"
	noList := "package traps\n\nimport (\n\t\"x\"\n)\n"
	for name, c := range map[string]struct {
		mod, traps, proofs string
		want               string
		made               bool // the folder of the trap
	}{
		"no go.mod":      {"", traps, proofs, "is not fettle's source folder", false},
		"another module": {"module fettle2\n", traps, proofs, "is not fettle's source folder", false},
		"no list":        {"module fettle\n", "", proofs, "adding the trap to traps/all.go: open ", true},
		"no block": {"module fettle\n", noBlock, proofs, "adding the trap to traps/all.go: its list was not found; add by " +
			"hand:\n\t\"fettle/traps/ab\"\n\t\t&ab.Trap,\n", true},
		"no entry":           {"module fettle\n", noList, proofs, "its list was not found; add by hand", true},
		"no list of proofs":  {"module fettle\n", traps, noList, "adding the trap to traps/proofs/all.go: its list was not found", true},
		"not Go":             {"module fettle\n", traps + "}", proofs, "adding the trap to traps/all.go: ", true},
		"proofs that is not": {"module fettle\n", traps, "", "adding the trap to traps/proofs/all.go: open ", true},
	} {
		dir := small(t, c.mod, c.traps, c.proofs)
		files, err := Write(dir, "a-b")
		_, missing := os.Stat(filepath.Join(dir, "traps/ab/trap.go"))
		if err == nil || !strings.Contains(err.Error(), c.want) || (missing == nil) != c.made || c.made != (len(files) > 5) {
			t.Errorf("%s: %v, wrote %v", name, err, files)
		}
		if c.traps != "" && c.traps != traps && read(t, dir, "traps/all.go") != c.traps {
			t.Errorf("%s: the list was changed", name)
		}
	}
	dir := small(t, "module fettle\n", traps, proofs)
	if err := errors.Join(os.Remove(filepath.Join(dir, "go.mod")), os.Mkdir(filepath.Join(dir, "go.mod"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, "a"); err == nil || strings.Contains(err.Error(), "source folder") {
		t.Errorf("a go.mod that cannot be read: %v", err)
	}
	dir = small(t, "module fettle\n", traps, proofs)
	if err := os.WriteFile(filepath.Join(dir, "traps/ab"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if files, err := Write(dir, "a-b"); err == nil || !strings.HasPrefix(err.Error(), "making the trap's folder: ") || len(files) > 0 ||
		read(t, dir, "traps/all.go") != traps {
		t.Errorf("a name that is taken: %v, %v", files, err)
	}
}
