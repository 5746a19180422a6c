package ldaptlsverify

import (
	"crypto/dsa" //lint:ignore SA1019 certificates of that kind are named as weak
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"

	"fettle/engine/remedy/step"
	"fettle/host/format/ldapconf"
	"fettle/host/hosttest"
)

// TestNames: which of a certificate's names count, by TLS_REQSAN and the library.
func TestNames(t *testing.T) {
	const is = "its certificate is for "
	cn := func(names ...string) (s pkix.Name) {
		for _, n := range names {
			s.Names = append(s.Names, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: n})
			s.CommonName = n
		}
		return s
	}
	ip := []net.IP{net.IPv4(192, 0, 2, 1).To4()}
	for _, c := range []struct {
		c         x509.Certificate
		name, san string
		lib       Library
		want      string
	}{
		{x509.Certificate{DNSNames: []string{"a.org"}}, "a.org", "allow", OpenSSL, ""},
		{x509.Certificate{DNSNames: []string{"A.org"}}, "a.ORG", "demand", GnuTLS, ""},
		{x509.Certificate{DNSNames: []string{"b.org"}}, "a.org", "allow", OpenSSL, is + "b.org, not for a.org"},
		{x509.Certificate{DNSNames: []string{"b.org"}}, "a.org", "never", OpenSSL, is + "b.org, not for a.org"},
		{x509.Certificate{DNSNames: []string{"b.org"}}, "a.org", "never", GnuTLS, ""},
		{x509.Certificate{DNSNames: []string{"b.org"}, Subject: cn("a.org")}, "a.org", "allow", OpenSSL, ""},
		{x509.Certificate{DNSNames: []string{"b.org"}, Subject: cn("a.org")}, "a.org", "try", OpenSSL, is + "b.org, not for a.org"},
		{x509.Certificate{Subject: cn("a.org")}, "a.org", "try", OpenSSL, ""},
		{x509.Certificate{EmailAddresses: []string{"x"}, Subject: cn("a.org")}, "a.org", "try", OpenSSL, is + "a.org, not for a.org"},
		{x509.Certificate{IPAddresses: ip, DNSNames: []string{"x"}, Subject: cn("a.org")}, "a.org", "try", OpenSSL,
			is + "x, 192.0.2.1, not for a.org"},
		{x509.Certificate{EmailAddresses: []string{"x"}, DNSNames: []string{"x"}, Subject: cn("a.org")}, "a.org", "try", OpenSSL,
			is + "x, not for a.org"},
		{x509.Certificate{EmailAddresses: []string{"x"}, URIs: []*url.URL{{Host: "x"}}, Subject: cn("a.org")}, "a.org", "try", OpenSSL,
			is + "a.org, not for a.org"},
		{x509.Certificate{Subject: cn("a.org")}, "a.org", "demand", OpenSSL, is + "a.org, not for a.org"},
		{x509.Certificate{Subject: cn("a.org")}, "a.org", "hard", OpenSSL, is + "a.org, not for a.org"},
		{x509.Certificate{Subject: cn("b.org", "a.org")}, "a.org", "allow", OpenSSL, ""},
		{x509.Certificate{Subject: cn("a.org", "b.org")}, "a.org", "allow", OpenSSL, is + "b.org, not for a.org"},
		{x509.Certificate{}, "a.org", "allow", OpenSSL, is + "no name, not for a.org"},
		{x509.Certificate{DNSNames: []string{"*.b.org"}}, "a.b.org", "demand", OpenSSL, ""},
		{x509.Certificate{DNSNames: []string{"*.b.org"}}, "c.a.b.org", "demand", OpenSSL, is + "*.b.org, not for c.a.b.org"},
		{x509.Certificate{DNSNames: []string{"*."}}, "a", "demand", OpenSSL, is + "*., not for a"},
		{x509.Certificate{DNSNames: []string{"*.0.2.1"}}, "192.0.2.1", "demand", OpenSSL, is + "*.0.2.1, not for 192.0.2.1"},
		{x509.Certificate{IPAddresses: ip}, "192.0.2.1", "demand", OpenSSL, ""},
		{x509.Certificate{IPAddresses: ip, DNSNames: []string{"x"}}, "192.0.2.2", "demand", OpenSSL, is + "x, 192.0.2.1, not for 192.0.2.2"},
		{x509.Certificate{Subject: cn("*.0.2.1")}, "192.0.2.1", "allow", OpenSSL, is + "*.0.2.1, not for 192.0.2.1"},
		{x509.Certificate{DNSNames: []string{"a.org\x00.b"}}, "a.org", "demand", OpenSSL,
			"a name in its certificate contains a NUL byte, as in forged ones; " + is + `a.org\0.b, not for a.org`},
		{x509.Certificate{DNSNames: strings.Split("a b c d e f g h", " ")}, "x", "demand", OpenSSL, is + "a, b, c, d, e, f, g, h, not for x"},
		{x509.Certificate{DNSNames: strings.Split("a b c d e f g h i", " ")}, "x", "demand", OpenSSL,
			is + "a, b, c, d, e, f, g, h, …, not for x"},
	} {
		var v Verdict
		v.names(&c.c, c.name, c.san, c.lib)
		var got []string
		for _, r := range v.Problems {
			got = append(got, r.Text)
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%q, %q for %s, %s, %v: %q, want %q", c.c.DNSNames, c.c.Subject, c.name, c.san, c.lib, all, c.want)
		}
	}
}

