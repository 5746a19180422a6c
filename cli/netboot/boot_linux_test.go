package netboot

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestBoot boots a virtual machine over the network from fettle netboot serve,
// with BIOS and with UEFI. Debian's own menus show nothing on the serial port;
// rewritten ones bring the installer's first question there. With FETTLE_LONG=1
// (make lab-long): some minutes without KVM.
func TestBoot(t *testing.T) {
	means.Long(t, "boots four virtual machines over the network")
	if !bootNetwork(t) {
		return
	}
	for _, firmware := range []string{"BIOS", "UEFI"} {
		t.Run(firmware+" unchanged", func(t *testing.T) {
			got := boot(t, firmware, 0, "--release", "12", "--host", "web1="+card)
			if strings.Contains(got.serial, "Linux version") || strings.Contains(got.serial, question) {
				t.Errorf("Debian's own menus speak on the serial port:\n%s", tail(got.serial))
			}
			got.wants(t, "web1 ("+card+"): asks for an address ("+firmware, "was sent the kernel", "was sent the initrd")
		})
		t.Run(firmware+" rewritten", func(t *testing.T) {
			got := boot(t, firmware, 10*time.Minute, "--release", "12", "--serial", "ttyS0", "--host", "web1="+card)
			if !strings.Contains(got.serial, question) {
				t.Errorf("the installer's first question did not come:\n%s", tail(got.serial))
			}
			got.wants(t, "was sent the kernel", "was sent the initrd")
			t.Logf("%s: the first question came after %s", firmware, got.took.Round(time.Second))
		})
	}
}

// bootNetwork runs a test again in a network of its own, with a bridge and a tap.
func bootNetwork(t *testing.T) bool {
	t.Helper()
	means.Root(t)
	for _, tool := range []string{"qemu-system-x86_64", "dnsmasq", "ip", "unshare"} {
		means.Tool(t, tool)
	}
	for _, f := range []string{"/usr/lib/debian-installer/images/12/amd64/text", ovmf + "CODE_4M.fd", "/usr/lib/ipxe/qemu/efi-virtio.rom"} {
		if _, err := os.Stat(f); err != nil {
			means.Missing(t, "needs "+f)
		}
	}
	if os.Getenv("FETTLE_TEST_NETNS") == "" {
		inNamespace(t)
		return false
	}
	for _, argv := range []string{"link set lo up", "link add br0 type bridge", "addr add 192.0.2.1/24 dev br0", "link set br0 up", "tuntap add tap0 mode tap", "link set tap0 master br0", "link set tap0 up"} {
		if out, err := exec.Command(means.Tool(t, "ip"), strings.Fields(argv)...).CombinedOutput(); err != nil {
			t.Fatal(argv, err, string(out))
		}
	}
	return true
}

// TestBootHTTP boots a virtual machine whose firmware may boot by HTTP alone: shim,
// GRUB, kernel and initrd come from fettle's own server. With FETTLE_LONG=1.
func TestBootHTTP(t *testing.T) {
	means.Long(t, "boots a virtual machine over the network")
	if !bootNetwork(t) {
		return
	}
	got := boot(t, "UEFI by HTTP", 10*time.Minute, "--release", "12", "--serial", "ttyS0", "--host", "web1="+card)
	if !strings.Contains(got.serial, question) {
		t.Errorf("the installer's first question did not come:\n%s", tail(got.serial))
	}
	got.wants(t, "asks for an address (UEFI by HTTP, x86-64)", "was sent the boot loader bootnetx64.efi", "was sent the boot loader grubx64.efi", "was sent the kernel", "was sent the initrd")
	t.Logf("the first question came after %s", got.took.Round(time.Second))
}

const (
	card     = "52:54:00:12:34:56"
	question = "Select a language"
	ovmf     = "/usr/share/OVMF/OVMF_"
	// silence is how long a kernel that has its initrd is given to say a word.
	silence = time.Minute
)

