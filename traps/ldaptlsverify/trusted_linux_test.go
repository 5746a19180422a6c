package ldaptlsverify

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/format/ldapconf"
	"fettle/host/hosttest"
)

// TestTrusted: what a client trusts, of each kind of file and folder, with either library.
func TestTrusted(t *testing.T) {
	root := pemOf(issue(t, nil, "Trusted CA", 0, ca).cert)
	other := pemOf(issue(t, nil, "Another CA", 0, ca).cert)
	old := pemOf(issue(t, nil, "Former CA", 0, func(c *x509.Certificate) {
		ca(c)
		c.NotAfter = c.NotBefore.Add(time.Hour)
	}).cert)
	file := func(name string, bs ...[]byte) string {
		return "-- root" + name + " --\n" + string(bytes.Join(bs, nil))
	}
	empty := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "-- root/d/%08x.0 --\n", i)
		}
		return b.String()
	}
	renamed := bytes.ReplaceAll(root, []byte(" CERTIFICATE-"), []byte(" X509 CERTIFICATE-"))
	for _, tt := range []struct {
		name, host, file, dir   string
		certs                   int // that are read
		wrong, openSSL, refused string
		// openSSL is what is wrong for OpenSSL, where that is something else; refused: the error
	}{
		{name: "a file", host: file("/ca.pem", root, other), file: "/ca.pem", certs: 2},
		{name: "a former name of the block", host: file("/ca.pem", renamed), file: "/ca.pem", certs: 1},
		{name: "a key before it", host: file("/ca.pem", []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"),
			root), file: "/ca.pem",
			certs: 1},
		{name: "no file", file: "/ca.pem", wrong: "its CA file /ca.pem is missing"},
		{name: "no file, but a folder", host: file("/d/0123abcd.0", root), file: "/ca.pem", dir: "/d", certs: 1,
			wrong: "its CA file /ca.pem is missing"},
		{name: "an empty file", host: file("/ca.pem"), file: "/ca.pem", wrong: "its CA file /ca.pem contains no certificate"},
		{name: "an empty file, and a folder", host: file("/ca.pem") + file("/d/0123abcd.0", root), file: "/ca.pem", dir: "/d", certs: 1},
		{name: "both empty", host: file("/ca.pem") + file("/d/0123abcd.0"), file: "/ca.pem", dir: "/d",
			wrong: "/ca.pem and /d contains no CA certificate"},
		{name: "a file, and no folder", host: file("/ca.pem", root), file: "/ca.pem", dir: "/d", certs: 1},
		{name: "no folder", dir: "/d", wrong: "its folder of CA certificates /d is missing"},
		{name: "a denied file", host: "-- denied/ca.pem --\n", file: "/ca.pem", refused: "denied"},
		{name: "a denied folder", host: "-- denied/d --\n", dir: "/d", refused: "denied"},
		{name: "a denied file in a folder", host: file("/d/0123abcd.0", root) + "-- root/d/0123abcd.1 --\n-- denied/d/0123abcd.1 --\n", dir: "/d",
			refused: "denied"},
		{name: "two folders, and one in them", host: file("/d/0123abcd.0", root) + file("/e/0123abcd.10", other) + file("/e/0123abcd.1/x", other),
			dir: "/d;/e", certs: 2},
		{name: "a name that is no hash", host: file("/d/ca.pem", root), dir: "/d", certs: 1, openSSL: "/d contains no CA certificate"},
		{name: "expired", host: file("/ca.pem", old), file: "/ca.pem", certs: 1, wrong: "all CA certificates in /ca.pem have expired"},
		{name: "one expired", host: file("/ca.pem", old, root), file: "/ca.pem", certs: 2},
		{name: "a thousand files", host: empty(1000), dir: "/d", wrong: "/d contains no CA certificate"},
		{name: "more than a thousand files", host: empty(1001), dir: "/d", refused: "/d: more than 1000 files"},
		{name: "nothing set", host: file("/etc/ssl/cert.pem", root) + file("/etc/ssl/ca-bundle.pem", root, other), certs: 1,
			wrong: "no CA certificates are configured, and GnuTLS has no default for them", openSSL: "-"},
		{name: "nothing set, nothing there", wrong: "no CA certificates are configured, and GnuTLS has no default for them",
			openSSL: "no CA certificates are configured, and the system has none"},
	} {
		for _, lib := range []Library{GnuTLS, OpenSSL} {
			wrong, certs := tt.wrong, tt.certs
			if lib == OpenSSL && tt.openSSL != "" {
				wrong = strings.TrimPrefix(tt.openSSL, "-")
			}
			if strings.Contains(wrong, " contains no") || strings.Contains(wrong, "are configured") {
				certs = 0
			}
			c := &ldapconf.Client{}
			if tt.file != "" {
				c.CACert = ldapconf.Setting{Value: tt.file, File: "environment"}
			}
			if tt.dir != "" {
				c.CACertDir = ldapconf.Setting{Value: tt.dir, File: "environment"}
			}
			h := hosttest.New(t, "kind: live\ntime: "+time.Now().UTC().Format(time.RFC3339)+"\n"+tt.host)
			s, err := trusted(t.Context(), h, c, lib)
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("%s, %s: %v, want an error with %q", tt.name, lib, err, tt.refused)
				}
				continue
			}
			if err != nil || s.Wrong != wrong || len(s.Certs) != certs {
				t.Errorf("%s, %s: %q, %d certificates, %v; want %q and %d", tt.name, lib, s.Wrong, len(s.Certs), err, wrong, certs)
			}
		}
	}
}

