package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/host"
	"fettle/internal/means"
	"fettle/tools/netboot/hooks"
	"fettle/tools/netboot/menu"
)

func conf() Conf {
	return Conf{
		Interface: "lo",
		Address:   netip.MustParsePrefix("192.0.2.1/24"),
		From:      netip.MustParseAddr("192.0.2.50"),
		To:        netip.MustParseAddr("192.0.2.99"),
		Root:      "/",
		Loaders:   Loaders{BIOS: "pxelinux.0", EFI64: "debian-installer/amd64/bootnetx64.efi", EFIArm64: "arm64/bootnetaa64.efi"},
		Hosts:     []Host{{Name: "web1", MAC: "52:54:00:12:34:56", IP: netip.MustParseAddr("192.0.2.9")}},
	}
}

// TestDnsmasqTakesIt: both forms of the configuration, in dnsmasq's own judgement.
func TestDnsmasqTakesIt(t *testing.T) {
	dnsmasq := means.Tool(t, "dnsmasq")
	proxy := conf()
	proxy.Proxy, proxy.Router = true, netip.MustParseAddr("192.0.2.254")
	for _, c := range []Conf{conf(), proxy} {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(dnsmasq, "--test", "--conf-file=-")
		cmd.Stdin = strings.NewReader(c.Text())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, c.Text())
		}
	}
}

