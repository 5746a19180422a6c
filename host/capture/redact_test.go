package capture_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/capture"
	"fettle/host/format/openpgp"
	"fettle/host/hosttest"
	"fettle/host/redact"
)

func redactor(t testing.TB) *redact.Redactor {
	r, err := redact.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// archive asks everything that the archive of hosttest holds.
var archive = &trap.Trap{Lore: "---\nid: all\ntitle: all\n---\n", Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
	for _, p := range strings.Fields(`/etc/hostname /etc/hosts /etc/resolv.conf /etc/passwd /etc/group /etc/network/interfaces
		/etc/NetworkManager/system-connections/wifi.nmconnection /etc/netplan/50-wifi.yaml /etc/wpa_supplicant/wpa_supplicant.conf
		/etc/acme/agent.conf /sys/block/sda/device/serial /proc/cmdline /var/lib/dpkg/status /home/zaphod/.ssh/id_rsa
		/proc/sys/net/ipv6/conf/frotz0/stable_secret /proc/sys/net/ipv6/conf/frotz0/accept_ra`) {
		h.ReadFile(ctx, p)
		h.Stat(ctx, p)
	}
	for _, d := range []string{"/etc", "/home/zaphod", "/proc/sys/net/ipv6/conf"} {
		h.ReadDir(ctx, d)
	}
	h.Readlink(ctx, "/home/zaphod/current")
	h.Xattr(ctx, "/etc/hosts", "user.owner")
	h.Xattr(ctx, "/etc/hosts", "system.posix_acl_access")
	h.Run(ctx, "systemctl", "show", "frotz.service")
	h.Links(ctx)
	h.Routes6(ctx)
	r.Clear("", "asked")
	return nil
}}

// TestNothingSurvives looks for every name, address and secret of a host in
// every byte of its redacted capture: manifest, names of members, contents.
func TestNothingSurvives(t *testing.T) {
	src, _ := hosttest.Load(t, "testdata/secrets.txtar")
	rec := capture.NewRecorder(src)
	outcomes(t, rec, []*trap.Trap{archive})
	c := rec.Capture()
	r := redactor(t)
	dropped, err := c.Redact(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	members := unpack(t, b.Bytes())
	for _, secret := range strings.Fields(`xyzzy plugh frotz zaphod beeble grue saltsalt hashhash
		10.20. 2001:db8:77 5254:ff aa:bb:cc aabbcc feaa:bb bbcc 54:00:aa 54:0:aa
		correcthorse 12345678 87654321 11223344 sesame battery staple 89abcdef c2vjcmv0 licence industries wd-1 hunter 3e6be9de a43f08d8
		db8:1:2 7a6170686f64`) {
		for name, body := range members {
			if strings.Contains(strings.ToLower(name), secret) {
				t.Errorf("%q survives in the name %s", secret, name)
			}
			if i := strings.Index(strings.ToLower(body), secret); i >= 0 {
				t.Errorf("%q survives in %s: …%s…", secret, name, body[max(0, i-40):min(len(body), i+40)])
			}
		}
	}
	for name, body := range members {
		if strings.Contains(body, "host start") || strings.Contains(body, "key-password=start") {
			t.Errorf("a secret of everyday words survives in %s", name)
		}
	}
	sort.Strings(dropped)
	want := []string{"read /etc/acme/agent.conf", "read /proc/sys/net/ipv6/conf/frotz0/stable_secret", "xattr /etc/hosts"}
	if !slices.Equal(dropped, want) {
		t.Errorf("dropped %q, want %q", dropped, want)
	}
	checkSense(t, through(t, c), r)
}

// checkSense: what has a meaning keeps it.
func checkSense(t *testing.T, s *capture.Source, r *redact.Redactor) {
	ctx := t.Context()
	h := host.New(s)
	interfaces, err := h.ReadString(ctx, "/etc/network/interfaces")
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []string{"auto eth0\niface eth0 inet static\n    address 10.", "/24\n", "netmask 255.255.255.0", "wpa-psk redacted"} {
		if !strings.Contains(interfaces, keep) {
			t.Errorf("%q did not stay in\n%s", keep, interfaces)
		}
	}
	ls, err := h.Links(ctx)
	if err != nil || len(ls) != 2 || ls[0].Name != "lo" || ls[0].Addrs[0].Local != "127.0.0.1" || ls[1].MTU != 1500 {
		t.Fatalf("links %+v, %v", ls, err)
	}
	br := ls[1]
	gw, _, _ := strings.Cut(interfaces[strings.Index(interfaces, "gateway ")+8:], "\n")
	net := netip.MustParsePrefix(br.Addrs[0].Local + "/24").Masked()
	if !net.Contains(netip.MustParseAddr(gw)) || !netip.MustParsePrefix("10.0.0.0/8").Contains(net.Addr()) {
		t.Errorf("gateway %s is not in %s any more", gw, net)
	}
	if !strings.Contains(interfaces, br.MAC) {
		t.Errorf("the hardware address became %s in one place and another elsewhere:\n%s", br.MAC, interfaces)
	}
	ll := netip.MustParseAddr(br.Addrs[2].Local)
	b := ll.As16()
	if mac := fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[8]^2, b[9], b[10], b[13], b[14], b[15]); !ll.IsLinkLocalUnicast() ||
		mac != br.MAC {
		t.Errorf("link-local %s is not of %s", ll, br.MAC)
	}
	rs, err := h.Routes6(ctx)
	if err != nil || rs[0].Dst != "default" || rs[2].Dst != "ff00::/8" || rs[1].Dev != br.Name {
		t.Errorf("routes %+v, %v", rs, err)
	} else if p, err := netip.ParsePrefix(rs[1].Dst); err != nil || p != p.Masked() || !p.Contains(netip.MustParseAddr(br.Addrs[1].Local)) {
		t.Errorf("route to %s, address %s", rs[1].Dst, br.Addrs[1].Local)
	}
	if v, err := h.ReadString(ctx, "/proc/sys/net/ipv6/conf/"+br.Name+"/accept_ra"); v != "2" {
		t.Errorf("a path made of a link's name: %q, %v", v, err)
	}
	if ps, err := h.Packages(ctx); err != nil || len(ps) != 1 || ps[0].Name != "openssh-server" || ps[0].Version != "1:9.2p1-2+deb12u3" {
		t.Errorf("packages %+v, %v", ps, err)
	}
	if _, err := h.ReadFile(ctx, "/etc/acme/agent.conf"); err == nil || host.IsAbsent(err) {
		t.Errorf("dropped: %v", err)
	}
	name, err := h.ReadString(ctx, "/etc/hostname")
	if err != nil || name != h.Identity().Hostname || r.Replaced()[name] != "xyzzy-prod7" {
		t.Errorf("host name %q, identity %q, %v", name, h.Identity().Hostname, err)
	}
}

