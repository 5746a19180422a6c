package ldaptlsverify

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/internal/means"
)

// ldapsearch is what Debian's client says of a server over ldaps or StartTLS.
func ldapsearch(t *testing.T, uri string, startTLS bool, ca, san string) (ok bool, out string) {
	t.Helper()
	args := []string{"-x", "-H", uri, "-b", "", "-s", "base", "-o", "nettimeout=5", "-d", "1"}
	if startTLS {
		args = append(args, "-ZZ")
	}
	cmd := exec.Command(means.Tool(t, "ldapsearch"), append(args, "1.1")...)
	cmd.Env = []string{"HOME=/nonexistent", "LDAPCONF=/dev/null", "LDAPTLS_CACERT=" + ca, "LDAPTLS_REQCERT=demand", "LDAPTLS_REQSAN=" + san}
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return err == nil, string(b)
}

// openssl is what OpenSSL says at the security level that Debian and Red Hat
// configure. It does not know the OpenLDAP library's rules for names.
func openssl(t *testing.T, port int, ca string) (ok bool, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), means.Patience)
	defer cancel()
	cmd := exec.CommandContext(
		ctx,
		means.Tool(t, "openssl"),
		"s_client",
		"-connect",
		fmt.Sprintf("127.0.0.1:%d", port),
		"-CAfile",
		ca,
		"-no-CApath",
		"-no-CAstore",
		"-verify_return_error",
		"-brief",
		"-purpose",
		"sslserver",
		"-cipher",
		"DEFAULT@SECLEVEL=2",
	)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return err == nil, string(b)
}

type verdictCase struct {
	name  string
	leaf  *pair
	chain []*x509.Certificate
	trust []*x509.Certificate
	known []*x509.Certificate
	san   string
	want  []Reason // of GnuTLS
	more  []Reason // of OpenSSL besides
}

