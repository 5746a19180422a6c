package redact

import (
	"net/netip"
	"strings"
	"testing"

	"fettle/internal/means"
)

func redactor(t testing.TB) *Redactor {
	r, err := New([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestShortKey(t *testing.T) {
	if _, err := New([]byte("short")); err == nil {
		t.Error("a key of 5 bytes was taken")
	}
}

// TestStays: what checks live on is not touched.
func TestStays(t *testing.T) {
	r := redactor(t)
	for _, s := range []string{
		"net.ipv6.conf.eth0.accept_ra = 2", "iface br0 inet6 static", "bridge_ports none", "IPv6AcceptRA=yes", "DHCP=ipv4",
		"127.0.0.1 ::1 0.0.0.0/0 ::/0",
		"ff02::1 224.0.0.251 255.255.255.255", "255.255.254.0", "enp1s0f1 eno1 ens192 enX0 wlp3s0 " +
			"vnet12 veth0 bond0.100 sda1 nvme0n1p2", "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
		"01:80:c2:00:00:00 33:33:00:00:00:01", "2026-03-04 05:06:07", "0000:00:1f.3", "12:34:56", "6.1.0-30-amd64", "x86_64",
		"/usr/lib/systemd/system/ssh.service",
		"169.254.169.254", "10-network.conf", "mode 1775", "0x8001", "Storage=persistent", "systemd-journald", "2147483648",
	} {
		if got := r.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// TestGoes: what identifies is gone, however it is written.
func TestGoes(t *testing.T) {
	r := redactor(t)
	r.LearnHost("web-prod.acme-corp.example")
	r.LearnUser("zaphod")
	for s, gone := range map[string]string{
		"on WEB-PROD.acme-corp.example:": "prod acme", "x-web-prod-y": "web-prod", "zaphod@x": "zaphod", "Zaphod's": "zaphod",
		"192.0.2.33": "192.0.2.33", "192.0.2.33:8080": "192.0.2.33", "::ffff:192.0.2.33": "192.0.2.33", "[2001:db8::33]:80": "db8::33",
		"fe80::1234%eth0":   "1234",
		"52:54:00:ab:cd:ef": "ab:cd:ef", "52-54-00-AB-CD-EF": "ab-cd-ef", "8000.52:54:0:ab:cd:ef": "ab:cd:ef",
		"8000.525400abcdef": "abcdef", "8000.525400123456": "123456", "enx525400123456": "123456", "enx525400abcdef": "abcdef",
		"ff02::1:ffab:cdef": "ab:cdef", "33:33:ff:ab:cd:ef": "ab:cd:ef", "WD-WX12A3456789": "wx12 3456789", "S3Z9NB0K123456": "s3z9",
		"3e6be9de-8139-11d1-9106-a43f08d823a6": "3e6be9de a43f08d8 8139 9106",
		"gr\u00fc\u00dfe-m\u00fcller":          "m\u00fcller", "192.0.2.33.": "192.0.2.33", "a,192.0.2.33;b": "192.0.2.33",
	} {
		got := strings.ToLower(r.Text(s))
		for _, g := range strings.Fields(gone) {
			if strings.Contains(got, g) {
				t.Errorf("%q: %q survives in %q", s, g, got)
			}
		}
	}
}

// TestPrefixes: addresses share as many bits as before, and stay in the range
// that gives them their meaning.
func TestPrefixes(t *testing.T) {
	r := redactor(t)
	list := strings.Fields(
		"10.0.0.1 10.0.0.2 10.0.1.1 10.128.0.1 11.0.0.1 172.16.3.4 172.31.3.4 172.32.0.1 192.168.1.1 192.168.1.200 8.8.8.8 8.8.4.4 " +
			"203.0.113.9 100.64.0.1 169.254.3.4 " +
			"2001:db8::1 2001:db8::2 2001:db8:0:1::1 2a00:1450::1 fd00:1::1 fd00:2::1 fe80::1 fe80::2 fe80::5054:ff:feaa:bbcc",
	)
	common := func(a, b netip.Addr) int {
		n := 0
		for ; n < a.BitLen(); n++ {
			p, _ := a.Prefix(n + 1)
			if q, _ := b.Prefix(n + 1); p != q {
				break
			}
		}
		return n
	}
	seen := map[netip.Addr]string{}
	for _, s := range list {
		a := netip.MustParseAddr(s)
		x := r.Addr(a)
		if old, ok := seen[x]; ok {
			t.Errorf("%s and %s both became %s", old, s, x)
		}
		seen[x] = s
		if x == a {
			t.Errorf("%s stayed", s)
		}
		if a.IsPrivate() != x.IsPrivate() || a.IsLinkLocalUnicast() != x.IsLinkLocalUnicast() || x.IsLoopback() || x.IsMulticast() ||
			a.IsGlobalUnicast() != x.IsGlobalUnicast() {
			t.Errorf("%s became %s, of another range", s, x)
		}
		for _, s2 := range list {
			b := netip.MustParseAddr(s2)
			if a.Is4() != b.Is4() || a.IsLinkLocalUnicast() || b.IsLinkLocalUnicast() {
				continue
			}
			if n, m := common(a, b), common(x, r.Addr(b)); n != m {
				t.Errorf("%s and %s share %d bits, replaced %d", s, s2, n, m)
			}
		}
	}
	if got := r.Text("10.1.0.0/16"); !strings.HasSuffix(got, ".0.0/16") || got == "10.1.0.0/16" {
		t.Errorf("a network became %q", got)
	}
	other, _ := New([]byte("fedcba9876543210"))
	if a := netip.MustParseAddr("10.0.0.1"); other.Addr(a) == r.Addr(a) {
		t.Error("two keys give one pseudonym")
	}
}

func TestSecrets(t *testing.T) {
	for s, want := range map[string]string{
		"psk=hunter2":                         "psk=redacted",
		"  password: hunter2":                 "  password: redacted",
		"wifi: {password: hunter2}":           "wifi: {password: redacted",
		"PrivateKey = aGVsbG8=":               "PrivateKey = redacted",
		"wep-key0=1234567890":                 "wep-key0=redacted",
		"\twpa-psk correct horse":             "\twpa-psk redacted",
		"//nas/x /mnt cifs user=a,password=b": "//nas/x /mnt cifs user=a,password=redacted",
		"-----BEGIN RSA PRIVATE KEY-----\nAAA\n-----END RSA PRIVATE KEY-----\nx=1": "redacted\n\n\nx=1",
		"-----BEGIN CERTIFICATE-----\ncut off":                                     "redacted\n",
		// No secrets:
		"kernel.keys.maxkeys = 200":     "kernel.keys.maxkeys = 200",
		"key-mgmt=wpa-psk":              "key-mgmt=wpa-psk",
		"PasswordAuthentication yes":    "PasswordAuthentication yes",
		"password required pam_unix.so": "password required pam_unix.so",
		"auth: {key-management: psk}":   "auth: {key-management: psk}",
		"ForwardToConsole=no":           "ForwardToConsole=no",
	} {
		if got := Secrets(s); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	r := redactor(t)
	r.LearnFile("/etc/passwd", []byte("test:x:1000:1000:A B:/home/test:/bin/bash\n"))
	for _, c := range []struct{ name, in, want string }{
		{"/etc/sysctl.d/1.conf", "# secret talk\n  ; more\nvm.swappiness = 1 \n", "#\n  ;\nvm.swappiness = 1 \n"},
		{"/etc/nsswitch.conf", "passwd: files systemd\n", "passwd: files systemd\n"},
		{"/etc/group", "adm:x:4:syslog,root\n", "adm:x:4:syslog,root\n"},
		{"/proc/sys/kernel/hostname", "(none)\n", "(none)\n"},
		{"/usr/lib/sysctl.d/50-default.conf", "net.ipv4.conf.all.rp_filter = 2\n", "net.ipv4.conf.all.rp_filter = 2\n"},
	} {
		got, ok := r.File(c.name, []byte(c.in))
		if !ok || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, ok, c.want)
		}
	}
	got, _ := r.File("/etc/group", []byte("adm:x:4:test\n"))
	got2, _ := r.File("/etc/passwd", []byte("test:x:1000:1000:A B:/home/test:/bin/bash\n"))
	if user := r.User("test"); string(got) != "adm:x:4:"+user+"\n" || string(got2) != user+":x:1000:1000::/home/"+user+":/bin/bash\n" {
		t.Errorf("a user with an everyday name: %q, %q", got, got2)
	}
	for _, name := range []string{"/etc/shadow", "/etc/acme.conf", "/root/x", "/proc/net/tcp", "/proc/1/environ",
		"/sys/class/dmi/id/product_uuid", "/etc/ssh/ssh_host_rsa_key", "/var/log/syslog"} {
		if _, ok := r.File(name, []byte("x\n")); ok {
			t.Errorf("%s is of no known kind, and was kept", name)
		}
	}
	for _, binary := range []string{"a\x00b", "\x00b", "\xff"} {
		if _, ok := r.File("/etc/sysctl.conf", []byte(binary)); ok {
			t.Errorf("a binary file was kept: %q", binary)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzText: nothing crashes, nothing but words changes, a word has one
// pseudonym, and lines stay.
func FuzzText(f *testing.F) {
	for _, s := range []string{"web1 10.0.0.1/24 fe80::1%eth0", "52:54:00:ab:cd:ef 8000.de:4b:0:ed:12:0", "psk=x\n# y", "1.2.3.4:5",
		"::::", "enxffffffffffff", "a:b:c:d:e:f", "\xff\xfe"} {
		f.Add(s)
	}
	r := redactor(f)
	r.LearnHost("web1.corp.example")
	f.Fuzz(func(t *testing.T, s string) {
		out := r.Text(s)
		if strings.Count(out, "\n") != strings.Count(s, "\n") || out != r.Text(s) {
			t.Errorf("%q became %q, then %q", s, out, r.Text(s))
		}
		if strings.Contains(strings.ToLower(out), "web1.corp") {
			t.Errorf("the host's name survives in %q", out)
		}
		Secrets(s)
		for _, k := range kindsOf {
			r.File(strings.ReplaceAll(k.pattern, "*", "x")+"x", []byte(s))
		}
	})
}

// Of two names of which one begins the other, the longer is replaced as a whole; of a domain
// each label is a name but the last, also where it is made of everyday words.
func TestNamesOfEverydayWords(t *testing.T) {
	r := redactor(t)
	r.LearnUser("zaphod")
	r.LearnHost("zaphod-mail.lab.beta-server.example")
	for _, s := range []string{"zaphod-mail", "at ZAPHOD-mail:", "beta-server", "x.beta-server.example"} {
		if got := strings.ToLower(r.Text(s)); strings.Contains(got, "mail") || strings.Contains(got, "server") {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := r.Text("a mail server"); got != "a mail server" {
		t.Errorf("everyday words became %q", got)
	}
}
