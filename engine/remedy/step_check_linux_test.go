package remedy

import (
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/remedy/step"
)

// TestCheckFails: what stands before a check that fails is put back, and what
// comes after it is not done.
func TestCheckFails(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a", "old\n", 0o644)
	for _, c := range []struct {
		run  string
		want string
	}{{"/usr/bin/false", "old\n"}, {"/usr/bin/true", "new\n"}} {
		e := engineAt(t, filepath.Join(t.TempDir(), "state"))
		_, err := e.Apply(t.Context(), Head{Plan: Plan{Title: "t", Steps: []step.Step{
			step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")},
			step.Check{Run: []string{c.run}},
			step.File{Path: dir + "/b", Content: []byte("b\n")},
		}}}, nil)
		if got := read(t, dir+"/a"); got != c.want {
			t.Errorf("after %s: %q, want %q", c.run, got, c.want)
		}
		if failed := c.want == "old\n"; failed != (err != nil) || failed && !strings.Contains(err.Error(), "/usr/bin/false ended with status 1") {
			t.Errorf("after %s: %v", c.run, err)
		}
	}
}