// TestStrangers: hosts that nobody expects are left alone, unless all are wanted.
func TestStrangers(t *testing.T) {
	only, all := conf(), conf()
	all.All = true
	if !strings.Contains(only.Text(), "\ndhcp-ignore=tag:!known\n") ||
		!strings.Contains(only.Text(), "dhcp-host=52:54:00:12:34:56,set:known,192.0.2.9,web1\n") {
		t.Errorf("strangers are served:\n%s", only.Text())
	}
	if strings.Contains(all.Text(), "dhcp-ignore") {
		t.Errorf("strangers are ignored:\n%s", all.Text())
	}
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Conf){
		"no network boot loader": func(c *Conf) { c.Loaders = Loaders{} },
		"both have":              func(c *Conf) { c.Hosts = append(c.Hosts, Host{Name: "web2", MAC: c.Hosts[0].MAC}) },
		"both have the name":     func(c *Conf) { c.Hosts = append(c.Hosts, Host{Name: "web1", MAC: "52:54:00:00:00:01"}) },
		"host web1":              func(c *Conf) { c.Hosts[0].IP = netip.MustParseAddr("198.51.100.1") },
		"a client can have":      func(c *Conf) { c.Hosts[0].IP = c.Address.Addr() },
		"the range":              func(c *Conf) { c.From, c.To = c.To, c.From },
	} {
		c := conf()
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestRange(t *testing.T) {
	for prefix, want := range map[string]string{"192.0.2.1/24": "192.0.2.205-192.0.2.254", "192.0.2.254/24": "192.0.2.205-192.0.2.253",
		"192.0.2.206/24": "192.0.2.207-192.0.2.254", "10.0.0.1/8": "10.255.255.205-10.255.255.254", "192.0.2.1/29": "192.0.2.2-192.0.2.6",
		"192.0.2.1/30": ""} {
		from, to, err := Range(netip.MustParsePrefix(prefix))
		if got := from.String() + "-" + to.String(); want == "" && err == nil || want != "" && got != want {
			t.Errorf("%s: %s, %v; want %s", prefix, got, err, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for text, want := range map[string]string{
		"web1=52:54:00:12:34:56":                      "",
		"web1=52-54-00-12-34-56,192.0.2.9":            "",
		"web1=52:54:00:12:34:56,web1.cfg":             "",
		"web1=52:54:00:12:34:56,192.0.2.9,http://a/b": "",
		"web1":                                         "expected NAME=MAC",
		"web_1=52:54:00:12:34:56":                      "letters, digits and hyphens",
		"web1=ff:ff:ff:ff:ff:ff":                       "no MAC address",
		"web1=52:54:00:12:34":                          "no MAC address",
		"web1=52:54:00:12:34:56,2001:db8::1,x":         "no IPv4 address",
		"web1=52:54:00:12:34:56,192.0.2.9,a b.cfg":     "boot menus cannot",
		"web1=52:54:00:12:34:56\ndhcp-script=/bin/x,y": "no MAC address",
	} {
		h, err := ParseHost(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, h, err, want)
		}
	}
	hosts, err := ParseHosts("/etc/x/hosts.yaml",
		[]byte("hosts:\n  - {name: a, mac: '52:54:00:12:34:56', preseed: a.cfg}\n  - name: b\n    mac: 52:54:00:12:34:57\n    ip: 192.0.2.7\n"))
	if err != nil || len(hosts) != 2 || hosts[0].Preseed != "/etc/x/a.cfg" || hosts[1].IP.String() != "192.0.2.7" {
		t.Errorf("%+v, %v", hosts, err)
	}
	for preseed, want := range map[string]string{"": "", "b.cfg": "/etc/x/b.cfg", "/c.cfg": "/c.cfg", "http://x/d.cfg": "http://x/d.cfg",
		"../e.cfg": "/etc/e.cfg"} {
		text := "hosts:\n  - {name: a, mac: '52:54:00:12:34:56', preseed: '" + preseed + "'}\n"
		if hosts, err := ParseHosts("/etc/x/hosts.yaml", []byte(text)); err != nil || len(hosts) != 1 || hosts[0].Preseed != want {
			t.Errorf("%q: %+v, %v; want %q", preseed, hosts, err, want)
		}
	}
	for text, want := range map[string]string{
		"hosts:\n  - {name: a, mack: x}\n":                   "f:2:15: unknown field",
		"hosts:\n  - {name: a, mac: x}\n":                    `f: host a: "x" is no MAC address`,
		"hosts: []\n---\nhosts:\n  - {name: a, mac: x}\n":    "f:3: a second document",
		"# later\n---\n---\nhosts:\n  - {name: a, mac: x}\n": "f:3: the document before this line is empty",
	} {
		if hosts, err := ParseHosts("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %s", text, hosts, err, want)
		}
	}
}

// TestProgress reads what dnsmasq 2.90 logged while qemu booted Debian's tree.
func TestProgress(t *testing.T) {
	for kind, want := range map[string]string{
		"bios": "web1 (52:54:00:12:34:56): asks for an address (BIOS)|has the address 192.0.2.58|was sent the boot loader pxelinux.0|was " +
			"sent the kernel|was sent the initrd",
		"efi": "web1 (52:54:00:12:34:56): asks for an address (UEFI, x86-64)|has the address 192.0.2.58|was sent the boot loader " +
			"bootnetx64.efi|was sent the boot loader grubx64.efi|was sent the kernel|was sent the initrd",
	} {
		b, err := os.ReadFile("testdata/" + kind + ".log")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		p := Progress{Conf: conf(), Tell: func(s string) { got = append(got, s) }}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for line := range strings.Lines(string(b)) {
			p.Line(strings.TrimSpace(line), now)
		}
		at := 0
		for part := range strings.SplitSeq(want, "|") {
			for at < len(got) && !strings.Contains(got[at], part) {
				at++
			}
			if at == len(got) {
				t.Errorf("%s: nobody said %q:\n%s", kind, part, strings.Join(got, "\n"))
				break
			}
		}
		if p.Booted() {
			t.Errorf("%s: the installer has not asked for an address yet", kind)
		}
		p.Line("dnsmasq-dhcp: 77 DHCPDISCOVER(br0) 52:54:00:12:34:56 ", now)
		p.Line("dnsmasq-dhcp: 77 DHCPACK(br0) 192.0.2.58 52:54:00:12:34:56 web1", now)
		if !p.Booted() {
			t.Errorf("%s: the installer runs:\n%s", kind, strings.Join(got, "\n"))
		}
	}
}

func TestProgressTellsWhatWentWrong(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	vendor := "dnsmasq-dhcp[9]: 5 vendor class: PXEClient:Arch:00000:UNDI:002001"
	ask, ack := "dnsmasq-dhcp[9]: 5 DHCPDISCOVER(br0) 52:54:00:12:34:56 ", "dnsmasq-dhcp[9]: 5 DHCPACK(br0) 192.0.2.9 52:54:00:12:34:56 web1"
	for want, lines := range map[string][]string{
		"another DHCP server was faster":                      {vendor, ask},
		"did not ask for a boot loader: a firewall blocks":    {vendor, ask, ack},
		"was sent pxelinux.0, and never asked for the kernel": {vendor, ask, ack, "dnsmasq-tftp[9]: sent /x/pxelinux.0 to 192.0.2.9"},
		"did not get is ldlinux.c32": {vendor, ask, ack, "dnsmasq-tftp[9]: sent /x/pxelinux.0 to 192.0.2.9", "dnsmasq-tftp[9]: file " +
			"/x/ldlinux.c32 not found for 192.0.2.9"},
		"and no initrd": {vendor, ask, ack, "dnsmasq-tftp[9]: sent /x/linux to 192.0.2.9"},
		"asked for grubx64.efi, which the tree does not have": {vendor, ask, ack, "dnsmasq-tftp[9]: file " +
			"//grubx64.efi not found for 192.0.2.9"},
		"is not expected: it is left alone (--host NAME=52:54:00:": {"dnsmasq-dhcp[9]: 6 DHCPDISCOVER(br0) 52:54:00:99:99:99 ignored"},
		"stopped answering while it was sent initrd.gz": {vendor, ask, ack, "dnsmasq-tftp[9]: failed " +
			"sending /x/initrd.gz to 192.0.2.9"},
	} {
		var got []string
		p := Progress{Conf: conf(), Tell: func(s string) { got = append(got, s) }}
		for _, l := range lines {
			p.Line(l, now)
		}
		p.Quiet(now.Add(time.Minute), 30*time.Second)
		n := len(got)
		p.Quiet(now.Add(2*time.Minute), 30*time.Second)
		if !strings.Contains(strings.Join(got, "\n"), want) || len(got) != n {
			t.Errorf("want %q once:\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestMake builds a stage, and leaves the tree as it was.
func TestMake(t *testing.T) {
	top := t.TempDir()
	source := filepath.Join(top, "tree")
	for name, text := range map[string]string{
		"debian-installer/amd64/linux": "k", "debian-installer/amd64/initrd.gz": "\x1f\x8bi", "debian-installer/amd64/pxelinux.0": "p",
		"debian-installer/amd64/bootnetx64.efi": "s", "debian-installer/amd64/grubx64.efi": "g",
		"debian-installer/amd64/boot-screens/syslinux.cfg": "default install\nlabel install\n\tkernel debian-installer/amd64/linux\n\tappend " +
			"vga=788 --- quiet\n",
		"debian-installer/amd64/grub/grub.cfg": "menuentry 'Install' {\n linux /debian-installer/amd64/linux vga=788\n}\n",
	} {
		os.MkdirAll(filepath.Join(source, filepath.Dir(name)), 0o755)
		os.WriteFile(filepath.Join(source, name), []byte(text), 0o644)
	}
	os.Mkdir(filepath.Join(source, "debian-installer/amd64/pxelinux.cfg"), 0o755)
	os.Symlink("../boot-screens/syslinux.cfg", filepath.Join(source, "debian-installer/amd64/pxelinux.cfg/default"))
	os.Symlink("debian-installer/amd64/pxelinux.0", filepath.Join(source, "pxelinux.0"))
	os.Symlink("debian-installer/amd64/pxelinux.cfg", filepath.Join(source, "pxelinux.cfg"))
	os.WriteFile(filepath.Join(top, "web1.cfg"), []byte("d-i x"), 0o644)
	os.Chmod(top, 0o755)
	before := listing(t, source)
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	stages := t.TempDir()
	hosts := []Host{{Name: "web1", MAC: "52:54:00:12:34:56", Preseed: filepath.Join(top, "web1.cfg")}}
	for dir := top; dir != "/"; dir = filepath.Dir(dir) { // the tests' own folder may be closed to others
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&1 == 0 {
			os.Chmod(dir, st.Mode().Perm()|1)
		}
	}
	s, err := Make(t.Context(), host.New(src), stages, source, "192.0.2.1", hosts, &menu.Console{Port: 1, Speed: 115200}, hooks.BBL)
	if err != nil {
		t.Fatal(err)
	}
	if s.Loaders != (Loaders{BIOS: "pxelinux.0", EFI64: "debian-installer/amd64/bootnetx64.efi"}) {
		t.Errorf("%+v", s.Loaders)
	}
	for name, want := range map[string][]string{
		"pxelinux.cfg/default": {"serial 1 115200", "console=ttyS1,115200n8 --- quiet console=ttyS1,115200n8"},
		"pxelinux.cfg/01-52-54-00-12-34-56": {"serial 1 115200\n", "kernel debian-installer/amd64/linux",
			"initrd=debian-installer/amd64/initrd.gz", "preseed/url=tftp://192.0.2.1/preseed/web1.cfg", "hostname=web1"},
		"debian-installer/amd64/grub/grub.cfg": {"net_default_mac\" = \"52:54:00:12:34:56\"", "linux /debian-installer/" +
			"amd64/linux hostname=web1", "initrd /debian-installer/amd64/initrd.gz", "serial --unit=1"},
		"debian-installer/amd64/initrd.gz":          {"\x1f\x8bi", "fettle-bbl.conf"},
		"preseed/web1.cfg":                          {"d-i x"},
		"debian-installer/amd64/pxelinux.cfg/../..": nil,
	} {
		b, _ := os.ReadFile(filepath.Join(s.Root, name))
		for _, w := range want {
			if !bytes.Contains(b, []byte(w)) {
				t.Errorf("%s lacks %q:\n%s", name, w, b)
			}
		}
	}
	if err := Sweep(stages); err != nil || len(names(t, stages)) != 1 {
		t.Errorf("a stage that is in use is gone: %v", err)
	}
	s.lock.Close() // as after a SIGKILL
	if err := Sweep(stages); err != nil || len(names(t, stages)) != 0 {
		t.Errorf("what was left is still there: %v, %v", names(t, stages), err)
	}
	if after := listing(t, source); after != before {
		t.Errorf("the tree changed:\n%s\nwas\n%s", after, before)
	}
	// Whoever may write to the tree has no menu made of what only root may read.
	secret, menu := filepath.Join(top, "secret"), filepath.Join(source, "debian-installer/amd64/grub/grub.cfg")
	os.WriteFile(secret, []byte("root's own"), 0o600)
	os.Remove(menu)
	for _, plant := range []func() error{
		func() error { return os.Symlink(secret, menu) },
		func() error { os.Remove(menu); return os.WriteFile(menu, []byte("root's own"), 0o600) },
		func() error { os.Remove(menu); return syscall.Mkfifo(menu, 0o666) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if s, err := Make(t.Context(), host.New(src), stages, source, "192.0.2.1", hosts, nil); err == nil {
			b, _ := os.ReadFile(filepath.Join(s.Root, "debian-installer/amd64/grub/grub.cfg"))
			if bytes.Contains(b, []byte("root's own")) {
				t.Errorf("served: %s", b)
			}
			s.Close()
		}
	}
	os.Remove(menu)
	os.Chmod(filepath.Join(source, "debian-installer/amd64/linux"), 0o600)
	if _, err := Make(context.Background(), host.New(src), stages, source, "192.0.2.1", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "chmod o+rX") {
		t.Errorf("a kernel that dnsmasq may not read: %v", err)
	}
	if len(names(t, stages)) != 0 {
		t.Error("a stage that failed is left behind")
	}
}

func names(t *testing.T, dir string) []os.DirEntry {
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

func listing(t *testing.T, dir string) string {
	out, err := exec.Command("find", dir, "-printf", "%P %l %s %m\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzProgress(f *testing.F) {
	for _, kind := range []string{"bios", "efi"} {
		b, _ := os.ReadFile("testdata/" + kind + ".log")
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, log string) {
		p := Progress{Conf: conf(), Tell: func(string) {}}
		for line := range strings.Lines(log) {
			p.Line(line, time.Unix(0, 0))
		}
		p.Quiet(time.Unix(100, 0), time.Second)
		p.Booted()
	})
}

func FuzzFirewall(f *testing.F) {
	f.Add([]byte(`{"nftables":[{"chain":{"family":"inet","table":"f","name":"i","hook":"input","policy":"drop"}}]}`))
	f.Add([]byte("-P INPUT DROP\n-A INPUT -p udp -m udp --dport 67 -j ACCEPT\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		NFT(b, "eth0", Port{"udp", 67})
		IPTables(string(b), "eth0", Port{"udp", 67})
	})
}

func FuzzOffer(f *testing.F) {
	f.Add(discover(1, []byte{0x52, 0x54, 0, 1, 2, 3}))
	f.Fuzz(func(t *testing.T, b []byte) { offer(b, 1) })
}

// TestExpectedHostsHaveAPlace: a flood of made-up cards does not keep the hosts that
// are waited for from being seen.
func TestExpectedHostsHaveAPlace(t *testing.T) {
	p := Progress{Conf: conf(), Tell: func(string) {}}
	now := time.Now()
	for i := range maxClients + 10 {
		p.Line(fmt.Sprintf("dnsmasq-dhcp: %d DHCPDISCOVER(br0) 02:00:00:00:%02x:%02x ", i, i>>8, i&255), now)
	}
	if len(p.clients) != maxClients {
		t.Errorf("%d clients are kept", len(p.clients))
	}
	for _, line := range []string{"dnsmasq-dhcp: 77 DHCPDISCOVER(br0) 52:54:00:12:34:56 ",
		"dnsmasq-dhcp: 77 DHCPACK(br0) 192.0.2.58 52:54:00:12:34:56 web1", "dnsmasq-tftp: sent " + p.Conf.Root + "/initrd.gz to 192.0.2.58",
		"dnsmasq-dhcp: 78 DHCPACK(br0) 192.0.2.58 52:54:00:12:34:56 web1"} {
		p.Line(line, now)
	}
	if !p.Booted() {
		t.Error("web1 was not seen")
	}
}

// TestLinksOutOfTheTree: a tree that somebody made has links to the host's own files and
// folders, straight, through others, or through a folder. None is served; those within
// the tree are, also by the long way round.
func TestLinksOutOfTheTree(t *testing.T) {
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	stage := func(links map[string]string) (*Stage, error) {
		top := t.TempDir()
		os.Chmod(top, 0o755)
		os.Chmod(filepath.Dir(top), 0o755)
		source := filepath.Join(top, "tree")
		for name, text := range map[string]string{"d/amd64/linux": "kernel", "d/amd64/initrd.gz": "\x1f\x8bi"} {
			os.MkdirAll(filepath.Dir(filepath.Join(source, name)), 0o755)
			os.WriteFile(filepath.Join(source, name), []byte(text), 0o644)
		}
		for name, to := range links {
			if err := os.Symlink(strings.ReplaceAll(to, "TREE", source), filepath.Join(source, name)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Make(t.Context(), host.New(src), t.TempDir(), source, "192.0.2.1", nil, nil)
		if err == nil {
			t.Cleanup(func() { s.Close() })
		}
		return s, err
	}
	up := strings.Repeat("../", 20)
	for _, links := range []map[string]string{{"x": "/"}, {"x": "/etc/passwd"}, {"d/x": up + "etc/passwd"},
		{"x": ".."}, {"x": "y", "y": "/etc"},
		{"d/x": "amd64/y", "d/amd64/y": "../../.."}, {"x": "/proc/self/root"}, {"x": "/proc/self/cwd"}} {
		if s, err := stage(links); err == nil || !strings.Contains(err.Error(), "leads out of the tree") {
			t.Errorf("%v: %v, %v", links, s, err)
		}
	}
	s, err := stage(map[string]string{"linux": "d/amd64/linux", "a": "TREE/d/amd64/linux", "b": "../tree/d/amd64/linux", "d/f": "amd64",
		"nowhere": "/no/such/file", "c": "b", "loose": "/etc/passwd/x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"linux", "a", "b", "c", "d/f/linux"} {
		if b, err := os.ReadFile(filepath.Join(s.Root, name)); string(b) != "kernel" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"nowhere", "loose"} {
		if _, err := os.Lstat(filepath.Join(s.Root, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}
