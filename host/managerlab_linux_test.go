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

// TestManagerUnderSystemd has TestManagerSaysWhatSystemctlSays run on a machine whose first process is systemd.
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
	const name = "TestManagerSaysWhatSystemctlSays"
	v, err := lab.Play(t.Context(), "", lab.Scenario{
		Name:  "manager",
		Needs: lab.Needs{Systemd: true, MemMiB: 512, Tools: []string{"systemctl"}, Files: []string{program}},
		Steps: []lab.Step{{Name: "asked", Acts: []lab.Act{
			{Expect: &lab.Expect{Run: []string{program, "-test.v", "-test.run", "^" + name + "$"}, Has: "--- PASS: " + name}},
		}}},
	}, opt)
	if err != nil {
		labtest.Lacks(t, err)
	} else if !v.OK {
		t.Errorf("%s\n%s", v.Why, v.Console)
	}
}
