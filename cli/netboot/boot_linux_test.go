package netboot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
			got := boot(t, firmware, silentAfterInitrd(), "--release", "12", "--host", "web1="+card)
			if strings.Contains(got.serial, "Linux version") || strings.Contains(got.serial, question) {
				t.Errorf("Debian's own menus speak on the serial port:\n%s", tail(got.serial))
			}
			got.wants(t, "web1 ("+card+"): asks for an address ("+firmware, "was sent the kernel", "was sent the initrd")
		})
		t.Run(firmware+" rewritten", func(t *testing.T) {
			got := boot(t, firmware, firstQuestion, "--release", "12", "--serial", "ttyS0", "--host", "web1="+card)
			if !strings.Contains(got.serial, question) {
				t.Errorf("the installer's first question did not come:\n%s", tail(got.serial))
			}
			got.wants(t, "was sent the kernel", "was sent the initrd")
			t.Logf("%s: the first question came after %s", firmware, got.took.Round(time.Second))
		})
	}
}

// TestBootARM64: the same server and another architecture, as far as the kernel, which
// writes to the port that the firmware names.
func TestBootARM64(t *testing.T) {
	means.Long(t, "boots a virtual machine over the network")
	if !bootNetwork(t, "qemu-system-aarch64", aavmf, "/usr/lib/debian-installer/images/12/arm64/text") {
		return
	}
	begun := func(b booted) bool { return strings.Contains(b.serial, "Linux version") }
	got := boot(t, "UEFI, arm64", begun, "--release", "12", "--arch", "arm64", "--host", "web1="+card)
	if !begun(got) {
		t.Errorf("the kernel did not come:\n%s", tail(got.serial))
	}
	got.wants(
		t,
		"asks for an address (UEFI, arm64)",
		"was sent the boot loader bootnetaa64.efi",
		"was sent the kernel",
		"was sent the initrd",
	)
	t.Logf("the kernel came after %s", got.took.Round(time.Second))
}

// TestBootOnce: serve ends by itself when the one host that it expects runs the
// installer, which its preseed file brings as far as to ask for an address.
func TestBootOnce(t *testing.T) {
	means.Long(t, "boots a virtual machine over the network")
	if !bootNetwork(t) {
		return
	}
	preseed := filepath.Join(t.TempDir(), "web1.cfg")
	os.Chmod(filepath.Dir(filepath.Dir(preseed)), 0o755)
	if err := os.WriteFile(preseed, []byte("d-i netcfg/get_domain string example.org\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := boot(t, "BIOS", serverEnded, "--release", "12", "--serial", "ttyS0", "--once", "--host", "web1="+card+",192.0.2.77,"+preseed)
	got.wants(t, "was sent the initrd", "the installer runs, and has the address 192.0.2.77", "all came: done")
	if !got.ended || got.status != 0 {
		t.Errorf("it does not end by itself with 0: ended %v, status %d", got.ended, got.status)
	}
}

// TestBootProxy: a plain dnsmasq gives addresses, and fettle beside it tells where to
// boot from. With --once it ends when the client has its initrd.
func TestBootProxy(t *testing.T) {
	means.Long(t, "boots a virtual machine over the network")
	if !bootNetwork(t) {
		return
	}
	leases := otherServer(t)
	got := boot(t, "BIOS", serverEnded, "--release", "12", "--proxy", "--once", "--host", "web1="+card)
	got.wants(t, "gets the address of its boot loader", "was sent the kernel", "was sent the initrd", "all came: done")
	if !got.ended || got.status != 0 {
		t.Errorf("it does not end by itself with 0: ended %v, status %d", got.ended, got.status)
	}
	if log := leases.String(); !strings.Contains(log, "DHCPACK(far) 192.0.2.") {
		t.Errorf("the address does not come from the other server:\n%s", log)
	}
	got = boot(t, "BIOS", serverEnded, "--release", "12", "--host", "web1="+card)
	if got.status != 3 || !strings.Contains(got.told, "a DHCP server answers on br0 already: 192.0.2.2") {
		t.Errorf("it serves beside another DHCP server: status %d\n%s", got.status, got.told)
	}
}

// otherServer is a network's DHCP server as it was before: on a port of the bridge,
// in a namespace of its own, and it knows of no boot loader.
func otherServer(t *testing.T) *lockedBuffer {
	t.Helper()
	dnsmasq, ip := means.Tool(t, "dnsmasq"), means.Tool(t, "ip")
	c := exec.Command(means.Tool(t, "unshare"), "-n", "sleep", "3600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	pid := strconv.Itoa(c.Process.Pid)
	for mine, _ := os.Readlink("/proc/self/ns/net"); ; time.Sleep(20 * time.Millisecond) {
		if its, err := os.Readlink("/proc/" + pid + "/ns/net"); err != nil || its != mine {
			break
		}
	}
	inside := func(argv ...string) *exec.Cmd {
		return exec.Command(means.Tool(t, "nsenter"), append([]string{"-n", "-t", pid}, argv...)...)
	}
	for _, c := range []*exec.Cmd{
		exec.Command(ip, "link", "add", "near", "master", "br0", "type", "veth", "peer", "name", "far", "netns", pid),
		exec.Command(ip, "link", "set", "near", "up"),
		inside(ip, "addr", "add", "192.0.2.2/24", "dev", "far"),
		inside(ip, "link", "set", "far", "up"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatal(c.Args, err, string(out))
		}
	}
	server := inside(dnsmasq, "--keep-in-foreground", "--conf-file=-", "--pid-file", "--log-facility=-")
	server.Stdin = strings.NewReader(
		"port=0\ninterface=far\nexcept-interface=lo\nbind-interfaces\nleasefile-ro\nlog-dhcp\ndhcp-range=192.0.2.50,192.0.2.99\n",
	)
	log := new(lockedBuffer)
	server.Stderr = log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	log.has(t, "DHCP, sockets bound exclusively to interface far")
	return log
}
