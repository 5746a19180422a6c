package redact

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	pemfile "encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// Passwords that LDAP clients bind with never enter a capture, redacted or not.
func TestDirectoryPasswords(t *testing.T) {
	for name, text := range map[string]string{
		"/etc/sssd/sssd.conf": "[domain/a]\nldap_default_authtok_type = password\nldap_default_authtok = start host\n  user " +
			"secret\n\tmore start\nldap_uri = ldap://a\n",
		"/etc/sssd/conf.d/10.conf":  "[domain/a]\nldap_default_authtok=start\n",
		"/etc/nslcd.conf":           "uri ldap://a\nbindpw start host\nrootpwmodpw\tuser\nBindPW start\n",
		"/etc/ldap.conf":            "rootbindpw host\nbindpw start\n",
		"/etc/pam_ldap.conf":        "  bindpw start\n",
		"/etc/libnss-ldap.conf":     "bindpw start\r\n",
		"/etc/sssd/sssd.conf.d.bak": "",
	} {
		for what, got := range map[string]string{"captured": string(Kept(name, []byte(text))), "redacted": func() string {
			b, _ := redactorForTest(t).File(name, Kept(name, []byte(text)))
			return string(b)
		}()} {
			for _, secret := range []string{"start", "host", "user secret"} {
				if strings.Contains(strings.ReplaceAll(got, "://host", "://"), secret) { // the server's pseudonym begins so
					t.Errorf("%s, %s: %q survives in\n%s", name, what, secret, got)
				}
			}
			if strings.Count(got, "\n") != strings.Count(text, "\n") && got != "" {
				t.Errorf("%s, %s: the lines are others:\n%s", name, what, got)
			}
			if strings.Contains(text, "ldap_uri") && (!strings.Contains(got, "ldap_uri = ldap://") || !strings.Contains(got,
				"_type = password")) {
				t.Errorf("%s, %s: a setting is lost:\n%s", name, what, got)
			}
		}
	}
}

func redactorForTest(t *testing.T) *Redactor {
	r, err := New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEnvironmentFile(t *testing.T) {
	b, ok := redactorForTest(
		t,
	).File("/etc/environment", []byte("PATH=/usr/bin\nhttp_proxy=http://user:start@proxy:3128/\nexport LDAPTLS_REQCERT=never\n"))
	if want := "PATH=" + Dropped + "\nhttp_proxy=" + Dropped + "\nexport LDAPTLS_REQCERT=never\n"; !ok || string(b) != want {
		t.Errorf("%t\n%s", ok, b)
	}
}

// A file of certificates keeps how many there are and how long they are
// valid; no name, and no key beside it.
func TestCertificates(t *testing.T) {
	pub, key, _ := ed25519.GenerateKey(rand.Reader)
	end := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	tmpl := &x509.Certificate{
		SerialNumber:          big.NewInt(77),
		Subject:               pkix.Name{CommonName: "Frotz CA"},
		NotAfter:              end,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	in := string(pemfile.EncodeToMemory(&pemfile.Block{Type: "CERTIFICATE", Bytes: der}))
	secret := "-----BEGIN PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte("secret secret")) + "\n-----END PRIVATE KEY-----\n"
	got, ok := redactorForTest(t).File("/etc/ldap/frotz.pem", []byte("Frotz\n"+in+secret+in))
	if !ok || strings.Contains(string(got), "PRIVATE") || strings.Contains(string(got), "Frotz") {
		t.Fatalf("%t\n%s", ok, got)
	}
	n := 0
	for rest := got; ; n++ {
		var b *pemfile.Block
		if b, rest = pemfile.Decode(rest); b == nil {
			break
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil || !c.NotAfter.Equal(end) || !c.IsCA || strings.Contains(c.Subject.String(), "Frotz") {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if n != 2 {
		t.Errorf("%d certificates", n)
	}
	none := "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n"
	if got, ok := redactorForTest(t).File("/etc/ldap/frotz.pem", []byte(none)); !ok || len(got) != 0 {
		t.Errorf("of what is no certificate: %t %q", ok, got)
	}
}

// TestNeverStored: what dirmngr opens a directory or a proxy with is in no capture, redacted
// or not.
func TestNeverStored(t *testing.T) {
	for _, c := range []struct{ file, in, want string }{
		{"/etc/gnupg/dirmngr.conf", "ldapserver ldap.example.org:389:cn=a:hunter2:dc=b:\n",
			"ldapserver ldap.example.org:389:cn=a:redacted:dc=b:\n"},
		{"/etc/gnupg/dirmngr.conf", "  --ldapserver l:636:u:12345678\n", "  --ldapserver l:636:u:redacted\n"},
		{"/root/.gnupg/dirmngr_ldapservers.conf", "# ours\nl::u:backup:o=x\n", "# ours\nl::u:redacted:o=x\n"},
		{"/home/a/.gnupg/dirmngr.conf", "http-proxy http://u:pw@p:3128\n", "http-proxy http://u:redacted@p:3128\n"},
		{"/etc/gnupg/dirmngr.conf", "keyserver hkps://keys.openpgp.org:443\n", "keyserver hkps://keys.openpgp.org:443\n"},
		{"/opt/zigbee2mqtt/data/configuration.yaml", "password: x\nport: /dev/ttyUSB0\n", "\nport: /dev/ttyUSB0\n"},
		{"/etc/sssd/x.db", "a_password = b\n", "a_password = b\n"}, {"/srv/ldap.conf", "bindpw b\n", "bindpw b\n"},
		{"/root/.ldaprc", "bindpw b\n", "bindpw redacted\n"},
		{"/etc/gnupg/dirmngr.conf", "ldapserver ldap.example.org:389:::dc=b\n", "ldapserver ldap.example.org:389:::dc=b\n"},
	} {
		if got := string(Kept(c.file, []byte(c.in))); got != c.want {
			t.Errorf("%s: %q is kept as %q", c.file, c.in, got)
		}
	}
}
