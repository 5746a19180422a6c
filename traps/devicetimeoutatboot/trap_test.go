package devicetimeoutatboot

import (
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host/format/fstab"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

// TestLineOf: a device that systemd waits for is told by the name that udev makes of a line's, blanks and all.
func TestLineOf(t *testing.T) {
	entries := fstab.Parse("LABEL=backup /a ext4 nofail 0 2\nLABEL=my\\040backup /b ext4 nofail 0 2\n" +
		"UUID=\"ab-1\" /c ext4 nofail 0 2\n/dev/sdb1 /d ext4\n")
	for dev, want := range map[string]string{"/dev/disk/by-label/backup": "/a", `/dev/disk/by-label/my\x20backup`: "/b",
		"/dev/disk/by-uuid/ab-1": "/c", "/dev/sdb1": "/d", "/dev/disk/by-label/my": "", "/dev/sdb": ""} {
		if e, ok := lineOf(entries, dev); e.Mount != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", dev, e.Mount, ok, want)
		}
	}
}
