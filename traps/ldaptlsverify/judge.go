package ldaptlsverify

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Library is what the host's OpenLDAP library does TLS with. They differ in
// what they refuse.
type Library string

const (
	GnuTLS  Library = "GnuTLS"  // Debian and Ubuntu
	OpenSSL Library = "OpenSSL" // all others
)

// Reason names why a certificate is refused.
type Reason string

const (
	Unparsable    Reason = "unparsable"
	SelfSigned    Reason = "self-signed"
	UnknownIssuer Reason = "unknown-issuer"
	Incomplete    Reason = "incomplete-chain"
	BadSignature  Reason = "bad-signature"
	NotCA         Reason = "not-a-ca"
	Expired       Reason = "expired"
	NotYetValid   Reason = "not-yet-valid"
	WeakSignature Reason = "weak-signature"
	ShortKey      Reason = "short-key"
	WrongPurpose  Reason = "wrong-purpose"
	NULInName     Reason = "nul-in-name"
	WrongName     Reason = "wrong-name"
)

// Problem is one reason, in words that stay the same from run to run.
type Problem struct {
	Reason Reason
	Text   string
}

// Trust is what a client trusts, and where that is.
type Trust struct {
	Certs []*x509.Certificate
	From  string // "/etc/ssl/certs/ca-certificates.crt"
	// Known are CA certificates found elsewhere on the host: a missing link
	// of the chain may be among them.
	Known []*x509.Certificate
}

// Verdict is what a client would say of a server's certificates.
type Verdict struct {
	// Path leads from the server's certificate to the one that is trusted, or
	// as far as it goes.
	Path    []*x509.Certificate
	Trusted bool // Path ends in a trusted certificate
	// Problems are why the client refuses; none: it does not. The first is
	// what to fix first.
	Problems []Problem
}

func (v *Verdict) add(r Reason, format string, args ...any) {
	v.Problems = append(v.Problems, Problem{r, fmt.Sprintf(format, args...)})
}

// Has tells whether r is among the problems.
func (v *Verdict) Has(r Reason) bool {
	for _, p := range v.Problems {
		if p.Reason == r {
			return true
		}
	}
	return false
}

// Text joins the problems in one line.
func (v *Verdict) Text() string {
	var s []string
	for _, p := range v.Problems {
		s = append(s, p.Text)
	}
	return strings.Join(s, "; ")
}

