package netbootstale

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
)

// TestRealTFTPD: tftpd-hpa goes on serving a folder that was renamed, until it is
// restarted; the same of one that was deleted, and of one that is mounted.
func TestRealTFTPD(t *testing.T) {
	tftpd := means.Tool(t, "in.tftpd")
	if !means.Inside(t, syscall.CLONE_NEWNET|syscall.CLONE_NEWNS|syscall.CLONE_NEWPID, 60*time.Second) {
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(unix.Mount("proc", "/proc", "proc", 0, "")) // no other's in.tftpd is seen
	// Its getaddrinfo(3) wants an address beside the loopback's (AI_ADDRCONFIG).
	for _, args := range []string{"link set lo up", "link add v0 type veth peer name v1", "addr add 192.0.2.1/24 dev v0", "link set v0 up",
		"link set v1 up"} {
		must(exec.Command(means.Tool(t, "ip"), strings.Fields(args)...).Run())
	}
	base := t.TempDir()
	must(os.Chmod(base, 0o755))
	dir := filepath.Join(base, "tftp")
	fill := func(build string) {
		t.Helper()
		must(os.Mkdir(dir, 0o755))
		must(os.WriteFile(filepath.Join(dir, "version"), []byte(build), 0o644))
	}
	start := func(wrap ...string) *exec.Cmd {
		t.Helper()
		argv := append(wrap, tftpd, "--listen", "--foreground", "--user", "nobody", "--address", "127.0.0.1:69", "--secure", dir)
		c := exec.Command(argv[0], argv[1:]...)
		must(c.Start())
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		for range 50 {
			if served(t) != "" {
				return c
			}
		}
		t.Fatal("in.tftpd does not answer")
		return nil
	}
	stop := func(c *exec.Cmd) { c.Process.Kill(); c.Wait(); time.Sleep(100 * time.Millisecond) }

	fill("u1")
	c := start()
	want(t, trap.Clear, "")
	must(os.Rename(dir, dir+".old"))
	fill("u3")
	if got := served(t); got != "u1" {
		t.Errorf("after the rename it serves %q", got)
	}
	want(t, trap.Found, dir+".old")
	stop(c)
	c = start()
	if got := served(t); got != "u3" {
		t.Errorf("restarted, it serves %q", got)
	}
	want(t, trap.Clear, "")
	must(os.RemoveAll(dir))
	fill("u4")
	want(t, trap.Found, "is deleted")
	stop(c)

	// In a mount namespace of its own, where the folder is mounted.
	real := filepath.Join(base, "real")
	must(os.Mkdir(real, 0o755))
	must(os.WriteFile(filepath.Join(real, "version"), []byte("u5"), 0o644))
	c = start("/usr/bin/unshare", "-m", "/bin/sh", "-c", `mount --bind "$1" "$2" && shift 2 && exec "$@"`, "sh", real, dir)
	if got := served(t); got != "u5" {
		t.Errorf("mounted, it serves %q", got)
	}
	want(t, trap.Found, "")
	stop(c)

	// A file that is mounted over another, and deleted, as systemd-nspawn does with boot_id: no folder is served there.
	c = start("/usr/bin/unshare", "-m", "/bin/sh", "-c", `cd "$1" && : >id && : >over && mount --bind id over && rm id && shift && exec "$@"`,
		"sh", base)
	want(t, trap.Clear, "")
	stop(c)
}

func want(t *testing.T, status trap.Status, named string) {
	t.Helper()
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, o := range traptest.Run(t, &Trap, host.New(src)) {
		if o.Subject != "in.tftpd" && !strings.HasSuffix(o.Subject, ".service") {
			continue
		}
		said := o.Summary + " " + string(o.Detail)
		if o.Status != status || !strings.Contains(said, named) {
			t.Errorf("%s %s: %s; want %s with %q", o.Status, o.Subject, said, status, named)
		}
		return
	}
	t.Errorf("nothing is said of in.tftpd")
}

// served is the file "version" as TFTP hands it out (RFC 1350); empty: no answer.
func served(t *testing.T) string {
	t.Helper()
	u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	u.WriteToUDP([]byte("\x00\x01version\x00octet\x00"), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 69})
	u.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	b := make([]byte, 600)
	n, from, err := u.ReadFromUDP(b)
	if err != nil || n < 4 || b[1] != 3 {
		return ""
	}
	u.WriteToUDP([]byte{0, 4, 0, 1}, from) // its process for this transfer ends
	return string(b[4:n])
}
