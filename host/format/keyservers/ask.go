package keyservers

import (
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"net/url"
	"strings"

	"fettle/internal/lazy"
)

// URL makes a base URL of a keyserver as gpg names it: hkp://, hkps://, http://,
// https://, or a bare name.
func URL(name string) (string, error) {
	if !strings.Contains(name, "://") {
		name = "hkps://" + name
	}
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("keyserver %q: expected hkps://HOST, hkp://HOST or a URL of http(s)", name)
	}
	switch u.Scheme {
	case "hkp":
		u.Scheme = "http"
		if u.Port() == "" {
			u.Host += ":11371"
		}
	case "hkps":
		u.Scheme = "https"
	case "http", "https":
	default:
		return "", fmt.Errorf("keyserver %q: expected hkps://HOST, hkp://HOST or a URL of http(s)", name)
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// Questions are URLs of which a keyserver that lives answers at least one,
// with whatever status: its own statistics, which some forbid. A bare name was
// HKP without TLS for older versions of dirmngr, and is not for newer ones.
func (m Mention) Questions() (out []string) {
	names := []string{strings.ToLower(m.Name)}
	if !strings.Contains(m.Name, "://") {
		names = []string{"hkps://" + names[0], "hkp://" + names[0]}
	}
	for _, n := range names {
		if base, err := URL(n); err == nil {
			out = append(out, base+"/pks/lookup?op=stats")
		}
	}
	return out
}

// zbase32 is Phil Zimmermann's alphabet, which WKD uses.
var zbase32 = base32.NewEncoding("ybndrfg8ejkmcpqxot1uwisza345h769").WithPadding(base32.NoPadding)

// split is a mail address in its parts.
func split(address string) (local, domain string, err error) {
	local, domain, ok := strings.Cut(address, "@")
	domain = strings.ToLower(domain)
	if !ok || local == "" || len(address) > 254 || !mailDomain().MatchString(domain) {
		return "", "", fmt.Errorf("%.300q is no mail address", address)
	}
	return local, domain, nil
}

// mailDomain is a name of the net with at least two labels, the last of which is no number:
// user IDs, which anybody writes, lead to no address and to none of this host's neighbours.
var mailDomain = lazy.Regexp(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$`)

// WebKeyURLs are where a domain keeps an address's key: the advanced method, then
// the direct one (draft-koch-openpgp-webkey-service, section 3.1).
func WebKeyURLs(address string) ([]string, error) {
	local, domain, err := split(address)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(strings.ToLower(local)))
	tail := "hu/" + zbase32.EncodeToString(sum[:]) + "?" + url.Values{"l": {local}}.Encode()
	return []string{
		"https://openpgpkey." + domain + "/.well-known/openpgpkey/" + domain + "/" + tail,
		"https://" + domain + "/.well-known/openpgpkey/" + tail,
	}, nil
}

// ServiceNames are where an address's domain names its keyservers in DNS, with
// TLS and without (draft-shaw-openpgp-hkp, section 7; dirmngr's names of today).
func ServiceNames(address string) ([]string, error) {
	_, domain, err := split(address)
	if err != nil {
		return nil, err
	}
	return []string{"_pgpkey-https._tcp." + domain, "_pgpkey-http._tcp." + domain}, nil
}
