package rule

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// with is a rule of a stranger that reads facts and finds when.
func with(t *testing.T, facts, when, detail string) *Rule {
	t.Helper()
	text := "id: x\ntitle: x\nseverity: notice\nsymptoms: [a, b, c]\nsince: x\nreferences: [x]\nabout: |\n  # A\n\n  # B\nfacts:\n" + facts +
		"findings:\n  - when: " + when + "\n    summary: met\n    detail: '" + detail + "'\nclear: not met\n"
	r, ms := Parse("x.yaml", []byte(text), false)
	if r == nil {
		t.Fatalf("%v\n%s", ms, text)
	}
	return r
}

func outcome(t *testing.T, r *Rule, h *host.Host) trap.Outcome {
	t.Helper()
	os := r.outcomes(t.Context(), h)
	if len(os) != 1 {
		t.Fatalf("%d outcomes", len(os))
	}
	return os[0]
}

// TestSecrets: a stranger's rule reads no secret, whatever leads there.
func TestSecrets(t *testing.T) {
	const hidden = "hunter2-the-secret"
	h := hosttest.New(t, `
-- root/etc/shadow --
root:hunter2-the-secret:1
-- root/home/u/.ssh/id_rsa --
hunter2-the-secret
-- root/home/u/.google_authenticator --
hunter2-the-secret
-- root/srv/all.pem --
-----BEGIN PRIVATE KEY-----
hunter2-the-secret
-- link/tmp/innocent --
/etc/shadow
-- link/tmp/dir --
../home/u
-- link/tmp/key --
dir/.ssh/id_rsa
-- link/tmp/codes --
/home/u/.google_authenticator
-- link/tmp/twice --
innocent
-- link/etc/app.d/50.conf --
/etc/shadow
-- link/proc/sys/x --
/etc/shadow
-- root/proc/1/environ --
TOKEN=hunter2-the-secret
-- link/tmp/self --
/proc/1
-- link/tmp/through --
none/../innocent
-- link/etc/ssl/private --
/srv/kept
-- root/srv/kept/host.txt --
hunter2-the-secret
-- link/tmp/none-of --
/none/none/../../tmp/dir/.ssh/id_rsa
`)
	for _, facts := range []string{
		"  f: {file: /tmp/innocent}", "  f: {file: /tmp/twice}", "  f: {file: /tmp/key}", "  f: {file: /tmp/codes}",
		"  f: {file: /srv/all.pem}", "  f: {file: /tmp/self/environ}",
		// The kernel would not go through a folder that is not there; what is judged does.
		"  f: {file: /tmp/through}", "  f: {file: /tmp/none-of}",
	} {
		o := outcome(t, with(t, facts+"\n", "f.exists", "{{f.text}}"), h)
		if o.Status != trap.Unknown || !strings.Contains(o.Reason, "secrets") {
			t.Errorf("%s: %s %s", facts, o.Status, o.Reason)
		}
		if strings.Contains(fmt.Sprint(o), hidden) {
			t.Errorf("%s: %v", facts, o)
		}
	}
	for _, facts := range []string{
		"  f: {regex: hunter, in: /tmp/*}", "  f: {regex: hunter, in: /tmp/innocent}", "  f: {regex: root, in: /*/app.d/*}",
		"  f: {regex: hunter, in: /etc/ssl/*/host.txt}",
		"  f: {log: hunter, in: /tmp/twice}",
	} {
		o := outcome(t, with(t, facts+"\n", "f.found", ""), h)
		if o.Status != trap.Unknown || strings.Contains(fmt.Sprint(o), hidden) {
			t.Errorf("%s: %v", facts, o)
		}
	}
	for facts, when := range map[string]string{
		"  f: {keyvalue: /etc/none, dropins: /etc/app.d}": "f.exists", "  f: {ini: /tmp/innocent}": "f.exists",
		"  f: {table: /tmp/innocent, separator: ':'}": "size(f.rows) > 0", "  f: {sysctl: x.y}": "f.exists",
	} {
		o := outcome(t, with(t, facts+"\n", when, ""), h)
		if o.Status == trap.Found || strings.Contains(fmt.Sprint(o), hidden) {
			t.Errorf("%s: %v", facts, o)
		}
	}
	for _, p := range []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/ssh/ssh_host_ed25519_key", "/root/.ssh/id_ed25519",
		"/home/a/.google_authenticator",
		"/etc/ssl/private/x.pem", "/etc/krb5.keytab", "/proc/1/environ", "/proc/self/mem", "/proc/kcore", "/dev/sda", "/dev/mem",
		"/var/lib/fettle/changes/x",
		"/etc/wireguard/wg0.conf", "/etc/NetworkManager/system-connections/a", "/root/.pgpass", "/run/credentials/x/y",
		"/root/.bash_history", "/proc/*/environ", "/proc/*/net/arp",
		"/proc/self/net/../environ", "/proc/42/net/arp/../../environ", "/proc/42/netx", "/proc/42/mounts/x", "/proc/42/maps"} {
		if !secretPath(p) {
			t.Errorf("%s is a secret", p)
		}
	}
	for _, p := range []string{"/etc/ssh/ssh_host_ed25519_key.pub", "/etc/ssh/sshd_config", "/root/.ssh/authorized_keys",
		"/etc/ssl/certs/a.pem", "/proc/sys/kernel/pid_max",
		"/proc/mdstat", "/proc/net/arp", "/proc/42/net/arp", "/proc/self/net", "/proc/self/mounts", "/proc/42/net/stat/nf_conntrack",
		"/etc/fstab", "/var/log/syslog", "/sys/block/sda/queue/rotational", "/etc/letsencrypt/live/a/cert.pem"} {
		if secretPath(p) {
			t.Errorf("%s is no secret", p)
		}
	}
}

