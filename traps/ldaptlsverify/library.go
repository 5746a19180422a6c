package ldaptlsverify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/osrelease"
	"fettle/internal/lazy"
)

// libldap is Debian's package of the OpenLDAP library, by its names so far.
var libldap = lazy.Regexp(`^libldap(2|-2\.[0-9]+-[0-9]+)(t64)?$`)

// libraryOf tells what the host's OpenLDAP library does TLS with: what the
// distribution is known for, and of a release that is not known yet, what the
// library's package depends on. dpkg's status is large, and read only then.
func libraryOf(ctx context.Context, h *host.Host) (Library, trap.Evidence, error) {
	id, err := release(ctx, h)
	if err == nil && id.name == "" {
		err = errors.New("no file in /etc names the distribution")
	}
	if err == nil && !id.debian {
		return OpenSSL, trap.Ev(id.file, "ID=%s: its OpenLDAP library uses OpenSSL", id.name), nil
	}
	if err == nil && id.known {
		return GnuTLS, trap.Ev(id.file, "ID=%s: its OpenLDAP library uses GnuTLS", id.name), nil
	}
	b, derr := h.ReadFile(ctx, host.DpkgStatus)
	if lib, pkg := dependsOn(b, libldap()); lib != "" {
		return lib, trap.Ev(host.DpkgStatus, "%s depends on %s", pkg, lib), nil
	}
	if !host.IsAbsent(derr) {
		err = cmp.Or(err, derr)
	}
	if err != nil {
		return "", trap.Evidence{}, fmt.Errorf("which TLS library the OpenLDAP library uses is not known: %w", err)
	}
	return GnuTLS, trap.Ev(id.file, "ID=%s: its OpenLDAP library uses GnuTLS, as far as known", id.name), nil
}

// distribution is what os-release(5) says, as far as it matters.
type distribution struct {
	file, name string
	debian     bool // Debian, or made of it
	known      bool // a release of Debian or Ubuntu whose library is known
}

// newest are the last releases that were looked at.
var newest = map[string]float64{"debian": 12, "ubuntu": 24.04}

func release(ctx context.Context, h *host.Host) (distribution, error) {
	f, err := osrelease.Read(ctx, h)
	if err != nil {
		return distribution{}, err
	}
	d := distribution{file: f.Path, name: f.ID(), debian: f.Is("debian") || f.Is("ubuntu")}
	n, err := strconv.ParseFloat(f.Fields["VERSION_ID"], 64)
	d.known = err == nil && newest[d.name] > 0 && n <= newest[d.name]
	return d, nil
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
