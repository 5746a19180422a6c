package ldaptlsverify

import (
	"crypto/x509"
	"net/netip"
	"strings"
)

// names compares the certificate's names with the one that the client uses,
// as the OpenLDAP library does (libraries/libldap/tls_g.c and tls_o.c,
// session_chkhost; ldap.conf(5), TLS_REQSAN): subject alternative names first,
// then the last common name; a "*" stands for the first label of a host's
// name. With GnuTLS, "never" turns the whole comparison off: the result that
// the common name would be looked at for is already success (2.5.13).
func (v *Verdict) names(c *x509.Certificate, name, san string, lib Library) {
	for _, n := range append(append([]string{}, c.DNSNames...), c.Subject.CommonName) {
		if strings.Contains(n, "\x00") {
			v.add(NULInName, "a name in its certificate contains a NUL byte, as in forged ones")
			break
		}
	}
	if san == "never" && lib == GnuTLS {
		return
	}
	gotSAN := len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses)+len(c.URIs) > 0
	if san != "never" && matchesSAN(c, name) {
		return
	}
	strict := san == "demand" || san == "hard"
	if (strict || san == "try" && gotSAN) || !matchesName(commonName(c), name) {
		has := strings.Join(certNames(c), ", ")
		if has == "" {
			has = "no name"
		}
		v.add(WrongName, "its certificate is for %s, not for %s", has, name)
	}
}

func matchesSAN(c *x509.Certificate, name string) bool {
	if ip, err := netip.ParseAddr(name); err == nil {
		for _, b := range c.IPAddresses {
			if a, ok := netip.AddrFromSlice(b); ok && a == ip {
				return true
			}
		}
		return false
	}
	for _, n := range c.DNSNames {
		if matchesName(n, name) {
			return true
		}
	}
	return false
}

// matchesName: letters' case does not count; lengths do, so that a name that
// goes on behind a NUL byte matches nothing.
func matchesName(pattern, name string) bool {
	if strings.EqualFold(pattern, name) && name != "" {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	_, domain, ok := strings.Cut(name, ".")
	rest, wild := strings.CutPrefix(pattern, "*.")
	return ok && wild && strings.EqualFold(rest, domain)
}

// commonName is the last one, which is what both implementations look at.
func commonName(c *x509.Certificate) string {
	last := ""
	for _, a := range c.Subject.Names {
		if s, ok := a.Value.(string); ok && a.Type.String() == "2.5.4.3" {
			last = s
		}
	}
	return last
}

// certNames are the names that a certificate is for, in a form fit to be shown.
func certNames(c *x509.Certificate) []string {
	out := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		out = append(out, ip.String())
	}
	if len(out) == 0 {
		if cn := commonName(c); cn != "" {
			out = append(out, cn)
		}
	}
	for i, n := range out {
		out[i] = shortName(strings.ReplaceAll(n, "\x00", `\0`))
	}
	if len(out) > 8 {
		out = append(out[:8], "…")
	}
	return out
}