func unpack(t *testing.T, b []byte) map[string]string {
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(tr)
		out[fmt.Sprint(h.Name, h.Linkname, h.Uname, h.PAXRecords)] = string(body)
	}
}

// checkRedacted: a redacted capture gives the outcomes of the host, want, but for
// the replaced names.
func checkRedacted(t *testing.T, c *capture.Capture, want string, ts []*trap.Trap) {
	r := redactor(t)
	r.Disguise = openpgp.Disguise
	dropped, err := c.Redact(r)
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes(t, through(t, c), ts)
	for p, name := range r.Replaced() {
		got = strings.ReplaceAll(got, p, name)
	}
	got, want = without(got, want, "counter-wrap", "configuration-refused", "boot-entry-broken",
		"unit-cannot-start-again", "network-by-hand", "listen-address-by-hand", "listener-of-session", "certbot-cannot-renew",
		"certificate-not-loaded", "listen-address-late", "cron-table-refused")
	if a, b := essence(got), essence(want); a != b {
		t.Errorf(
			"redacted:\n%s\nhost:\n%s\ndropped: %q\n(a word that a check looks for belongs in host/redact/words.txt, a file's kind in kinds.go)",
			a,
			b,
			dropped,
		)
	}
}

// without leaves out what both say of traps, if redaction took from them what they
// judge: the configuration of pollers, databases, boot loaders and keepalived, in which passwords stand among names.
func without(got, want string, traps ...string) (string, string) {
	if !strings.Contains(got, "left out by redaction") && !strings.Contains(got, "not collected in this capture") {
		return got, want
	}
	drop := func(s string) string {
		var kept []string
		for _, o := range strings.Split(s, "\n {\n") {
			if !slices.ContainsFunc(traps, func(trap string) bool { return strings.Contains(o, `"trap": "`+trap+`"`) }) {
				kept = append(kept, o)
			}
		}
		return strings.Join(kept, "\n {\n")
	}
	return drop(got), drop(want)
}

// keyID is that of an OpenPGP key, which redaction changes.
var keyID = regexp.MustCompile(`\b[0-9a-f]{16} (expired|is weak|was revoked|is bound)`)

// essence keeps what a finding is: trap, subject, status, severity, summary
// and reason, not the evidence quoted; in an order that names do not change.
func essence(s string) string {
	var all []string
	for line := range strings.Lines(s) {
		k, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !slices.Contains([]string{`"trap"`, `"subject"`, `"status"`, `"severity"`, `"summary"`, `"reason"`}, k) {
			continue
		}
		line = keyID.ReplaceAllString(strings.ToLower(line), "a key $1")
		if k == `"trap"` || len(all) == 0 {
			all = append(all, line)
		} else {
			all[len(all)-1] += line
		}
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
