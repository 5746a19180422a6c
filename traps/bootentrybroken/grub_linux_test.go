package bootentrybroken_test

import (
	"os/exec"
	"testing"

	"fettle/internal/means"
	"fettle/lab/labtest"
)

// TestGRUB: by UEFI, GRUB and its menu: a host of which before reboot says that it comes back does,
// and is as it was; one of which it says that it does not, does not. With FETTLE_LONG=1.
func TestGRUB(t *testing.T) {
	means.Long(t, "installs Debian on a disk and boots it by OVMF and GRUB, six times")
	const before = "fettle before reboot --limit 5m --format json" // every instruction is emulated
	m := labtest.Install(t, true)
	m.Boot(t)
	m.Says(t, before, `"verdict": "comes-back"`)
	m.Reboot(t)
	m.Says(t, "fettle after --format json", `"lost": []`)

	for _, b := range []struct{ breaks, mends, told, seen string }{
		{"mv /boot/initrd.img-* /root/", "mv root/initrd.img-* boot/", `"trap": "boot-entry-broken"`,
			"error: file `/boot/initrd.img"},
		{"sed -i 's/root=UUID=[^ ]*/root=UUID=5eed0000-0000-4000-8000-000000000000 console=ttyS0/' /boot/grub/grub.cfg",
			"sed -i \"s/root=UUID=[^ ]* console=ttyS0/root=UUID=$UUID/\" boot/grub/grub.cfg", `"trap": "boot-entry-broken"`, "ALERT!"},
	} {
		m.Ask(t, b.breaks)
		m.Says(t, before, `"verdict": "does-not-come-back"`)
		m.Says(t, before, b.told)
		m.Quit(t)
		m.Start(t)
		m.Shows(t, b.seen)
		m.Kill()
		mend(t, m.Disk, b.mends)
		m.Boot(t)
		m.Says(t, before, `"verdict": "comes-back"`)
	}

	m.Ask(t, "umount /boot/efi")
	m.Says(t, before, `"trap": "boot-not-mounted"`)
	m.Reboot(t)
	m.Says(t, "findmnt /boot/efi", "/boot/efi")
	m.Quit(t)
}

// mend changes the root file system on a disk of a machine that is off.
func mend(t *testing.T, disk, script string) {
	t.Helper()
	const text = `set -eux
start=134217728
n=10
until losetup -o $start /dev/loop$n "$1"; do n=$((n + 1)) && test $n -lt 100; done
mount /dev/loop$n "$2"
losetup -d /dev/loop$n
UUID=$(blkid -p -o value -s UUID -O $start "$1")
cd "$2"
`
	out, err := exec.CommandContext(t.Context(), means.Tool(t, "unshare"), "--mount", "sh", "-c", text+script+"\nsync\n", "sh", disk,
		t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
