package netboot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/cli/app"
	"fettle/internal/means"
)

// installs is what dnsmasq's log has of a client as far as its installer, which asks for an address by itself.
const installs = `d=dnsmasq-dhcp[9]; t=dnsmasq-tftp[9]; m=02:00:00:00:00:01
say() { echo "$*" >&2; }
say "$d: 5 vendor class: PXEClient:Arch:00000:UNDI"
say "$d: 5 DHCPDISCOVER(br0) $m "
say "$d: 5 DHCPACK(br0) 192.0.2.9 $m"
say "$t: sent /debian-installer/amd64/linux to 192.0.2.9"
say "$t: sent /debian-installer/amd64/initrd.gz to 192.0.2.9"
say "$d: 6 DHCPDISCOVER(br0) $m "
say "$d: 6 DHCPACK(br0) 192.0.2.9 $m"
`

// two are hosts of which one comes.
var two = []string{"a=02:00:00:00:00:01", "b=02:00:00:00:00:02"}

// TestServeEnds: what is told while dnsmasq runs, and how serving ends: as the user wants, when all came, or with dnsmasq.
func TestServeEnds(t *testing.T) {
	means.Tool(t, "dnsmasq")
	means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET, 3*time.Minute) {
		return
	}
	bridge(t)
	if err := unix.Mount("none", stageFolder, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tree := filepath.Join(dir, "debian-installer/amd64")
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.MkdirAll(tree, 0o755))
	for _, name := range []string{"linux", "initrd.gz", "pxelinux.0"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(tree, name), []byte("x"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "dnsmasq")
	act := func(text string) { means.Script(t, script, text) }
	act("")
	if err := unix.Mount(script, dnsmasq, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	const stays = "exec sleep 300\n"
	const begins = "serving on br0, 192.0.2.1; clients must reach UDP 67, UDP 69. End with Ctrl-C.\n"
	for name, c := range map[string]struct {
		act   string
		o     serveOptions
		until string // then the user interrupts it
		taken string // an address in use
		code  int
		err   string
		out   string
		lacks string
	}{
		"all came":        {act: installs + stays, o: serveOptions{once: true}, out: "has the address 192.0.2.9\nall came: done\n"},
		"goes on":         {act: installs + stays, until: "the installer runs, and has the address 192.0.2.9", out: begins, lacks: "all came"},
		"one of two came": {act: installs + stays, o: serveOptions{once: true, hosts: two}, until: "the installer runs", lacks: "all came"},
		"interrupted":     {act: stays, until: begins, out: "  dhcp-range=192.0.2.205,192.0.2.254,255.255.255.0,12h\n"},
		"asked first":     {act: stays, o: serveOptions{probe: time.Millisecond}, until: begins},
		"its configuration": {act: "cat >&2; exit 3\n", code: app.ExitFailed, err: "dnsmasq: exit status 3: ",
			out: "dnsmasq's configuration:\n\n  # no DNS"},
		"it gives up": {act: "for w in a b c d; do echo $w >&2; done; exit 5\n", code: app.ExitFailed, err: "dnsmasq: exit status 5: b; c; d"},
		"it exits":    {act: "echo bye >&2\n", code: app.ExitFailed, err: "dnsmasq: it exited: bye"},
		"DHCP is taken": {act: "", taken: "0.0.0.0:67", code: app.ExitUsage,
			err: "UDP 67 is taken by another server: ss -ulnp sport = 67 tells which; stop it while fettle serves"},
		"TFTP is taken":     {act: "", taken: "192.0.2.1:69", code: app.ExitUsage, err: "UDP 69 is taken by another server"},
		"TFTP is elsewhere": {act: stays, taken: "127.0.0.1:69", until: begins},
		"no range": {act: "", o: serveOptions{addresses: "198.51.100.5-198.51.100.9"}, code: app.ExitUsage,
			err: "is not within 192.0.2.0/24"},
		"no interface": {act: "", o: serveOptions{link: "br7"}, code: app.ExitUsage, err: "--interface br7: is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			act(c.act)
			if c.taken != "" {
				l, err := net.ListenPacket("udp4", c.taken)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			c.o.tree, c.o.link = dir, cmp.Or(c.o.link, "br0")
			if err := c.o.read(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, warn := new(lockedBuffer), new(lockedBuffer)
			ended := make(chan error, 1)
			go func() { ended <- runServe(ctx, &app.App{Program: "fettle", Stdout: out, Stderr: warn}, &c.o) }()
			var err error
			over := false
			means.Until(t, "the end of serving, or "+c.until, func() bool {
				select {
				case err = <-ended:
					over = true
				default:
				}
				return over || c.until != "" && strings.Contains(out.String(), c.until)
			})
			if cancel(); !over {
				means.Within(t, "the end of serving", func() { err = <-ended })
			}
			var ends bytes.Buffer
			code := (&app.App{Stderr: &ends}).End(err)
			says := ends.String()
			if code != c.code || !strings.Contains(says, c.err) || c.err == "" && says != "" {
				t.Errorf("it ends with %d, %q; want %d, %q", code, says, c.code, c.err)
			}
			if said := out.String(); !strings.Contains(said, cmp.Or(c.out, c.until)) || c.lacks != "" && strings.Contains(said, c.lacks) ||
				warn.String() != "" {
				t.Errorf("it says\n%s\nand warns %q; want %q, and not %q", said, warn, cmp.Or(c.out, c.until), c.lacks)
			}
			if left, err := os.ReadDir(stageFolder); len(left) > 0 || err != nil {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}
