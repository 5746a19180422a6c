package bus

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// The hub's own authority, and the certificate it signed for the hub's names.
const (
	CAFile   = "ca.pem"
	caKey    = "ca-key.pem"
	certFile = "nats.pem"
	certKey  = "nats-key.pem"
)

const years = 365 * 24 * time.Hour

// CA is the hub's own authority, PEM; agents that join are given it.
func CA(dir string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, CAFile)) }

// OwnCertificate is a certificate for names, by the hub's own authority. It is
// made where there is none, where it is for other names, and where it ends
// within a month.
func OwnCertificate(dir string, names []string) (tls.Certificate, error) {
	authority, err := ownCA(dir)
	if err != nil {
		return tls.Certificate{}, err
	}
	have, err := tls.LoadX509KeyPair(filepath.Join(dir, certFile), filepath.Join(dir, certKey))
	if err == nil && fits(have.Leaf, authority.Leaf, names) {
		return withCA(have, authority), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		NotAfter:    time.Now().Add(2 * years),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, n)
		}
	}
	made, err := issue(dir, certFile, certKey, leaf, &authority)
	return withCA(made, authority), err
}

// OwnTLS serves the hub's own certificate, and renews it while it runs.
func OwnTLS(dir string, names []string) (*tls.Config, error) {
	get, err := renewing(func() (tls.Certificate, error) { return OwnCertificate(dir, names) }, time.Now)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}, nil
}

// renewEvery is how often a certificate is looked at again.
const renewEvery = time.Hour

// renewing is what make made, made again now and then; what was made before serves where
// that fails.
func renewing(make func() (tls.Certificate, error), now func() time.Time) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	have, err := make()
	if err != nil {
		return nil, err
	}
	var lock sync.Mutex
	at := now()
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		lock.Lock()
		defer lock.Unlock()
		if t := now(); t.Sub(at) >= renewEvery || t.Before(at) {
			at = t
			if c, err := make(); err == nil {
				have = c
			}
		}
		c := have
		return &c, nil
	}, nil
}

// withCA shows the authority, too: hosts that join know its hash alone.
func withCA(c, authority tls.Certificate) tls.Certificate {
	c.Certificate = append(c.Certificate[:len(c.Certificate):len(c.Certificate)], authority.Certificate[0])
	return c
}

func fits(leaf, authority *x509.Certificate, names []string) bool {
	if time.Until(leaf.NotAfter) < 30*24*time.Hour || leaf.CheckSignatureFrom(authority) != nil {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return leaf.VerifyHostname(n) != nil })
}

func ownCA(dir string) (tls.Certificate, error) {
	have, err := tls.LoadX509KeyPair(filepath.Join(dir, CAFile), filepath.Join(dir, caKey))
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return have, err
	}
	return issue(dir, CAFile, caKey, &x509.Certificate{Subject: pkix.Name{CommonName: "fettle-hub"}, NotAfter: time.Now().Add(20 * years),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}, nil)
}

// issue makes a key and a certificate for it, signed by an authority or itself.
func issue(dir, file, keyFile string, c *x509.Certificate, by *tls.Certificate) (tls.Certificate, error) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c.SerialNumber = must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)))
	c.NotBefore = time.Now().Add(-years) // hosts whose clocks are behind
	parent, signer := c, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(renameio.WriteFile(filepath.Join(dir, keyFile), keyPEM, 0o600),
		renameio.WriteFile(filepath.Join(dir, file), certPEM, 0o644)); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}

// Reloading reads a certificate's files again when they change: others renew them.
func Reloading(file, keyFile string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	var have tls.Certificate
	var raw []byte
	load := func() error {
		b, err := os.ReadFile(file)
		if err != nil || raw != nil && bytes.Equal(b, raw) {
			return err
		}
		c, err := tls.LoadX509KeyPair(file, keyFile)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", file, keyFile, err)
		}
		have, raw = c, b
		return nil
	}
	if err := load(); err != nil {
		return nil, err
	}
	lock := make(chan struct{}, 1)
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		lock <- struct{}{}
		defer func() { <-lock }()
		_ = load() // half a renewal: the old one serves until the other half is there
		c := have
		return &c, nil
	}, nil
}

// ServerTLS serves the certificate of these files, also after they change. It has
// no certificate besides: crypto/tls would show that one to whoever connects by
// an address, and so sends no name.
func ServerTLS(file, keyFile string) (*tls.Config, error) {
	get, err := Reloading(file, keyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}, nil
}

// Files are those of a state folder that a backup must have.
func Files() []string { return []string{keyFile, CAFile, caKey, certFile, certKey} }
