package ldaptlsverify

import (
	"crypto"
	"crypto/dsa" //lint:ignore SA1019 certificates of that kind are named as weak
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"fmt"
	"slices"
)

// checkSignature verifies that parent signed c, also with what crypto/x509
// refuses as too weak: that is a reason of its own.
func checkSignature(parent, c *x509.Certificate) error {
	switch c.SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.MD5WithRSA:
		key, ok := parent.PublicKey.(*rsa.PublicKey)
		if !ok {
			return x509.ErrUnsupportedAlgorithm
		}
		if c.SignatureAlgorithm == x509.MD5WithRSA {
			sum := md5.Sum(c.RawTBSCertificate)
			return rsa.VerifyPKCS1v15(key, crypto.MD5, sum[:], c.Signature)
		}
		sum := sha1.Sum(c.RawTBSCertificate)
		return rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], c.Signature)
	case x509.ECDSAWithSHA1:
		key, ok := parent.PublicKey.(*ecdsa.PublicKey)
		sum := sha1.Sum(c.RawTBSCertificate)
		if !ok || !ecdsa.VerifyASN1(key, sum[:], c.Signature) {
			return x509.ErrUnsupportedAlgorithm
		}
		return nil
	}
	return parent.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature)
}

// weakSignature names a hash that both libraries refuse in certificates:
// GnuTLS since 3.6 (GNUTLS_CERT_INSECURE_ALGORITHM), OpenSSL at security level
// 1 (MD5) and 2 (SHA-1; SSL_CTX_set_security_level(3)).
func weakSignature(c *x509.Certificate) string {
	switch c.SignatureAlgorithm {
	case x509.MD2WithRSA:
		return "MD2"
	case x509.MD5WithRSA:
		return "MD5"
	case x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return "SHA-1"
	}
	return ""
}

// weakKey describes a key that lib refuses as too short. OpenSSL: 112 bits of
// security, that is security level 2 of Debian's and Red Hat's configuration
// and of OpenSSL 3.2. GnuTLS: what its priority NORMAL takes.
func weakKey(c *x509.Certificate, lib Library) string {
	short := 2048
	if lib == GnuTLS {
		short = 1024
	}
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < short {
			return fmt.Sprintf("an RSA key of %d bits", n)
		}
	case *dsa.PublicKey:
		if n := k.P.BitLen(); n < short {
			return fmt.Sprintf("a DSA key of %d bits", n)
		}
	case *ecdsa.PublicKey:
		if n := k.Curve.Params().BitSize; n < 224 && lib == OpenSSL {
			return fmt.Sprintf("an EC key of %d bits", n)
		}
	case ed25519.PublicKey:
	}
	return ""
}

// forServers tells whether the extended key usage, if there is one, allows a
// TLS server (RFC 5280, section 4.2.1.12).
func forServers(c *x509.Certificate) bool {
	if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool {
		return u == x509.ExtKeyUsageServerAuth || u == x509.ExtKeyUsageAny ||
			u == x509.ExtKeyUsageNetscapeServerGatedCrypto || u == x509.ExtKeyUsageMicrosoftServerGatedCrypto
	})
}
