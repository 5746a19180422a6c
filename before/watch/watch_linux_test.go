package watch

import (
	"os"
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestArmAndDisarm(t *testing.T) {
	dir, open := t.TempDir(), means.OpenFiles(t)
	for range 2 { // armed twice is armed
		if err := Arm(dir, `/opt/odd %n "name"/fettle`); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(dir + "/" + Unit)
	if err != nil || !strings.Contains(string(b), `ExecStart="/opt/odd %%n \"name\"/fettle" after --watched`) {
		t.Errorf("%s, %v", b, err)
	}
	if to, err := os.Readlink(dir + "/" + wants + "/" + Unit); err != nil || to != "../"+Unit {
		t.Errorf("%q, %v", to, err)
	}
	for range 2 {
		if err := Disarm(dir); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{Unit, wants + "/" + Unit} {
		if _, err := os.Lstat(dir + "/" + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if err := Disarm(dir + "/none"); err != nil {
		t.Error(err)
	}
	if now := means.OpenFiles(t); len(now) > len(open) {
		t.Errorf("left open: %v", now)
	}
}

// TestFails: a unit that could not be written, enabled or removed is told, and not said to be.
func TestFails(t *testing.T) {
	made := func(names ...string) string {
		dir := t.TempDir()
		for _, n := range names {
			var err error
			if folder, ok := strings.CutSuffix(n, "/"); ok {
				err = os.MkdirAll(dir+"/"+folder+"/full", 0o755)
			} else {
				err = os.WriteFile(dir+"/"+n, nil, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for what, dir := range map[string]string{"no folder": made() + "/none", "a file": made("x") + "/x",
		"a folder of the unit's name": made(Unit + "/"),
		"a file for the folder":       made(wants), "a folder of the link's name": made(wants + "/" + Unit + "/")} {
		if err := Arm(dir, "/usr/bin/fettle"); err == nil {
			t.Errorf("%s: armed", what)
		}
	}
	for what, dir := range map[string]string{"a file": made("x") + "/x", "a folder of the unit's name": made(Unit + "/"),
		"a folder of the link's name": made(wants + "/" + Unit + "/")} {
		if err := Disarm(dir); err == nil {
			t.Errorf("%s: disarmed", what)
		}
	}
	d, err := os.OpenRoot(made())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if synced(d, ".") != nil || synced(d, "none") == nil {
		t.Error("what is not there is synced")
	}
}
