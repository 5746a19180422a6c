package fstab

import (
	"testing"

	"fettle/host/hosttest"
)

func TestDevice(t *testing.T) {
	for spec, want := range map[string]string{
		"/dev/sda1":            "/dev/sda1",
		"/dev/disk/by-path/x":  "/dev/disk/by-path/x",
		"UUID=0A1B-2C3D":       "/dev/disk/by-uuid/0A1B-2C3D",
		`LABEL="my data"`:      `/dev/disk/by-label/my\x20data`,
		"PARTLABEL=EFI/x":      `/dev/disk/by-partlabel/EFI\x2fx`,
		"PARTUUID=4afb5844-01": "/dev/disk/by-partuuid/4afb5844-01",
		"nas:/home":            "", "tmpfs": "", "//nas/share": "", "zpool/data=x": "", "ZFS=rpool/ROOT": "",
	} {
		if got := Device(spec); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

func TestThere(t *testing.T) {
	h := hosttest.New(t, `-- stat/dev/disk/by-uuid/0A1B-2C3D --
type block
-- stat/dev/disk/by-uuid/01D1B2C3D4E5F607 --
type block
-- stat/dev/disk/by-uuid/deadbeef-0000-4000-8000-00000000000a --
type block
-- stat/dev/disk/by-partuuid/4afb5844-01 --
type block
-- stat/dev/sda1 --
type block
`)
	for spec, want := range map[string]bool{
		"UUID=0A1B-2C3D": true, "UUID=0a1b-2c3d": true, "UUID=01d1b2c3d4e5f607": true,
		"UUID=DEADBEEF-0000-4000-8000-00000000000A": true, "UUID=deadbeef-0000-4000-8000-00000000000a": true,
		"UUID=deadbeef-0000-4000-8000-00000000000b": false,
		// Of a disk with an MBR, as Raspberry Pi OS writes it: udev writes small letters.
		"PARTUUID=4afb5844-01": true, "PARTUUID=4AFB5844-01": true, "PARTUUID=4afb5844-02": false,
		"/dev/sda1": true, "/dev/sda2": false, "nas:/home": true,
	} {
		dev, there, err := There(t.Context(), h, spec)
		if err != nil || there != want {
			t.Errorf("%s: %v, %v; want %v", spec, there, err, want)
		}
		if !there || dev == "" {
			continue
		}
		if ok, err := h.Exists(t.Context(), dev); !ok || err != nil {
			t.Errorf("%s is there as %s, which is not: %v", spec, dev, err)
		}
	}
	if _, _, err := There(t.Context(), h, "LABEL=data"); err == nil {
		t.Error("udev made no link of a label: nobody knows whether a device has one")
	}
}
