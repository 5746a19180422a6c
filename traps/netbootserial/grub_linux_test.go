package netbootserial

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
	"fettle/tools/netboot/menu"
)

// TestUpdateGRUB: the distribution's own update-grub makes a menu of the drop-in,
// in a mount namespace with a /boot and an /etc/default of its own, and without it
// the menu is silent again.
func TestUpdateGRUB(t *testing.T) {
	means.Root(t)
	unshare, mount, update := means.Tool(t, "unshare"), means.Tool(t, "mount"), means.Tool(t, "update-grub")
	if os.Getenv("FETTLE_TEST_MOUNTNS") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(unshare, "-m", self, "-test.run", "^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), "FETTLE_TEST_MOUNTNS=1")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	run := func(argv ...string) {
		t.Helper()
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	if out, err := exec.Command(means.Tool(t, "grub-probe"), "--target=device", "/").CombinedOutput(); err != nil {
		means.Missing(t, "needs a root file system on a disk: "+string(out))
	}
	boot := t.TempDir() // on a disk as well, for grub-probe
	run(mount, "--bind", boot, "/boot")
	run(mount, "-t", "tmpfs", "tmpfs", "/etc/default")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []string{"6.1.0-49-amd64", "6.1.0-50-amd64"} {
		write("/boot/vmlinuz-"+v, "kernel")
		write("/boot/initrd.img-"+v, "initrd")
	}
	os.MkdirAll("/boot/grub", 0o755)
	write(
		grubDefaults,
		"GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo "+
			"Debian`\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"net.ifnames=0\"\n",
	)
	write(grubDefaults+".d/50-cloudimg-settings.cfg", "GRUB_TERMINAL=console\n")
	c := menu.Console{Port: 1, Speed: 57600}
	talks := func() bool {
		t.Helper()
		run(update)
		src, err := host.NewLive()
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		will, err := nextBoot(t.Context(), host.New(src), c)
		if err != nil {
			t.Error(err)
		}
		return will
	}
	if talks() {
		t.Error("a menu as Debian makes it talks to a serial port")
	}
	write(dropIn, grubSettings(c, true))
	if !talks() {
		b, _ := os.ReadFile(grubConfig)
		t.Errorf("with the drop-in the menu is\n%s", b)
	}
	if b, _ := os.ReadFile(grubConfig); strings.Count(string(b), "net.ifnames=0 console=tty0 console=ttyS1,57600n8") < 4 ||
		!strings.Contains(string(b), "serial --unit=1 --speed=57600") {
		t.Errorf("the drop-in is not in the menu:\n%s", b)
	}
	write("/etc/default/grub.d/zzz.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet console=tty0\"\n")
	if talks() {
		t.Error("the screen is the last console, and that is not noticed")
	}
	os.Remove("/etc/default/grub.d/zzz.cfg")
	os.Remove(dropIn)
	if talks() {
		t.Error("undone, it still talks")
	}
}
