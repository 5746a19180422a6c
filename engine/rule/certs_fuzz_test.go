package rule

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/sample"
)

// FuzzCertificates: whatever a file of certificates holds, a rule about it
// comes to an outcome.
func FuzzCertificates(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "www.example.org"},
		DNSNames:     []string{"www.example.org"},
	}
	der, err := x509.CreateCertificate(nil, c, c, key.Public(), key)
	if err != nil {
		f.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	f.Add(der)
	f.Add(block)
	f.Add(append(append([]byte("# two\n"), block...), block...))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		src, _, err := sample.Parse(append([]byte("-- root/etc/a.pem --\n"), b...))
		if err != nil {
			return
		}
		r := with(t, "  c: {certificates: /etc/a.pem}\n", "c.exists(x, x.expired)", "{{c[0].subject}}")
		if o := outcome(t, r, host.New(src)); o.Status == trap.NotApplicable {
			t.Error(o)
		}
	})
}
