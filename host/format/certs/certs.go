// Package certs reads certificates of X.509 from files.
package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
)

// Limit is how many certificates of one file are read.
const Limit = 2000

// Parse lists the certificates in a file, PEM (RFC 7468) or DER. What else is in it is skipped, and shown to
// nobody: a private key may be in the same file.
func Parse(b []byte) []*x509.Certificate {
	var out []*x509.Certificate
	if !bytes.Contains(b, []byte("-----BEGIN")) {
		if c, err := x509.ParseCertificate(b); err == nil {
			out = append(out, c)
		}
		return out
	}
	for len(out) < Limit {
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
