package ldapconf

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// errPercent is url.EscapeError without the text that it quotes.
var errPercent = errors.New("a percent sign without two hexadecimal digits")

// maxServers bounds what one setting may name.
const maxServers = 100

// ParseURI reads one LDAP URI (RFC 4516) as far as it names a server. A host
// that is left out is localhost.
func ParseURI(s string) (Server, error) {
	out := Server{From: Setting{Value: s}}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return out, errors.New("not an LDAP URI")
	}
	out.Scheme = strings.ToLower(scheme)
	switch out.Scheme {
	case "ldap":
		out.Port, out.Mode = 389, Plain
	case "ldaps":
		out.Port, out.Mode = 636, Implicit
	case "ldapi":
		out.Mode = Local
	default:
		return out, errors.New("a scheme is ldap, ldaps or ldapi")
	}
	rest, _, _ = strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, "?")
	if out.Mode == Local {
		p, err := url.PathUnescape(rest)
		if err != nil {
			return out, errPercent
		}
		out.Host = p
		return out, nil
	}
	name, port, err := hostPort(rest)
	if err != nil {
		return out, err
	}
	out.Host = name
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return out, errors.New("a port is a number up to 65535")
		}
		out.Port = n
	}
	return out, nil
}

// hostPort takes a host that is left out for localhost.
func hostPort(s string) (name, port string, err error) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		addr, after, ok := strings.Cut(rest, "]")
		if !ok {
			return "", "", errors.New("a bracket is not closed")
		}
		if after != "" && after[0] != ':' {
			return "", "", errors.New("after an address in brackets comes a port or nothing")
		}
		if a, err := netip.ParseAddr(addr); err != nil || !a.Is6() {
			return "", "", errors.New("brackets are for IPv6 addresses")
		}
		return strings.ToLower(addr), strings.TrimPrefix(after, ":"), nil
	}
	name, port, _ = strings.Cut(s, ":")
	if strings.Contains(port, ":") {
		return "", "", errors.New("an IPv6 address must be in brackets")
	}
	if name, err = url.PathUnescape(name); err != nil {
		return "", "", errPercent
	}
	// A name goes to the resolver and into messages: no blanks, no controls.
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("/\\:[]?%\ufffd", r) }) {
		return "", "", errors.New("that is no host name")
	}
	if name == "" {
		name = "localhost"
	}
	return strings.ToLower(name), port, nil
}

// list splits at blanks and commas (OpenLDAP, libraries/libldap/url.c,
// ldap_url_parselist: ", ").
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}

// servers reads a list of URIs. One that is wrong makes the whole list wrong,
// as for the library.
func servers(from Setting) ([]Server, error) {
	var out []Server
	for _, f := range list(from.Value) {
		s, err := ParseURI(f)
		if err != nil {
			return nil, err
		}
		if len(out) == maxServers {
			return nil, fmt.Errorf("more than %d servers", maxServers)
		}
		s.From = Setting{f, from.File, from.Line}
		out = append(out, s)
	}
	return out, nil
}