// TestCannotHang: rules that would take for ever are cut off, and say so.
func TestCannotHang(t *testing.T) {
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "key%d = %d\n", i, i)
	}
	h := hosttest.New(t, "-- root/etc/a --\n"+many.String()+"-- root/etc/b --\n"+strings.Repeat("a", 300000)+"\n")
	for name, when := range map[string]string{
		"loops":   "f.lines.all(a, f.lines.all(b, f.lines.all(c, a != b + c)))",
		"maps":    "size(f.lines.map(a, f.lines.map(b, f.lines.map(c, a + b + c)))) < 0",
		"strings": `size(f.lines.map(a, f.text + f.text + f.text + f.text + f.text + f.text)) < 0`,
		"regex":   `f.lines.exists(a, f.text.matches("(a*)*(b*)*(c*)*$x"))`,
	} {
		r := with(t, "  f: {file: /etc/a}\n", "'"+when+"'", "")
		start := time.Now()
		o := outcome(t, r, h)
		if o.Status != trap.Unknown {
			t.Errorf("%s: %v", name, o)
		}
		if d := time.Since(start); d > means.Patience {
			t.Errorf("%s took %s", name, d)
		}
		t.Logf("%s: %s after %s", name, o.Reason, time.Since(start).Round(time.Millisecond))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range with(t, "  f: {file: /etc/a}\n", "f.exists", "").outcomes(ctx, h) {
		if o.Status != trap.Unknown {
			t.Errorf("after the end: %v", o)
		}
	}
}

// TestLargeFile: a stranger's rule reads a mebibyte, no more.
func TestLargeFile(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/a --\n"+strings.Repeat("x\n", 600000))
	if o := outcome(t, with(t, "  f: {file: /etc/a}\n", "f.exists", ""), h); o.Status != trap.Unknown ||
		!strings.Contains(o.Reason, "larger than fettle reads") {
		t.Error(o)
	}
}

// TestCertificates reads a certificate that shares its file with its key, and
// shows nothing of the key.
func TestCertificates(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "www.example.org"},
		DNSNames:     []string{"www.example.org"},
		NotBefore:    time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2026, 1, 12, 3, 4, 5, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(key)
	both := string(
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	) + string(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	)
	h := hosttest.New(t, "-- root/etc/haproxy/a.pem --\n"+both)
	r := with(
		t,
		"  c: {certificates: /etc/haproxy/*.pem}\n",
		`c.exists(x, x.left < duration("720h") && !x.expired && x.self_signed && x.names == ["www.example.org"])`,
		"{{c[0].subject}} of {{c[0].path}} ({{c[0].number}}) in {{asTime(c[0].left)}}",
	)
	o := outcome(t, r, h)
	if o.Status != trap.Found || o.Detail != "CN=www.example.org of /etc/haproxy/a.pem (1) in 10 days" {
		t.Errorf("%+v", o)
	}
}
