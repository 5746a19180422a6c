package ldaptlsverify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
	"fettle/trap"
)

// libldap is Debian's package of the OpenLDAP library, by its names so far.
var libldap = lazy.Regexp(`^libldap(2|-2\.[0-9]+-[0-9]+)(t64)?$`)

// libraryOf tells what the host's OpenLDAP library does TLS with: what its
// package depends on, where dpkg says so; else what the distribution is known for.
func libraryOf(ctx context.Context, h *host.Host) (Library, trap.Evidence, error) {
	const status = "/var/lib/dpkg/status"
	b, err := h.ReadFile(ctx, status)
	if err == nil {
		if lib, pkg := dependsOn(b, libldap()); lib != "" {
			return lib, trap.Ev(status, "%s depends on %s", pkg, lib), nil
		}
	}
	for _, f := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		var b []byte
		if b, err = h.ReadFile(ctx, f); err != nil {
			if host.IsAbsent(err) {
				continue
			}
			return "", trap.Evidence{}, err
		}
		for line := range strings.Lines(string(b)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			if v = strings.Trim(v, `"'`); (k == "ID" || k == "ID_LIKE") && (strings.Contains(v, "debian") || strings.Contains(v, "ubuntu")) {
				return GnuTLS, trap.Ev(f, "%s=%s: its OpenLDAP library uses GnuTLS", k, v), nil
			}
		}
		return OpenSSL, trap.Ev(f, "not Debian or Ubuntu: the OpenLDAP library uses OpenSSL"), nil
	}
	return "", trap.Evidence{}, errors.Join(errors.New("which TLS library the OpenLDAP library uses is not known"), err)
}

// dependsOn looks into dpkg's status for the library's package.
func dependsOn(status []byte, name *regexp.Regexp) (Library, string) {
	for rest := status; ; {
		i := bytes.Index(rest, []byte("Package: libldap"))
		if i < 0 {
			return "", ""
		}
		rest = rest[i:]
		para, after, _ := bytes.Cut(rest, []byte("\n\n"))
		rest = after
		pkg, deps := "", ""
		for line := range strings.Lines(string(para)) {
			if v, ok := strings.CutPrefix(line, "Package: "); ok {
				pkg = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "Depends: "); ok {
				deps = v
			}
		}
		switch {
		case !name.MatchString(pkg):
		case strings.Contains(deps, "libgnutls"):
			return GnuTLS, pkg
		case strings.Contains(deps, "libssl"):
			return OpenSSL, pkg
		}
	}
}

// localName is what the OpenLDAP library compares a certificate with when the
// server is called localhost: the host's full name (ldap_int_hostname). That
// is the resolver's to say; where only the short name is known, any
// certificate for a host of that name counts.
func localName(h *host.Host, name string, certNames []string) string {
	if name != "localhost" {
		return name
	}
	own := strings.ToLower(h.Identity().Hostname)
	if strings.Contains(own, ".") {
		return own
	}
	for _, n := range certNames {
		if first, _, ok := strings.Cut(strings.ToLower(n), "."); ok && first == own {
			return n
		}
	}
	return fmt.Sprintf("%s (this host's full name)", own)
}
