package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// demo FILE WORD makes demo/FILE, as fettle-fix sees it, say WORD. One script
// alone may use it: the files lie beside the program. $DEMO is their folder.
func demo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: demo FILE WORD")
	}
	dir := demoFolder(ts)
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(filepath.Join(dir, args[0]), []byte(args[1]+"\n"), 0o644))
}

// undemo FILE removes demo/FILE.
func undemo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: undemo FILE")
	}
	ts.Check(os.Remove(filepath.Join(demoFolder(ts), args[0])))
}

// demosays FILE WORD wants demo/FILE to say WORD.
func demosays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: demosays FILE WORD")
	}
	b, err := os.ReadFile(filepath.Join(demoFolder(ts), args[0]))
	ts.Check(err)
	if string(b) != args[1]+"\n" {
		ts.Fatalf("demo/%s says %q", args[0], b)
	}
}

func demoFolder(ts *testscript.TestScript) string {
	dir, _, _ := strings.Cut(ts.Getenv("PATH"), string(filepath.ListSeparator))
	return filepath.Join(dir, "demo")
}

// condition knows [root]. Under CI=true it is always met, so that a script
// fails rather than being skipped.
func condition(cond string) (bool, error) {
	if cond == "root" {
		return os.Geteuid() == 0 || os.Getenv("CI") == "true", nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