// TestWeak: which keys are too short for which library, and what may serve TLS.
func TestWeak(t *testing.T) {
	bits := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n-1) }
	for _, c := range []struct {
		key             any
		openSSL, gnuTLS string
	}{
		{&rsa.PublicKey{N: bits(2048)}, "", ""}, {&rsa.PublicKey{N: bits(2047)}, "an RSA key of 2047 bits", ""},
		{&rsa.PublicKey{N: bits(1024)}, "an RSA key of 1024 bits", ""},
		{&rsa.PublicKey{N: bits(1023)}, "an RSA key of 1023 bits", "an RSA key of 1023 bits"},
		{&dsa.PublicKey{Parameters: dsa.Parameters{P: bits(2048)}}, "", ""},
		{&dsa.PublicKey{Parameters: dsa.Parameters{P: bits(1023)}}, "a DSA key of 1023 bits", "a DSA key of 1023 bits"},
		{&ecdsa.PublicKey{Curve: elliptic.P224()}, "", ""},
		{&ecdsa.PublicKey{Curve: &elliptic.CurveParams{BitSize: 192}}, "an EC key of 192 bits", ""},
		{ed25519.PublicKey{}, "", ""},
	} {
		cert := &x509.Certificate{PublicKey: c.key}
		if o, g := weakKey(cert, OpenSSL), weakKey(cert, GnuTLS); o != c.openSSL || g != c.gnuTLS {
			t.Errorf("%T: %q and %q, want %q and %q", c.key, o, g, c.openSSL, c.gnuTLS)
		}
	}
	for _, c := range []struct {
		usage   []x509.ExtKeyUsage
		unknown int
		want    bool
	}{
		{nil, 0, true}, {nil, 1, false}, {[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, 1, true}, {[]x509.ExtKeyUsage{x509.ExtKeyUsageAny}, 0,
			true},
		{[]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, 0, false}, {[]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
			0, true},
		{[]x509.ExtKeyUsage{x509.ExtKeyUsageNetscapeServerGatedCrypto}, 0, true},
		{[]x509.ExtKeyUsage{x509.ExtKeyUsageMicrosoftServerGatedCrypto}, 0, true},
	} {
		if got := forServers(&x509.Certificate{ExtKeyUsage: c.usage, UnknownExtKeyUsage: make([]asn1.ObjectIdentifier,
			c.unknown)}); got != c.want {
			t.Errorf("%v and %d others: %v", c.usage, c.unknown, got)
		}
	}
}

