package netboot

import (
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

const (
	card     = "52:54:00:12:34:56"
	question = "Select a language"
	ovmf     = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	aavmf    = "/usr/share/AAVMF/AAVMF_CODE.fd"
	// silence is how long a kernel that has its initrd is given to say a word.
	silence = time.Minute
	// limit is for a machine that emulates every instruction beside others that do.
	limit = 30 * time.Minute
)

// booted is how far a client and its server have come.
type booted struct {
	serial, told string
	took         time.Duration
	ended        bool // the server, by itself
	status       int  // and with which exit status
}

func (b booted) wants(t *testing.T, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(b.told, p) {
			t.Errorf("fettle did not tell %q:\n%s", p, b.told)
		}
	}
	if left, _ := filepath.Glob(stageFolder + "/fettle-netboot-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func firstQuestion(b booted) bool { return strings.Contains(b.serial, question) }

func serverEnded(b booted) bool { return b.ended }

// silentAfterInitrd is when nothing came for a while after the initrd.
func silentAfterInitrd() func(booted) bool {
	var initrd time.Time
	return func(b booted) bool {
		if initrd.IsZero() && strings.Contains(b.told, "was sent the initrd") {
			initrd = time.Now()
		}
		return firstQuestion(b) || !initrd.IsZero() && time.Since(initrd) > silence
	}
}

// boot serves and boots until that has come far enough.
func boot(t *testing.T, firmware string, enough func(booted) bool, args ...string) booted {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var told, said lockedBuffer
	server := exec.CommandContext(
		ctx,
		os.Getenv("FETTLE_TEST_BINARY"),
		append([]string{"netboot", "serve", "--interface", "br0"}, args...)...)
	server.Stdout, server.Stderr = &told, &told
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { server.Wait(); close(served) }()
	defer func() { // also where the test ends early
		server.Process.Signal(syscall.SIGINT)
		<-served
	}()
	var got booted
	look := func() booted {
		select {
		case <-served:
			got.ended, got.status = true, server.ProcessState.ExitCode()
		default:
		}
		got.serial, got.told = read1(filepath.Join(dir, "serial")), told.String()
		return got
	}
	for !strings.Contains(look().told, "serving on") && !got.ended {
		time.Sleep(200 * time.Millisecond)
	}
	if got.ended {
		return look()
	}
	machine := client(t, firmware, dir)
	qemu := exec.CommandContext(ctx, means.Tool(t, machine[0]), machine[1:]...)
	qemu.Stderr = &said
	begun := time.Now()
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- qemu.Wait() }()
	for ctx.Err() == nil && !enough(look()) {
		select {
		case err := <-gone:
			t.Fatalf("qemu: %v: %s", err, &said)
		case <-time.After(time.Second):
		}
	}
	got.took = time.Since(begun)
	qemu.Process.Kill()
	<-gone
	ended := got.ended
	server.Process.Signal(syscall.SIGINT)
	<-served
	look()
	got.ended = ended
	return got
}

// client is the machine that boots, as qemu and its arguments. Its serial port is a file in dir.
func client(t *testing.T, firmware, dir string) []string {
	t.Helper()
	argv := []string{"qemu-system-x86_64", "-vga", "std"}
	device, uefi := "virtio-net-pci,netdev=n,bootindex=1,mac="+card, ovmf
	if firmware == "UEFI, arm64" {
		argv, uefi = []string{"qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72"}, aavmf
	}
	argv = append(
		argv,
		"-accel",
		"tcg",
		"-m",
		"1024",
		"-display",
		"none",
		"-monitor",
		"none",
		"-nodefaults",
		"-serial",
		"file:"+filepath.Join(dir, "serial"),
		"-netdev",
		"tap,id=n,ifname=tap0,script=no,downscript=no",
	)
	if firmware != "BIOS" {
		vars, err := os.ReadFile(strings.Replace(uefi, "CODE", "VARS", 1))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "vars"), vars, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		// The firmware's own PXE: iPXE of 2019 hands shim a padded image, which it refuses.
		device += ",romfile="
		argv = append(
			argv,
			"-drive",
			"if=pflash,format=raw,readonly=on,file="+uefi,
			"-drive",
			"if=pflash,format=raw,file="+filepath.Join(dir, "vars"),
		)
	}
	return append(argv, "-device", device)
}

// bootNetwork runs a test again in a network of its own, with a bridge and a tap. more
// are files and programs that it needs besides.
func bootNetwork(t *testing.T, more ...string) bool {
	t.Helper()
	means.Root(t)
	for _, need := range append(more, "qemu-system-x86_64", "dnsmasq", "ip", "unshare",
		"/usr/lib/debian-installer/images/12/amd64/text", ovmf, "/usr/lib/ipxe/qemu/efi-virtio.rom") {
		if !filepath.IsAbs(need) {
			means.Tool(t, need)
		} else if _, err := os.Stat(need); err != nil {
			means.Missing(t, "needs "+need)
		}
	}
	if os.Getenv("FETTLE_TEST_NETNS") == "" {
		inNamespace(t)
		return false
	}
	for _, argv := range []string{"link set lo up", "link add br0 type bridge", "addr add 192.0.2.1/24 dev br0", "link set br0 up",
		"tuntap add tap0 mode tap", "link set tap0 master br0", "link set tap0 up"} {
		if out, err := exec.Command(means.Tool(t, "ip"), strings.Fields(argv)...).CombinedOutput(); err != nil {
			t.Fatal(argv, err, string(out))
		}
	}
	return true
}

func read1(name string) string {
	b, _ := os.ReadFile(name)
	return string(b)
}

func tail(s string) string { return fmt.Sprintf("%q", s[max(0, len(s)-1500):]) }

// inNamespace builds fettle and runs the test again in a network of its own.
func inNamespace(t *testing.T) {
	t.Helper()
	fettle := filepath.Join(means.Programs(t, "fettle"), "fettle")
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
