package bootdevicegone

import (
	"testing"

	"fettle/engine/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestDevice(t *testing.T) {
	for spec, want := range map[string]string{
		"/dev/sda1":      "/dev/sda1",
		"UUID=0A1B-2c3d": "/dev/disk/by-uuid/0A1B-2C3D",
		"UUID=DEADBEEF-0000-4000-8000-000000000000": "/dev/disk/by-uuid/deadbeef-0000-4000-8000-000000000000",
		`LABEL="my data"`: `/dev/disk/by-label/my\x20data`,
		"PARTLABEL=EFI/x": `/dev/disk/by-partlabel/EFI\x2fx`,
		"nas:/home":       "",
		"tmpfs":           "",
		"//nas/share":     "",
		"zpool/data=x":    "",
	} {
		if got, _ := device(spec); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}