// TestEdits: where a setting is written, and what is left to the admin.
func TestEdits(t *testing.T) {
	open := ldapconf.Client{Name: "OpenLDAP", Program: ldapconf.OpenLDAP, Files: []string{"/etc/ldap/ldap.conf", "/root/.ldaprc"}}
	sssd := ldapconf.Client{Name: "sssd/a", Program: ldapconf.SSSD, Files: []string{"/etc/sssd/sssd.conf"}}
	nslcd := ldapconf.Client{Name: "nslcd", Program: ldapconf.NSLCD, Files: []string{"/etc/nslcd.conf"}}
	at := func(file string, line int) ldapconf.Setting { return ldapconf.Setting{File: file, Line: line} }
	const conf = "/etc/ldap/ldap.conf"
	for _, c := range []struct {
		client          ldapconf.Client
		key, file, text string
		at              ldapconf.Setting
		want            string // of the file, or the error
		secret          bool
	}{
		{open, "TLS_REQCERT", conf, "A b\n  tls_reqcert never\r\nC d\n", at(conf, 2), "A b\n  TLS_REQCERT\tX\r\nC d\n", false},
		{open, "TLS_REQCERT", conf, "TLS_REQCERT never", at(conf, 1), "TLS_REQCERT\tX", false},
		{open, "TLS_REQCERT", conf, "A b\n", at(conf, 1), "error: " + conf + ":1 is no longer the line of TLS_REQCERT", false},
		{open, "TLS_REQCERT", conf, "A b\n", at(conf, 3), "error: " + conf + " no longer has a line 3", false},
		{open, "TLS_REQCERT", conf, "A b", at("", 0), "A b\nTLS_REQCERT\tX\n", false},
		{open, "TLS_REQCERT", conf, "", at("", 0), "TLS_REQCERT\tX\n", false},
		{open, "TLS_REQCERT", conf, "A b\n", at(conf, 0), "A b\nTLS_REQCERT\tX\n", false},
		{open, "TLS_REQCERT", conf, "A b\n", at("/other", 1), "A b\nTLS_REQCERT\tX\n", false},
		{open, "TLS_REQCERT", "/root/.ldaprc", "A b\n", at("", 0), "A b\nTLS_REQCERT\tX\n", false},
		{open, "TLS_REQCERT", "/other", "", at("", 0), "error: OpenLDAP has no configuration file", false},
		{open, "TLS_REQCERT", "/etc/environment", "A=b\nLDAPTLS_REQCERT=never\n", at("/etc/environment", 2), "A=b\nLDAPTLS_REQCERT=X\n", false},
		{nslcd, "tls_reqcert", "/etc/nslcd.conf", "bindpw x\n", at("", 0), "bindpw x\ntls_reqcert X\n", true},
		{sssd, "ldap_tls_reqcert", "/etc/sssd/sssd.conf", "[sssd]\n\n[domain/a]\nb = c\n\n[domain/d]\n", at("", 0),
			"[sssd]\n\n[domain/a]\nb = c\nldap_tls_reqcert = X\n\n[domain/d]\n", false},
		{sssd, "ldap_tls_reqcert", "/etc/sssd/sssd.conf", "[domain/a]", at("", 0), "[domain/a]\nldap_tls_reqcert = X\n", false},
		{sssd, "ldap_tls_reqcert", "/etc/sssd/sssd.conf", "[domain/a]\nb = c", at("", 0), "[domain/a]\nb = c\nldap_tls_reqcert = X\n", false},
		{sssd, "ldap_tls_reqcert", "/etc/sssd/sssd.conf", "[domain/b]\n", at("", 0), "error: no file has the section [domain/a]", false},
		{sssd, "ldap_tls_reqcert", "/etc/sssd/sssd.conf", "[domain/a]\nldap_tls_reqcert = never\n more\n", at("/etc/sssd/sssd.conf", 2),
			"error: /etc/sssd/sssd.conf:2: the value continues on the next line, which fettle does not change; set it to \"X\" by hand", false},
		{sssd, "ldap_tls_reqcert", "/etc/sssd/sssd.conf", "[domain/a]\nldap_tls_reqcert = never", at("/etc/sssd/sssd.conf", 2),
			"[domain/a]\nldap_tls_reqcert = X", false},
	} {
		e := &edits{h: hosttest.New(t, fmt.Sprintf("-- raw%s --\n%q\n", c.file, c.text)), files: map[string]*edited{}}
		got := ""
		if err := e.set(t.Context(), &c.client, c.key, "X", c.at); err != nil {
			got = "error: " + err.Error()
		}
		steps, secret := e.steps()
		for _, s := range steps {
			f := s.(step.File)
			if got += string(f.Content); f.Path != c.file || string(f.Was) != c.text || f.Was == nil {
				t.Errorf("%s: %q becomes another file", f.Path, f.Was)
			}
		}
		if got != c.want || secret != c.secret || len(e.said) != len(steps) {
			t.Errorf("%s %+v: %q, secret %v, said %q; want %q", c.client.Name, c.at, got, secret, e.said, c.want)
		}
	}
}
