package redact

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	pemfile "encoding/pem"
	"math/big"
	"strings"
)

// Kept is what a capture keeps of a file, also without --redact: the passwords
// that LDAP clients bind with, and the keys of home automation, are of no use to
// any check, and stay on the host.
func Kept(name string, b []byte) []byte {
	if strings.HasSuffix(name, "/configuration.yaml") {
		return onlyDevices(b)
	}
	if strings.Contains(name, "gnupg/") {
		return []byte(withoutLDAP(string(b)))
	}
	rc := strings.HasSuffix(name, "/.ldaprc") || strings.HasSuffix(name, "/ldaprc")
	if !rc && (!strings.HasPrefix(name, "/etc/") || !strings.HasSuffix(name, ".conf")) {
		return b
	}
	switch {
	case rc, name == "/etc/ldap/ldap.conf", name == "/etc/openldap/ldap.conf":
		return []byte(Secrets(string(b)))
	case strings.HasPrefix(name, "/etc/sssd/"):
		return []byte(continued(Secrets(string(b))))
	case name == "/etc/nslcd.conf", name == "/etc/ldap.conf", name == "/etc/pam_ldap.conf", name == "/etc/libnss-ldap.conf":
		return []byte(Secrets(string(b)))
	}
	return b
}

// onlyDevices keeps the lines that name a device, each where it was.
func onlyDevices(b []byte) []byte {
	lines := strings.Split(string(b), "\n")
	for i, l := range lines {
		if !strings.Contains(l, "/dev/") {
			lines[i] = ""
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// continued drops what goes on, in lines that begin with a blank, with a value
// that was dropped.
func continued(s string) string {
	lines := strings.Split(s, "\n")
	dropped := false
	for i, l := range lines {
		if l == "" || l[0] != ' ' && l[0] != '\t' {
			dropped = strings.HasSuffix(strings.TrimRight(l, "\r"), Dropped)
		} else if dropped {
			lines[i] = " " + Dropped
		}
	}
	return strings.Join(lines, "\n")
}

// variable redacts a line of /etc/environment. Only what LDAP clients read is
// kept; proxies, for one, hold passwords.
func (r *Redactor) variable(line string) string {
	k, _, ok := strings.Cut(line, "=")
	if name := strings.TrimPrefix(strings.TrimSpace(k), "export "); !ok || strings.HasPrefix(name, "LDAP") {
		return r.setting("", Secrets(line))
	}
	return r.Text(k) + "=" + Dropped
}

// certificates replaces each certificate by one without names that is valid as
// long, with a key made from r's, which signs it too; one that was issued still
// names another as its issuer. Nothing else of the file
// is kept: a private key may be beside.
func (r *Redactor) certificates(b []byte) []byte {
	var out bytes.Buffer
	for n := int64(1); ; n++ {
		var block *pemfile.Block
		if block, b = pemfile.Decode(b); block == nil {
			return out.Bytes()
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !strings.HasSuffix(block.Type, "CERTIFICATE") {
			continue
		}
		key := ed25519.NewKeyFromSeed(r.mac("certificate", string(c.Raw)))
		t := &x509.Certificate{
			SerialNumber:          big.NewInt(n),
			Subject:               pkix.Name{CommonName: "certificate"},
			NotBefore:             c.NotBefore,
			NotAfter:              c.NotAfter,
			IsCA:                  c.IsCA,
			BasicConstraintsValid: true,
		}
		by := t
		if !bytes.Equal(c.RawIssuer, c.RawSubject) {
			by = &x509.Certificate{Subject: pkix.Name{CommonName: "issuer"}}
		}
		der, err := x509.CreateCertificate(nil, t, by, key.Public(), key)
		if err != nil {
			continue
		}
		pemfile.Encode(&out, &pemfile.Block{Type: "CERTIFICATE", Bytes: der})
	}
}
