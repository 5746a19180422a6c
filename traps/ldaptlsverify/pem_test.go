package ldaptlsverify

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
)

// FuzzPEM: a file of certificates gives certificates, whatever else is in it,
// and no more of them than are looked at.
func FuzzPEM(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(nil, ca, ca, key.Public(), key)
	if err != nil {
		f.Fatal(err)
	}
	good := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	block := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{0x30, 3, 2, 1, 1}}))
	for _, s := range []string{good, good + block, "# a comment\n" + good, "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICAT" +
		"E-----\n\n-----END CERTIFICATE-----\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		certs := parsePEM(b)
		if len(certs) > maxCerts {
			t.Errorf("%d certificates", len(certs))
		}
		for _, c := range certs {
			if c == nil || len(c.Raw) > len(b) {
				t.Errorf("a certificate that is not in the file: %v", c)
			}
		}
	})
}
