package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

// TestManagerUnderSystemd has the tests that ask systemd run on a machine whose first process it is.
func TestManagerUnderSystemd(t *testing.T) {
	means.Short(t, "boots a machine")
	opt := labtest.Options(t)
	dir, err := os.MkdirTemp("/var/tmp", "fettle-host-") // systemd mounts its own /tmp there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "host.test")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var acts []lab.Act
	for _, name := range []string{"TestManagerSaysWhatSystemctlSays", "TestManagerAnswersEachTime"} {
		run := []string{program, "-test.v", "-test.run", "^" + name + "$"}
		acts = append(acts, lab.Act{Expect: &lab.Expect{Run: run, Has: "--- PASS: " + name}})
	}
	v, err := lab.Play(t.Context(), "", lab.Scenario{
		Name:  "manager",
		Needs: lab.Needs{Systemd: true, MemMiB: 512, Tools: []string{"systemctl"}, Files: []string{program}},
		Steps: []lab.Step{{Name: "asked", Acts: acts}},
	}, opt)
	if err != nil {
		labtest.Lacks(t, err)
	} else if !v.OK {
		t.Errorf("%s\n%s", v.Why, v.Console)
	}
}
