package remedy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// TestTimerFails: where systemd-run fails there is no timer, and a change may
// not lean on it: another guard stands by, or nothing is begun. The program of
// this test cannot be one, so nothing is.
func TestTimerFails(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	must(t, "mkdir", os.Mkdir(dir+"/units", 0o755))
	put(t, dir+"/systemd-run", "#!/bin/sh\nexit 1\n", 0o755)
	put(t, dir+"/systemctl", "#!/bin/sh\n", 0o755)
	put(t, dir+"/a", "old\n", 0o644)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = here{machine.Linux{SystemctlPath: dir + "/systemctl"}}
	e.Guard = Guard{Units: dir + "/units", SystemdRun: dir + "/systemd-run"}
	_, err := e.Apply(t.Context(), Head{ConfirmWithin: time.Minute,
		Plan: Plan{Steps: []step.Step{step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")}}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "could not be armed") || read(t, dir+"/a") != "old\n" {
		t.Errorf("apply said %v, and a says %q", err, read(t, dir+"/a"))
	}
}
