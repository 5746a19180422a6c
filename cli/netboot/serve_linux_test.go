package netboot

import (
	"context"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/internal/httpget"
	"fettle/internal/means"
	"fettle/tools/netboot/serve"
)

// TestMain is the HTTP server too, which serve starts as the program that it is itself.
func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], []*trap.Trap{rewrites}, nil, os.Stderr); ok {
		os.Exit(code)
	}
	if len(os.Args) > 2 && os.Args[1] == "netboot" && os.Args[2] == httpVerb {
		c := httpCmd()
		c.SetArgs(os.Args[3:])
		if c.Execute() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ownNetwork runs a test of this binary again in a network of its own, with the
// address 192.0.2.1 on br0.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	means.Root(t)
	means.Tool(t, "ip")
	unshare := means.Tool(t, "unshare")
	if os.Getenv("FETTLE_TEST_NETNS") != t.Name() {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(unshare, "-n", self, "-test.run", "^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), "FETTLE_TEST_NETNS="+t.Name())
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return false
	}
	bridge(t)
	return true
}

// bridge gives a network of the test's own the address 192.0.2.1 on br0.
func bridge(t *testing.T) {
	t.Helper()
	ip := means.Tool(t, "ip")
	for _, argv := range []string{"link set lo up", "link add br0 type bridge", "addr add 192.0.2.1/24 dev br0", "link set br0 up"} {
		if out, err := exec.Command(ip, strings.Fields(argv)...).CombinedOutput(); err != nil {
			t.Fatal(argv, err, string(out))
		}
	}
}

// servedTree is what an unpacked netboot.tar.gz has at least.
func servedTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	for name, text := range map[string]string{"linux": "kernel", "initrd.gz": "initrd", "bootnetx64.efi": "shim",
		"grubx64.efi": "User-Agent: GRUB 2.06", "secret": "x"} {
		name = filepath.Join(dir, "debian-installer/amd64", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serving runs serve until the test is done with it.
func serving(t *testing.T, tree string) (out, warn *lockedBuffer, stop func() error) {
	t.Helper()
	out, warn = new(lockedBuffer), new(lockedBuffer)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	o := serveOptions{tree: tree, link: "br0", probe: 0}
	if err := o.read(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- runServe(ctx, &app.App{Program: "fettle", Stdout: out, Stderr: warn}, &o) }()
	return out, warn, func() error { cancel(); return <-ended }
}

// TestChoosesInterface: the only one that could be meant, or the one that is named, with what is given there.
func TestChoosesInterface(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	asks := func(o serveOptions, want string) {
		t.Helper()
		link, conf, err := o.network()
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %s %s-%s %v", link.Name, conf.Address, conf.From, conf.To, conf.All)
		}
		if got != want {
			t.Errorf("%+v: %s; want %s", o, got, want)
		}
	}
	asks(serveOptions{}, "br0 192.0.2.1/24 192.0.2.205-192.0.2.254 true")
	asks(serveOptions{proxy: true}, "br0 192.0.2.1/24 invalid IP-invalid IP true")
	asks(serveOptions{link: "br1"}, "--interface br1: is not there, is down, or has no IPv4 address")
	for _, argv := range []string{"link add br1 type bridge", "addr add 198.51.100.1/24 dev br1"} {
		if out, err := exec.Command(means.Tool(t, "ip"), strings.Fields(argv)...).CombinedOutput(); err != nil {
			t.Fatal(argv, err, string(out))
		}
	}
	asks(serveOptions{}, "br0 192.0.2.1/24 192.0.2.205-192.0.2.254 true")
	asks(serveOptions{link: "br1"}, "--interface br1: is not there, is down, or has no IPv4 address")
	if out, err := exec.Command(means.Tool(t, "ip"), "link", "set", "br1", "up").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	asks(serveOptions{}, "on which interface? --interface br0 or --interface br1")
	asks(serveOptions{link: "br1", expected: make([]serve.Host, 1)}, "br1 198.51.100.1/24 198.51.100.205-198.51.100.254 false")
	asks(serveOptions{link: "br1", expected: make([]serve.Host, 1), all: true}, "br1 198.51.100.1/24 198.51.100.205-198.51.100.254 true")
}

// TestServeNoHTTP: a GRUB that cannot fetch by HTTP would stop at its prompt, so that
// no client is told to boot that way.
func TestServeNoHTTP(t *testing.T) {
	means.Tool(t, "dnsmasq")
	if !ownNetwork(t) {
		return
	}
	tree := servedTree(t)
	if err := os.WriteFile(filepath.Join(tree, "debian-installer/amd64/grubx64.efi"), []byte("GRUB without the module http"),
		0o644); err != nil {
		t.Fatal(err)
	}
	out, _, stop := serving(t, tree)
	out.comes(t, "GRUB in this tree cannot fetch by HTTP: UEFI clients boot by PXE")
	out.comes(t, "clients must reach UDP 67, UDP 69.")
	if strings.Contains(out.String(), "HTTPClient") {
		t.Error("clients are told to boot by HTTP")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestServeHTTP: clients that boot by HTTP get the same files, from a process without rights.
func TestServeHTTP(t *testing.T) {
	means.Tool(t, "dnsmasq")
	if !ownNetwork(t) {
		return
	}
	tree := servedTree(t)
	out, warn, stop := serving(t, tree)
	out.comes(t, "serving on br0, 192.0.2.1; clients must reach UDP 67, UDP 69, TCP 80.")
	out.comes(t, "dhcp-boot=tag:http64,http://192.0.2.1/debian-installer/amd64/bootnetx64.efi")
	get := func(name string) string {
		res, err := httpget.Get(t.Context(), "http://192.0.2.1"+name, httpget.Options{})
		if err != nil {
			t.Fatal(err, warn)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b) + res.Reason
	}
	if got := get("/debian-installer/amd64/linux"); got != "kernelOK" {
		t.Errorf("the kernel is %q", got)
	}
	out.comes(t, "was sent the kernel")
	if got := get("/../../etc/passwd"); got != "Not Found" {
		t.Errorf("%q", got)
	}
	// A link that was put into the served folder leads no further than nobody's rights.
	if err := os.WriteFile(filepath.Join(tree, "debian-installer/amd64/secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Join(tree, "debian-installer/amd64/secret"), 0o600)
	if got := get("/debian-installer/amd64/secret"); got != "Forbidden" {
		t.Errorf("a file of root's: %q", got)
	}
	os.Remove(filepath.Join(tree, "debian-installer/amd64/secret"))
	if err := stop(); err != nil {
		t.Error(err)
	}
	if c, err := net.DialTimeout("tcp", "192.0.2.1:80", time.Second); err == nil {
		c.Close()
		t.Error("something still listens on port 80")
	}
	l, err := net.Listen("tcp4", "192.0.2.1:80") // another's web server
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, warn, stop = serving(t, tree)
	warn.comes(t, "TCP 80 is taken by another server")
	out.comes(t, "clients must reach UDP 67, UDP 69.")
	if strings.Contains(out.String(), "HTTPClient") {
		t.Error("clients are told of an HTTP server that is not there")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