// counted counts how often each server is asked.
type counted struct {
	host.Source
	mu sync.Mutex
	of map[host.Table]int
}

func (c *counted) Table(ctx context.Context, q host.Table) ([]byte, error) {
	c.mu.Lock()
	c.of[q]++
	c.mu.Unlock()
	return c.Source.Table(ctx, q)
}

// TestServersAreAskedOnce: several clients' server is asked once, for each as its client would,
// and of very many only some are.
func TestServersAreAskedOnce(t *testing.T) {
	root := issue(t, nil, "Asked CA", 0, ca)
	leaf := issue(t, root, "ldap.example.com", 0, func(c *x509.Certificate) { c.DNSNames = []string{"*.example.com"} })
	b, err := json.Marshal(host.Peer{Address: "192.0.2.1:636", Chain: [][]byte{leaf.cert.Raw}})
	if err != nil {
		t.Fatal(err)
	}
	text := "kind: live\ntime: " + time.Now().UTC().Format(time.RFC3339) + "\n-- root/etc/os-release --\nID=debian\n" +
		"-- root/etc/ssl/certs/ca-certificates.crt --\n" + string(pemOf(root.cert)) +
		"-- root/etc/nslcd.conf --\nuri ldaps://s1.example.com\nuri ldap://s2.example.com\ntls_cacertfile /etc/ssl/certs/ca-certificates.crt\n" +
		"-- root/etc/ldap/ldap.conf --\nTLS_CACERT /etc/ssl/certs/ca-certificates.crt\nURI ldap://s2.example.com"
	tables := fmt.Sprintf("-- table/peer starttls ldap://s2.example.com:389 --\n%s\n", b)
	for i := range 40 {
		text += fmt.Sprintf(" ldaps://s%d.example.com", i)
		tables += fmt.Sprintf("-- table/peer tls ldaps://s%d.example.com:636 --\n%s\n", i, b)
	}
	src, _, err := hosttest.Parse([]byte(text + "\n" + tables))
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Source: src, of: map[host.Table]int{}}
	got := traptest.Lines(traptest.Run(t, &Trap, host.New(c), trap.Options{Network: true, Parallel: 1}))
	asked := 0
	for q, n := range c.of {
		if strings.HasPrefix(string(q), "peer ") {
			if asked++; n != 1 {
				t.Errorf("%s is asked %d times", q, n)
			}
		}
	}
	if asked != 32 {
		t.Errorf("%d servers are asked, want 32", asked)
	}
	// The client in the clear is not one that its server's certificate matters to.
	for want, n := range map[string]int{
		"clear openldap ldap://s2.example.com:389: its certificate verifies": 1, "clear openldap ldaps://s1.example.com:636: ": 1,
		"nslcd ldap://s2.example.com:389": 0, "clear nslcd ldaps://s1.example.com:636: ": 1,
		"more than 32 servers are configured": 9, "unknown openldap ldaps://s39.example.com:636: more than 32": 1,
	} {
		if has := strings.Count(got, want); has != n {
			t.Errorf("%d times %q, want %d, in\n%s", has, want, n, got)
		}
	}
}

