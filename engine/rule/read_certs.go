package rule

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"

	"fettle/host"
	"fettle/host/format/certs"
)

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
			for i, c := range certs.Parse(b) {
				if len(out) >= certs.Limit {
					return nil, fmt.Errorf("more than %d certificates", certs.Limit)
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
