package ldaptlsverify

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode"

	"fettle/internal/means"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzJudge gives the judge what a server may send: it must not crash, and
// what it says must be fit for a terminal.
func FuzzJudge(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	for _, cn := range []string{"ldap.example.com", "a\x00b", "a\nb\x1b[31m", "*.example.com", ""} {
		t := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			Subject:      pkix.Name{CommonName: cn},
			DNSNames:     []string{"x\n" + "y"},
			NotAfter:     time.Unix(2e9, 0),
		}
		if der, err := x509.CreateCertificate(nil, t, t, key.Public(), key); err == nil {
			f.Add(der, der, "ldap.example.com", "try")
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte, name, san string) {
		var chain []*x509.Certificate
		for _, der := range [][]byte{a, b} {
			c, err := x509.ParseCertificate(der)
			if err != nil {
				return
			}
			chain = append(chain, c)
		}
		for _, lib := range []Library{GnuTLS, OpenSSL} {
			for _, trust := range []Trust{{From: "F"}, {From: "F", Certs: chain[1:]}, {From: "F", Known: chain}} {
				v := judge(chain, trust, "ldap.example.com", san, time.Unix(1.8e9, 0), lib)
				if !v.Trusted && len(v.Problems) == 0 {
					t.Fatal("neither trusted nor a problem")
				}
				if s := v.Text() + strings.Join(certNames(chain[0]), ""); strings.ContainsFunc(s, unicode.IsControl) {
					t.Fatalf("%q", s)
				}
			}
		}
		matchesName(commonName(chain[0]), name)
	})
}
