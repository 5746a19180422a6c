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