type booted struct {
	serial, told string
	took         time.Duration
}

func (b booted) wants(t *testing.T, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(b.told, p) {
			t.Errorf("fettle did not tell %q:\n%s", p, b.told)
		}
	}
	if left, _ := filepath.Glob("/run/" + "fettle-netboot-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// boot serves and boots until the question comes, or (limit 0) until nothing
// came for a while after the initrd.
func boot(t *testing.T, firmware string, limit time.Duration, args ...string) booted {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), max(limit, 8*time.Minute))
	defer cancel()
	var told bytes.Buffer
	server := exec.CommandContext(ctx, os.Getenv("FETTLE_TEST_BINARY"), append([]string{"netboot", "serve", "--interface", "br0"}, args...)...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { // also where the test ends early
		server.Process.Signal(syscall.SIGINT)
		server.Wait()
	}()
	serial := filepath.Join(dir, "serial")
	argv := []string{"-accel", "tcg", "-m", "1024", "-display", "none", "-monitor", "none", "-nodefaults", "-vga", "std", "-serial", "file:" + serial,
		"-netdev", "tap,id=n,ifname=tap0,script=no,downscript=no"}
	device := "virtio-net-pci,netdev=n,bootindex=1,mac=" + card
	if firmware == "UEFI by HTTP" {
		argv = append(argv, "-fw_cfg", "name=opt/org.tianocore/IPv4PXESupport,string=n", "-fw_cfg", "name=opt/org.tianocore/IPv6PXESupport,string=n")
	}
	if firmware != "BIOS" {
		vars, err := os.ReadFile(ovmf + "VARS_4M.fd")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "vars"), vars, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		// The firmware's own PXE: iPXE of 2019 hands shim a padded image, which it refuses.
		device += ",romfile="
		argv = append(argv, "-drive", "if=pflash,format=raw,readonly=on,file="+ovmf+"CODE_4M.fd", "-drive", "if=pflash,format=raw,file="+filepath.Join(dir, "vars"))
	}
	for !strings.Contains(read1(log.Name()), "serving on") {
		time.Sleep(200 * time.Millisecond)
		if ctx.Err() != nil || server.ProcessState != nil {
			t.Fatal(read1(log.Name()))
		}
	}
	qemu := exec.CommandContext(ctx, means.Tool(t, "qemu-system-x86_64"), append(argv, "-device", device)...)
	var said lockedBuffer
	qemu.Stderr = &said
	begun := time.Now()
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- qemu.Wait() }()
	var initrd time.Time
	for ctx.Err() == nil && !strings.Contains(read1(serial), question) {
		if initrd.IsZero() && strings.Contains(read1(log.Name()), "was sent the initrd") {
			initrd = time.Now()
		}
		if limit == 0 && !initrd.IsZero() && time.Since(initrd) > silence {
			break
		}
		select {
		case err := <-gone:
			t.Fatalf("qemu: %v: %s", err, &said)
		case <-time.After(time.Second):
		}
	}
	took := time.Since(begun)
	qemu.Process.Kill()
	<-gone
	server.Process.Signal(syscall.SIGINT)
	server.Wait()
	told.WriteString(read1(log.Name()))
	return booted{read1(serial), told.String(), took}
}

func read1(name string) string {
	b, _ := os.ReadFile(name)
	return string(b)
}

func tail(s string) string { return fmt.Sprintf("%q", s[max(0, len(s)-1500):]) }

// inNamespace builds fettle and runs the test again in a network of its own.
func inNamespace(t *testing.T) {
	t.Helper()
	fettle := filepath.Join(t.TempDir(), "fettle")
	if out, err := exec.Command("go", "build", "-o", fettle, "fettle/cmd/fettle").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(means.Tool(t, "unshare"), "-n", self, "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "1h")
	c.Env = append(os.Environ(), "FETTLE_TEST_NETNS=1", "FETTLE_TEST_BINARY="+fettle)
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Error(err)
	}
}
