package newtrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// checkout is a copy of the sources that git knows.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, sources{os.DirFS(root)}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A new trap compiles, passes the tests of its own, and is in both lists.
func TestANewTrapPasses(t *testing.T) {
	means.Short(t, "takes seconds")
	goTool, err := exec.LookPath("go")
	if err != nil {
		means.Missing(t, "needs the program go")
	}
	vet, err := exec.Command(goTool, "tool", "-n", "vet").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := checkout(t)
	files, err := Write(dir, "example-writable")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 11 {
		t.Errorf("wrote %v", files)
	}
	for _, args := range [][]string{
		{"test", "./traps/examplewritable"},
		{"vet", "-vettool=" + dir + "/.ci/vet", "./traps/examplewritable/...", "./traps/proofs"},
	} {
		cmd := exec.Command(goTool, args...)
		cmd.Dir = dir
		// With the flags that this test was built with, what is the same here and there is compiled once.
		cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false", "CGO_ENABLED=0",
			"VET="+strings.TrimSpace(string(vet)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
	if _, err := Write(dir, "example-writable"); err == nil || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("the same trap once more: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	for id, want := range map[string]string{"Bridge": "lower-case words", "../x": "lower-case words",
		"good-id": "not fettle's source folder"} {
		if _, err := Write(t.TempDir(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}