func cases(t *testing.T) []verdictCase {
	root := issue(t, nil, "Example CA", 0, ca)
	other := issue(t, nil, "Other CA", 0, ca)
	inter := issue(t, root, "Example Intermediate", 0, ca)
	dead := both(ca, func(c *x509.Certificate) {
		c.NotAfter = time.Now().Add(-time.Hour)
		c.NotBefore = c.NotAfter.Add(-time.Hour)
	})
	oldRoot := issue(t, nil, "Old CA", 0, dead)
	rsaRoot := issue(t, nil, "RSA CA", 2048, ca)
	weakRoot := issue(t, nil, "Short CA", 1024, ca)
	sha1Root := issue(t, nil, "SHA-1 CA", 2048, both(ca, sha1Signed))
	sha1Inter := issue(t, rsaRoot, "SHA-1 Intermediate", 0, both(ca, sha1Signed))
	noCA := issue(t, root, "No CA", 0, forHost)
	imposter := issue(t, nil, "Example CA", -1, ca) // the same name, another key
	leaf := func(by *pair, change ...func(*x509.Certificate)) *pair {
		return issue(t, by, "ldap server", 0, both(append([]func(*x509.Certificate){forHost}, change...)...))
	}
	named := func(cn string, dns ...string) *pair {
		return issue(t, root, cn, 0, func(c *x509.Certificate) { c.DNSNames = dns })
	}
	certs := func(ps ...*pair) (out []*x509.Certificate) {
		for _, p := range ps {
			out = append(out, p.cert)
		}
		return out
	}
	selfSigned := leaf(nil)
	return []verdictCase{
		{name: "right", leaf: leaf(root), trust: certs(root)},
		{name: "right, root sent", leaf: leaf(root), chain: certs(root), trust: certs(root)},
		{name: "right, RSA", leaf: issue(t, rsaRoot, "rsa server", 2048, forHost), trust: certs(rsaRoot)},
		{name: "right, through an intermediate", leaf: leaf(inter), chain: certs(inter), trust: certs(root)},
		{name: "self-signed", leaf: selfSigned, trust: certs(root), want: []Reason{SelfSigned}},
		{name: "self-signed and trusted", leaf: selfSigned, trust: certs(selfSigned)},
		{name: "unknown issuer", leaf: leaf(other), trust: certs(root), want: []Reason{UnknownIssuer}},
		{name: "unknown issuer, root sent", leaf: leaf(other), chain: certs(other), trust: certs(root), want: []Reason{UnknownIssuer}},
		{name: "intermediate not sent", leaf: leaf(inter), trust: certs(root), want: []Reason{UnknownIssuer}},
		{name: "intermediate not sent, but known", leaf: leaf(inter), trust: certs(root), known: certs(inter), want: []Reason{Incomplete}},
		{name: "another CA of the same name", leaf: leaf(imposter), trust: certs(root), want: []Reason{BadSignature}},
		{name: "both CAs of the same name", leaf: leaf(imposter), trust: certs(root, imposter)},
		{name: "issued by no CA", leaf: leaf(noCA), chain: certs(noCA), trust: certs(root), want: []Reason{NotCA}},
		{
			name:  "expired",
			leaf:  leaf(root, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }),
			trust: certs(root),
			want:  []Reason{Expired},
		},
		{
			name:  "not yet valid",
			leaf:  leaf(root, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }),
			trust: certs(root),
			want:  []Reason{NotYetValid},
		},
		{name: "expired CA", leaf: leaf(oldRoot), trust: certs(oldRoot), want: []Reason{Expired}},
		{name: "SHA-1", leaf: leaf(rsaRoot, sha1Signed), trust: certs(rsaRoot), want: []Reason{WeakSignature}},
		{name: "SHA-1 intermediate", leaf: leaf(sha1Inter), chain: certs(sha1Inter), trust: certs(rsaRoot), want: []Reason{WeakSignature}},
		{
			name:  "SHA-1 intermediate that is itself trusted",
			leaf:  leaf(sha1Inter),
			chain: certs(sha1Inter),
			trust: certs(sha1Inter),
			more:  []Reason{UnknownIssuer, WeakSignature},
		},
		{
			name:  "intermediate that is itself trusted",
			leaf:  leaf(inter),
			chain: certs(inter),
			trust: certs(inter),
			more:  []Reason{UnknownIssuer},
		},
		{name: "SHA-1 root", leaf: leaf(sha1Root), trust: certs(sha1Root)},
		{name: "RSA 1024", leaf: issue(t, root, "short server", 1024, forHost), trust: certs(root), more: []Reason{ShortKey}},
		{name: "RSA 1024 root", leaf: leaf(weakRoot), trust: certs(weakRoot), more: []Reason{ShortKey}},
		{name: "RSA 768", leaf: opensslIssue(t, root, "RSA", "rsa_keygen_bits:768", "sha256"), trust: certs(root), want: []Reason{ShortKey}},
		{name: "RSA 1008", leaf: opensslIssue(t, root, "RSA", "rsa_keygen_bits:1008", "sha256"), trust: certs(root), want: []Reason{ShortKey}},
		{
			name:  "MD5",
			leaf:  opensslIssue(t, rsaRoot, "RSA", "rsa_keygen_bits:2048", "md5"),
			trust: certs(rsaRoot),
			want:  []Reason{WeakSignature},
		},
		{
			name:  "client certificate",
			leaf:  leaf(root, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
			trust: certs(root),
			more:  []Reason{WrongPurpose},
		},
		{
			name:  "server certificate",
			leaf:  leaf(root, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
			trust: certs(root),
		},
		{name: "wrong name", leaf: named("other.example.com", "other.example.com"), trust: certs(root), want: []Reason{WrongName}},
		{name: "common name alone", leaf: named("127.0.0.1"), trust: certs(root)},
		{name: "common name beside another alternative name", leaf: named("127.0.0.1", "other.example.com"), trust: certs(root)},
		{
			name:  "the same, names demanded",
			leaf:  named("127.0.0.1", "other.example.com"),
			trust: certs(root),
			san:   "try",
			want:  []Reason{WrongName},
		},
		{name: "common name alone, names tried", leaf: named("127.0.0.1"), trust: certs(root), san: "try"},
		{name: "common name alone, names demanded", leaf: named("127.0.0.1"), trust: certs(root), san: "demand", want: []Reason{WrongName}},
		{name: "alternative name not looked at", leaf: leaf(root), trust: certs(root), san: "never", more: []Reason{WrongName}},
		{
			name:  "wrong name, alternative names not looked at",
			leaf:  named("other.example.com"),
			trust: certs(root),
			san:   "never",
			more:  []Reason{WrongName},
		},
		{name: "wildcard of an address", leaf: named("*.0.0.1"), trust: certs(root), want: []Reason{WrongName}},
		{name: "address as a DNS name", leaf: named("x", "127.0.0.1"), trust: certs(root), want: []Reason{WrongName}},
		{name: "NUL in the common name", leaf: named("127.0.0.1\x00.evil.example"), trust: certs(root), want: []Reason{NULInName, WrongName}},
		{
			name:  "NUL in an alternative name",
			leaf:  named("x", "127.0.0.1\x00.evil.example"),
			trust: certs(root),
			want:  []Reason{NULInName, WrongName},
		},
		{name: "all of it", leaf: issue(t, nil, "server", 0, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Hour)
		}), trust: certs(root), want: []Reason{SelfSigned, Expired, WrongName}},
	}
}

func sha1Signed(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA }

