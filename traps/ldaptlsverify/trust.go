package ldaptlsverify

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/format/ldapconf"
	"fettle/internal/lazy"
)

// Bounds of what is read for one client's trust.
const (
	maxCAFiles = 1000
	maxCerts   = 5000
)

// store is what a client trusts, and what is wrong with that.
type store struct {
	Trust
	File string // the CA file, if one is set
	// Wrong says in one sentence why no server can be verified with it.
	Wrong string
}

// hashName is how OpenSSL finds a certificate in a folder (X509_LOOKUP_hash_dir(3)).
var hashName = lazy.Regexp(`^[0-9a-f]{8}\.[0-9]+$`)

// openSSLDefaults are where OpenSSL looks when nothing is set: Red Hat, then
// Alpine and Arch, then SUSE, then Debian and Ubuntu (the file in its folder of
// certificates stands for those that ca-certificates made of it).
var openSSLDefaults = []string{"/etc/pki/tls/cert.pem", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
	"/usr/lib/ssl/cert.pem", "/usr/lib/ssl/certs/ca-certificates.crt"}

// usable says in one sentence why no server can be verified with what the
// client trusts; empty: it can. Of a bundle that the system keeps it is enough
// that it is there: it is large, and most hosts with an LDAP client have no
// server named.
func usable(ctx context.Context, h *host.Host, c *ldapconf.Client, lib Library) (wrong string, err error) {
	ctx = c.As(ctx)
	f := c.CACert.Value
	if !slices.Contains(systemBundles, f) || c.CACertDir.Given() {
		s, err := trusted(ctx, h, c, lib)
		return s.Wrong, err
	}
	st, err := h.Stat(ctx, f)
	switch {
	case host.IsAbsent(err):
		return fmt.Sprintf("its CA file %s is missing", f), nil
	case err == nil && st.Size == 0:
		return fmt.Sprintf("its CA file %s contains no certificate", f), nil
	}
	return "", err
}

// trusted reads the CA certificates of a client. An error says that nobody
// could look.
func trusted(ctx context.Context, h *host.Host, c *ldapconf.Client, lib Library) (store, error) {
	ctx = c.As(ctx)
	var s store
	s.File = c.CACert.Value
	var from []string
	if f := s.File; f != "" {
		from = append(from, f)
		certs, err := readPEM(ctx, h, f)
		switch {
		case host.IsAbsent(err):
			s.Wrong = fmt.Sprintf("its CA file %s is missing", shown(f))
		case err != nil:
			return s, err
		case len(certs) == 0 && !c.CACertDir.Given():
			s.Wrong = fmt.Sprintf("its CA file %s contains no certificate", shown(f))
		}
		s.Certs = certs
	}
	for _, dir := range strings.FieldsFunc(c.CACertDir.Value, func(r rune) bool { return r == ';' }) { // several since OpenLDAP 2.6
		from = append(from, dir)
		certs, err := readFolder(ctx, h, dir, lib)
		if host.IsAbsent(err) {
			if s.File == "" {
				s.Wrong = fmt.Sprintf("its folder of CA certificates %s is missing", dir)
			}
			continue
		}
		if err != nil {
			return s, err
		}
		s.Certs = append(s.Certs, certs...)
	}
	if len(from) == 0 {
		if lib == GnuTLS {
			s.From, s.Wrong = "its configuration", "no CA certificates are configured, and GnuTLS has no default for them"
			return s, nil
		}
		for _, f := range openSSLDefaults {
			certs, err := readPEM(ctx, h, f)
			if host.IsAbsent(err) {
				continue
			}
			if err != nil {
				return s, err
			}
			s.Certs, from = certs, []string{f}
			break
		}
	}
	s.From = strings.Join(from, " and ")
	if s.From == "" {
		s.From, s.Wrong = "its configuration", "no CA certificates are configured, and the system has none"
	}
	if s.Wrong == "" && len(s.Certs) == 0 {
		s.Wrong = s.From + " contains no CA certificate"
	}
	if s.Wrong == "" && allExpired(s.Certs, h.Now()) {
		s.Wrong = "all CA certificates in " + s.From + " have expired"
	}
	return s, nil
}

// shown quotes a path with blanks: a comment after a value is part of it.
func shown(p string) string {
	if strings.ContainsAny(p, " \t\"") {
		return strconv.Quote(p)
	}
	return p
}

func allExpired(certs []*x509.Certificate, now time.Time) bool {
	for _, c := range certs {
		if !now.After(c.NotAfter) {
			return false
		}
	}
	return len(certs) > 0
}

// readPEM reads the certificates in a file. What crypto/x509 cannot read is
// left out.
func readPEM(ctx context.Context, h *host.Host, name string) ([]*x509.Certificate, error) {
	b, err := h.ReadFile(ctx, name)
	if err != nil {
		return nil, err
	}
	return parsePEM(b), nil
}

func parsePEM(b []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for len(out) < maxCerts {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return out
		}
		if block.Type != "CERTIFICATE" && block.Type != "X509 CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// readFolder reads a folder of CA certificates: GnuTLS takes every file,
// OpenSSL those with names of hashes.
func readFolder(ctx context.Context, h *host.Host, dir string, lib Library) ([]*x509.Certificate, error) {
	es, err := h.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	n := 0
	for _, e := range es {
		if e.Type.IsDir() || lib == OpenSSL && !hashName().MatchString(e.Name) {
			continue
		}
		if n++; n > maxCAFiles {
			return nil, fmt.Errorf("%s: more than %d files: %w", dir, maxCAFiles, host.ErrTooBig)
		}
		certs, err := readPEM(ctx, h, path.Join(dir, e.Name))
		if err != nil && !host.IsAbsent(err) && !errors.Is(err, host.ErrNotRegular) {
			return nil, err
		}
		out = append(out, certs...)
	}
	return out, nil
}

// elsewhere are further CA certificates of the host: an intermediate that a
// server does not send may be among them, and so may the CA to trust.
func elsewhere(ctx context.Context, h *host.Host, cs []*ldapconf.Client) map[string][]*x509.Certificate {
	out := map[string][]*x509.Certificate{}
	files := []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"}
	for _, c := range cs {
		if f := c.CACert.Value; path.IsAbs(f) && c.User == 0 {
			files = append(files, f)
		}
	}
	for _, glob := range []struct{ dir, pattern string }{{"/usr/local/share/ca-certificates", "*.crt"},
		{"/etc/pki/ca-trust/source/anchors", "*"}} {
		more, _ := h.Glob(ctx, glob.dir, glob.pattern)
		files = append(files, more[:min(len(more), 100)]...)
	}
	for _, f := range files {
		if _, ok := out[f]; ok {
			continue
		}
		if certs, err := readPEM(ctx, h, f); err == nil {
			out[f] = certs
		}
	}
	return out
}
