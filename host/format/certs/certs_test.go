package certs

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os/exec"
	"testing"

	"fettle/internal/means"
)

// made is a certificate as DER, and its key.
func made(t testing.TB, name string) (der, key []byte) {
	t.Helper()
	_, k, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}
	if der, err = x509.CreateCertificate(nil, of, of, k.Public(), k); err != nil {
		t.Fatal(err)
	}
	if key, err = x509.MarshalPKCS8PrivateKey(k); err != nil {
		t.Fatal(err)
	}
	return der, key
}

func block(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }

// TestParse: certificates in their order, in either form, with whatever stands beside them.
func TestParse(t *testing.T) {
	one, key := made(t, "one")
	two, _ := made(t, "two")
	for what, c := range map[string]struct {
		b    []byte
		want string
	}{
		"PEM":             {block("CERTIFICATE", one), "one "},
		"DER":             {one, "one "},
		"a chain":         {append(block("CERTIFICATE", two), block("CERTIFICATE", one)...), "two one "},
		"behind its key":  {append(block("PRIVATE KEY", key), block("X509 CERTIFICATE", one)...), "one "},
		"a damaged one":   {append(block("CERTIFICATE", one[1:]), block("TRUSTED CERTIFICATE", two)...), "two "},
		"words before it": {append([]byte("subject=one\n"), block("CERTIFICATE", one)...), "one "},
		"a key alone":     {block("PRIVATE KEY", key), ""},
		"nothing":         {nil, ""},
		"no end":          {block("CERTIFICATE", one)[:40], ""},
	} {
		got := ""
		for _, p := range Parse(c.b) {
			got += p.Subject.CommonName + " "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	if n := len(Parse(bytes.Repeat(block("CERTIFICATE", one), Limit+1))); n != Limit {
		t.Errorf("%d certificates, want %d", n, Limit)
	}
}

// TestAsOpenSSL: openssl's own certificate is read, with the text that openssl x509 -text writes before it.
func TestAsOpenSSL(t *testing.T) {
	openssl := means.Tool(t, "openssl")
	out, err := exec.Command(openssl, "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", "/dev/null", "-subj", "/CN=theirs",
		"-text").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := Parse(out); len(got) != 1 || got[0].Subject.CommonName != "theirs" {
		t.Errorf("%v of\n%s", got, out)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	der, key := made(f, "seed")
	f.Add(der)
	f.Add(append(block("PRIVATE KEY", key), block("CERTIFICATE", der)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range Parse(b) {
			if c == nil {
				t.Error("a certificate that is none")
			}
		}
	})
}
