package rule

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"fettle/host"
)

// certLimit is how many certificates one fact lists.
const certLimit = 2000

// readCertificates lists the certificates in files, PEM (RFC 7468) or DER. What
// else is in a file is skipped, and shown to nobody: a private key may
// stand beside its certificate.
func readCertificates(r *reading, f *Fact) ([]*certFact, error) {
	out := []*certFact{}
	for _, pattern := range f.Args {
		files, err := r.glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			real, err := r.permit(name)
			if err != nil {
				return nil, err
			}
			b, err := r.h.ReadFile(r.ctx, real)
			if host.IsAbsent(err) || errors.Is(err, host.ErrNotRegular) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for i, c := range parseCerts(b) {
				if len(out) >= certLimit {
					return nil, fmt.Errorf("more than %d certificates", certLimit)
				}
				out = append(out, r.cert(name, i+1, c))
			}
			if r.ctx.Err() != nil {
				return nil, r.ctx.Err()
			}
		}
	}
	return out, nil
}

func parseCerts(b []byte) []*x509.Certificate {
	var out []*x509.Certificate
	if !bytes.Contains(b, []byte("-----BEGIN")) {
		if c, err := x509.ParseCertificate(b); err == nil {
			out = append(out, c)
		}
		return out
	}
	for len(out) < certLimit {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return out
		}
		if block.Type != "CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" && block.Type != "X509 CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
	return out
}

func (r *reading) cert(name string, number int, c *x509.Certificate) *certFact {
	now := r.h.Now()
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return &certFact{
		seen: seen{
			fmt.Sprintf("%s, certificate %d", name, number),
			c.Subject.String() + ", until " + c.NotAfter.UTC().Format("2006-01-02"),
		},
		Path:       name,
		Number:     number,
		Subject:    c.Subject.String(),
		Issuer:     c.Issuer.String(),
		Names:      names,
		NotBefore:  c.NotBefore,
		NotAfter:   c.NotAfter,
		Left:       c.NotAfter.Sub(now),
		Expired:    now.After(c.NotAfter),
		IsCA:       c.IsCA,
		SelfSigned: bytes.Equal(c.RawSubject, c.RawIssuer),
		Signature:  c.SignatureAlgorithm.String(),
	}
}