// TestServersAnswers: what each answer of a server means for a client that logs people in, and for one that does not.
func TestServersAnswers(t *testing.T) {
	root := issue(t, nil, "Answers CA", 0, ca)
	leaf := issue(t, root, "ldap.example.com", 0, func(c *x509.Certificate) { c.DNSNames = []string{"ldap.example.com"} })
	inter := issue(t, root, "Answers Intermediate", 0, ca)
	below := issue(t, inter, "ldap.example.com", 0, func(c *x509.Certificate) {
		c.DNSNames, c.IssuingCertificateURL = []string{"ldap.example.com"}, []string{"http://ca.example.com/i.crt"}
	})
	self := issue(t, nil, "ldap.example.com", 0, func(c *x509.Certificate) { c.DNSNames = []string{"ldap.example.com"} })
	wrong := issue(t, root, "x", 0, func(c *x509.Certificate) { c.DNSNames = []string{"x.example.com"} })
	chain := func(ps ...*pair) (out [][]byte) {
		for _, p := range ps {
			out = append(out, p.cert.Raw)
		}
		return out
	}
	late := func(p host.Peer) host.Peer { p.Failed = "remote error: handshake failure"; return p }
	for _, tt := range []struct {
		name   string
		peer   host.Peer
		sssd   string // what is said of sssd's server
		detail string // of the finding, or evidence that there must be
	}{
		{"verified", host.Peer{Version: "TLS 1.3", Chain: chain(leaf)},
			"clear: its certificate verifies: trusted through CN=Answers CA,O=Example",
			"TLS 1.3, 1 certificate(s) sent"},
		{"verified, and then broken off", late(host.Peer{Chain: chain(leaf)}),
			"unknown: its certificate verifies, but the TLS handshake failed: remote error: handshake failure", "TLS, 1 certificate(s) sent"},
		{"nothing", host.Peer{}, "unknown: the TLS connection failed: the server presented no certificate", ""},
		{"no certificate", late(host.Peer{}), "unknown: the TLS connection failed: remote error: handshake failure", ""},
		{"rubbish", host.Peer{Chain: [][]byte{leaf.cert.Raw, {1}}}, "unknown: certificate 2 that the server sends: ", ""},
		{"refused", host.Peer{Refused: "no"}, "found critical: the server refuses StartTLS, and its client insists on it: the connection fails",
			"StartTLS: no"},
		{"an intermediate that is not sent", host.Peer{Chain: chain(below)},
			"found critical: the server's certificate is refused: its certificate was issued by CN=Answers Intermediate,O=Example, which /ca.pem " +
				"does not contain",
			"If CN=Answers Intermediate,O=Example is an intermediate CA, the server has to send its certificate too. According to the server's " +
				"certificate, that of the issuer is at http://ca.example.com/i.crt."},
		{"an intermediate that is sent", host.Peer{Chain: chain(below, inter)},
			"clear: its certificate verifies: trusted through CN=Answers CA,O=Example", "2 certificate(s) sent"},
		{"self-signed", host.Peer{Chain: chain(self)},
			"found critical: the server's certificate is refused: its certificate is self-signed, and is not in /ca.pem",
			"Clients trust it if their CA file contains it"},
		{"of another name", host.Peer{Chain: chain(wrong)},
			"found critical: the server's certificate is refused: its certificate is for x.example.com, not for ldap.example.com",
			"The client must use a name that is in the certificate"},
	} {
		tt.peer.Address = "192.0.2.1:636"
		b, err := json.Marshal(tt.peer)
		if err != nil {
			t.Fatal(err)
		}
		h := hosttest.New(t, "kind: live\ntime: "+time.Now().UTC().Format(time.RFC3339)+"\n-- root/etc/os-release --\nID=debian\n"+
			"-- root/ca.pem --\n"+string(pemOf(root.cert))+
			"-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n[domain/corp]\nid_provider = ldap\nldap_uri = ldaps://ldap.example.com\n"+
			"ldap_tls_cacert = /ca.pem\n-- table/peer tls ldaps://ldap.example.com:636 --\n"+string(b)+"\n")
		found := false
		for _, o := range traptest.Run(t, &Trap, h, trap.Options{Network: true}) {
			if o.Subject != "sssd/corp ldaps://ldap.example.com:636" {
				continue
			}
			found = true
			said := strings.Replace(traptest.Lines([]trap.Outcome{o}), " "+o.Subject, "", 1)
			more := string(o.Detail)
			for _, e := range o.Evidence {
				more += "\n" + e.Source + ": " + e.Value
			}
			if !strings.HasPrefix(said, tt.sssd) || !strings.Contains(more, tt.detail) {
				t.Errorf("%s: %s\n%s\nwant %s\n%s", tt.name, said, more, tt.sssd, tt.detail)
			}
		}
		if !found {
			t.Errorf("%s: nothing is said of the server", tt.name)
		}
	}
}
