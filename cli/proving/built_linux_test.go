package proving

import (
	"bytes"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/lab"
)

// lab --all leaves out what needs a kernel that make has not built, and says so.
func TestLabUnbuilt(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var stderr bytes.Buffer
	a := program{&app.App{Stderr: &stderr}}
	jobs := []lab.Job{
		{Trap: "a", Scenario: lab.Scenario{Name: "plain"}},
		{Trap: "b", Scenario: lab.Scenario{Name: "built", Needs: lab.Needs{Kernel: "zfs/stable"}}},
	}
	left := a.withoutUnbuilt(jobs)
	if len(left) != 1 || left[0].Name() != "a/plain" {
		t.Errorf("left: %+v", left)
	}
	said := strings.Join(strings.Fields(stderr.String()), " ")
	if !strings.Contains(said, "left out: b/built: the kernel zfs/stable is not built here") ||
		!strings.Contains(said, "make lab-zfs builds it") {
		t.Errorf("said: %s", stderr.String())
	}
}