// TestVerdicts: what fettle says of each certificate, as if it had come from a server: the reasons, and
// the words, which are in testdata/verdicts.txt (written by FETTLE_UPDATE=1).
func TestVerdicts(t *testing.T) {
	date := regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	var words strings.Builder
	for _, tt := range cases(t) {
		chain := [][]byte{tt.leaf.cert.Raw}
		for _, c := range tt.chain {
			chain = append(chain, c.Raw)
		}
		parsed, err := parseChain(chain)
		if err != nil {
			t.Fatal(err)
		}
		trust := Trust{Certs: tt.trust, From: "ca.pem", Known: tt.known}
		fmt.Fprintf(&words, "%s\n", tt.name)
		for _, lib := range []Library{GnuTLS, OpenSSL} {
			v := judge(parsed, trust, "127.0.0.1", cmp.Or(tt.san, "allow"), time.Now(), lib)
			want := slices.Clone(tt.want)
			if lib == OpenSSL {
				want = append(want, tt.more...)
			}
			compare(t, tt.name+", "+string(lib), v, want)
			fmt.Fprintf(&words, "  %s: %s\n", lib, date.ReplaceAllString(cmp.Or(v.Text(), "accepted"), "DATE"))
		}
		if _, err := parseChain(append(chain, []byte("x"))); err == nil ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("certificate %d that the server sends: ", len(chain)+1)) {
			t.Errorf("%s, and what is no certificate: %v", tt.name, err)
		}
	}
	const file = "testdata/verdicts.txt"
	if os.Getenv("FETTLE_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(words.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != words.String() {
		t.Errorf("%v\n%s\nis said, and expected is\n%s", err, words.String(), b)
	}
}

// TestAgreesWithClients serves each certificate from a real slapd, over ldaps
// and StartTLS, and compares what fettle says with what Debian's ldapsearch
// (GnuTLS) and OpenSSL say.
func TestAgreesWithClients(t *testing.T) {
	means.Short(t, "takes seconds")
	if !alone(t) {
		return
	}
	live, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	h := host.New(live)
	for _, tt := range cases(t) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := slapd(t, tt.leaf, tt.chain...)
			file := write(t, filepath.Join(t.TempDir(), "ca.pem"), pemOf(tt.trust...))
			san := tt.san
			if san == "" {
				san = "allow"
			}
			for _, q := range []host.PeerQuestion{
				{URI: fmt.Sprintf("ldaps://127.0.0.1:%d", d.ldaps)},
				{URI: fmt.Sprintf("ldap://127.0.0.1:%d", d.ldap), StartTLS: true},
			} {
				p, err := h.Peer(t.Context(), q)
				if err != nil || p.Failed != "" && !strings.Contains(p.Failed, "keys are insecure") || p.Refused != "" {
					t.Fatalf("%+v: %v, %q, %q", q, err, p.Failed, p.Refused)
				}
				if n := 1 + len(tt.chain); len(p.Chain) != n {
					t.Errorf("%d certificates came, %d were sent", len(p.Chain), n)
				}
				chain, err := parseChain(p.Chain)
				if err != nil {
					t.Fatal(err)
				}
				trust := Trust{Certs: tt.trust, From: file, Known: tt.known}
				gnutls := judge(chain, trust, "127.0.0.1", san, time.Now(), GnuTLS)
				compare(t, "GnuTLS", gnutls, tt.want)
				ok, out := ldapsearch(t, q.URI, q.StartTLS, file, san)
				if ok != (len(gnutls.Problems) == 0) {
					t.Errorf("fettle says %q; ldapsearch worked: %t\n%s", gnutls.Text(), ok, tail(out))
				}
				if !ok && gnutls.Has(WrongName) != strings.Contains(out, "does not match") && len(gnutls.Problems) == 1 && san != "demand" {
					t.Errorf("fettle says %q; ldapsearch says\n%s", gnutls.Text(), tail(out))
				}
				if q.StartTLS {
					continue
				}
				other := judge(chain, trust, "127.0.0.1", san, time.Now(), OpenSSL)
				compare(t, "OpenSSL", other, append(slices.Clone(tt.want), tt.more...))
				ok, out = openssl(t, d.ldaps, file)
				// s_client verifies no names unless told to.
				other.Problems = slices.DeleteFunc(other.Problems, func(p Problem) bool { return p.Reason == WrongName || p.Reason == NULInName })
				if ok != (len(other.Problems) == 0) {
					t.Errorf("fettle says %q; OpenSSL took it: %t\n%s", other.Text(), ok, tail(out))
				}
			}
		})
	}
}

func compare(t *testing.T, lib string, v Verdict, want []Reason) {
	t.Helper()
	var got []Reason
	for _, p := range v.Problems {
		got = append(got, p.Reason)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q %q, want %q", lib, got, v.Text(), want)
	}
	if strings.ContainsAny(v.Text(), "\n\x00") {
		t.Errorf("%q is more than one line", v.Text())
	}
}

func tail(s string) string {
	if len(s) > 1500 {
		return s[len(s)-1500:]
	}
	return s
}