// parseChain reads certificates in DER.
func parseChain(der [][]byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for i, b := range der {
		c, err := x509.ParseCertificate(b)
		if err != nil {
			return out, fmt.Errorf("certificate %d that the server sends: %w", i+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// judge says what a client of lib that trusts t would say of the chain of a
// server that it calls name. san is TLS_REQSAN.
func judge(chain []*x509.Certificate, t Trust, name, san string, now time.Time, lib Library) Verdict {
	v := Verdict{}
	leaf := chain[0]
	v.build(chain, t, lib)
	for i, c := range v.Path {
		who := whose(i, c)
		if now.After(c.NotAfter) {
			v.add(Expired, "%s expired on %s", who, c.NotAfter.UTC().Format(time.DateOnly))
		}
		if now.Before(c.NotBefore) {
			v.add(NotYetValid, "%s is valid only from %s on", who, c.NotBefore.UTC().Format(time.DateOnly))
		}
		if s := weakKey(c, lib); s != "" {
			v.add(ShortKey, "%s has %s", who, s)
		}
		// The signature of what is trusted by itself does not count.
		if s := weakSignature(c); s != "" && !(v.Trusted && i == len(v.Path)-1) && !selfIssued(c) {
			v.add(WeakSignature, "%s is signed with %s", who, s)
		}
	}
	if lib == OpenSSL && !forServers(leaf) {
		v.add(WrongPurpose, "its certificate is not for servers (extended key usage)")
	}
	v.names(leaf, name, san, lib)
	return v
}

func whose(i int, c *x509.Certificate) string {
	if i == 0 {
		return "its certificate"
	}
	return "the CA certificate of " + subject(c)
}

// maxPath is GnuTLS's and OpenSSL's bound, or less.
const maxPath = 16

// build walks from the server's certificate to a trusted one. An issuer that
// is trusted goes before one that was sent. For OpenSSL only a self-signed
// certificate ends the walk: the OpenLDAP library does not set
// X509_V_FLAG_PARTIAL_CHAIN (X509_verify_cert(3ssl)).
func (v *Verdict) build(chain []*x509.Certificate, t Trust, lib Library) {
	v.Path = chain[:1:1]
	for len(v.Path) < maxPath {
		c := v.Path[len(v.Path)-1]
		held := contains(t.Certs, c)
		if held && (lib == GnuTLS || selfIssued(c)) {
			v.Trusted = true
			return
		}
		if selfIssued(c) && checkSignature(c, c) == nil {
			if len(v.Path) == 1 {
				v.add(SelfSigned, "its certificate is self-signed, and is not in %s", t.From)
			} else {
				v.add(UnknownIssuer, "its CA %s is not in %s", subject(c), t.From)
			}
			return
		}
		next, bad := issuer(c, t.Certs, v.Path)
		if next == nil {
			var alsoBad bool
			next, alsoBad = issuer(c, chain[1:], v.Path)
			bad = bad || alsoBad
		}
		switch {
		case next == nil && bad:
			v.add(BadSignature, "%s is not signed by the %s that is known", whose(len(v.Path)-1, c), issuerName(c))
			return
		case next == nil && held:
			v.add(
				UnknownIssuer,
				"%s is in %s, and that of %s, who issued it, is not: OpenSSL demands the chain to its end",
				whose(len(v.Path)-1, c),
				t.From,
				issuerName(c),
			)
			return
		case next == nil:
			v.missing(c, t)
			return
		case next.BasicConstraintsValid && !next.IsCA || !next.BasicConstraintsValid && next.Version == 3:
			v.add(NotCA, "%s is issued by %s, whose certificate is not that of a CA", whose(len(v.Path)-1, c), subject(next))
		}
		v.Path = append(v.Path, next)
	}
	v.add(UnknownIssuer, "the chain of its certificate has no end")
}

// missing tells of an issuer that neither the server nor the client has.
func (v *Verdict) missing(c *x509.Certificate, t Trust) {
	if link, _ := issuer(c, t.Known, v.Path); link != nil && !selfIssued(link) {
		if top, _ := issuer(link, t.Certs, v.Path); top != nil {
			v.add(Incomplete, "the server does not send the intermediate CA %s", issuerName(c))
			return
		}
	}
	v.add(UnknownIssuer, "%s was issued by %s, which %s does not contain", whose(len(v.Path)-1, c), issuerName(c), t.From)
}

// issuer finds who signed c, leaving out what is on the path. bad: one of that
// name is there, and did not sign it.
func issuer(c *x509.Certificate, among, path []*x509.Certificate) (_ *x509.Certificate, bad bool) {
	for _, p := range among {
		if !bytes.Equal(p.RawSubject, c.RawIssuer) || contains(path, p) {
			continue
		}
		if checkSignature(p, c) == nil {
			return p, false
		}
		bad = true
	}
	return nil, bad
}

func contains(list []*x509.Certificate, c *x509.Certificate) bool {
	for _, x := range list {
		if x.Equal(c) {
			return true
		}
	}
	return false
}

func selfIssued(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) }

func subject(c *x509.Certificate) string    { return shortName(c.Subject.String()) }
func issuerName(c *x509.Certificate) string { return shortName(c.Issuer.String()) }

func shortName(s string) string {
	if s == "" {
		return "(no name)"
	}
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return strings.Map(printable, strings.ToValidUTF8(s, "?"))
}

// printable keeps what a server sends from acting on a terminal, or from
// being more than one line.
func printable(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return '?'
	}
	return r
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	var b strings.Builder
	for i, x := range sum {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02X", x)
	}
	return b.String()
}
