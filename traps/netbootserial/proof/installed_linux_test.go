package proof

import (
	"os"
	"path/filepath"
	"testing"

	"fettle/internal/means"
	"fettle/lab/labtest"
)

// TestInstalledSystem: Debian with GRUB on a disk, in a machine whose firmware names
// ttyS1 as the serial console. It is silent there as installed; after the fix a login
// comes at once, and with the next boot GRUB's menu, the kernel and the login; after
// the undo it is silent again. With FETTLE_LONG=1.
func TestInstalledSystem(t *testing.T) {
	means.Long(t, "installs Debian on a disk and boots it three times")
	m := labtest.Install(t, false)
	table := filepath.Join(t.TempDir(), "spcr")
	if err := os.WriteFile(table, spcr(), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Port, m.Args = 1, []string{"-acpitable", "file=" + table}
	m.Boot(t)
	if got := m.Serial(t); got != "" {
		t.Errorf("as installed it is not silent:\n%s", got)
	}
	m.Says(t, "fettle check netboot-serial --format json", `"status": "found"`)
	m.Says(t, "fettle fix netboot-serial --on console --yes --format json", `"result": "mended"`)
	m.Shows(t, "login:")
	m.Reboot(t)
	m.Shows(t, "GNU GRUB", "*Debian GNU/Linux", "Linux version 6.1", "login:")
	m.Says(t, "fettle check netboot-serial --format json", `"found": 0`)
	m.Says(t, "fettle undo --yes", "undone")
	m.Reboot(t)
	if got := m.Serial(t); got != "" {
		t.Errorf("after the undo it is not silent:\n%s", got)
	}
	m.Says(t, "cat /proc/cmdline", "root=")
	m.Quit(t)
}
