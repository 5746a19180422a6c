package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"fettle/fleet/hub/web/login"
	"fettle/internal/files"
	"fettle/internal/yamlfile"
)

// Settings are how the page is reached and who may come in: a YAML file.
type Settings struct {
	// URL is how people reach the page: https://hub.example.org. Cookies are for
	// https alone where it says so, also behind a proxy that speaks it.
	URL       string `yaml:"url"`
	Passwords *bool  `yaml:"passwords"` // of the hub's own; true unless set
	// Forwarders are addresses of reverse proxies whose X-Forwarded-For is believed.
	Forwarders []string     `yaml:"forwarders"`
	TLS        tlsFile      `yaml:"tls"`
	Proxy      *proxyLogin  `yaml:"proxy"`
	OIDC       *oidcLogin   `yaml:"oidc"`
	from       netipSetting // what was read of addresses
}

type tlsFile struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ACME gets a certificate for these names, by TLS-ALPN-01 on the page's own port.
	ACME      []string `yaml:"acme"`
	Mail      string   `yaml:"acme_mail"`
	Directory string   `yaml:"acme_directory"` // Let's Encrypt's unless set
}

type proxyLogin struct {
	From      []string `yaml:"from"`
	Header    string   `yaml:"header"`
	Groups    string   `yaml:"groups_header"`
	Operators []string `yaml:"operators"`
	Sees      sees     `yaml:"sees"`
}

// sees are the groups of hosts that members of a provider's group see.
type sees map[string][]string

func (s sees) valid(what string) error {
	for _, member := range slices.Sorted(maps.Keys(s)) {
		if len(s[member]) == 0 {
			return fmt.Errorf("%s: sees: %s: expected a list of groups of hosts; \"*\" is all", what, member)
		}
	}
	return nil
}

type oidcLogin struct {
	Name       string   `yaml:"name"`
	Issuer     string   `yaml:"issuer"`
	ClientID   string   `yaml:"client_id"`
	SecretFile string   `yaml:"client_secret_file"`
	Claim      string   `yaml:"name_claim"`
	Groups     string   `yaml:"groups_claim"`
	Readers    []string `yaml:"readers"`
	Operators  []string `yaml:"operators"`
	Sees       sees     `yaml:"sees"`
}

type netipSetting struct{ forwarders, proxy []netip.Prefix }

// ReadSettings reads the file, strictly; without a name they are the usual ones.
func ReadSettings(file string) (*Settings, error) {
	s := &Settings{}
	if file == "" {
		return s, nil
	}
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	b, err := yamlfile.Read(file)
	if err != nil {
		return nil, err
	}
	if err := yamlfile.Decode(file, b, s); err != nil {
		return nil, err
	}
	if err := s.valid(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	secrets := []*string{&s.TLS.Cert, &s.TLS.Key}
	if s.OIDC != nil {
		secrets = append(secrets, &s.OIDC.SecretFile)
	}
	for _, name := range secrets {
		if *name, err = files.Credential(*name); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return s, nil
}

func (s *Settings) valid() (err error) {
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return fmt.Errorf("url %q: expected https://HOST, without a path", s.URL)
		}
	}
	if s.from.forwarders, err = prefixes("forwarders", s.Forwarders); err != nil {
		return err
	}
	if (s.TLS.Cert == "") != (s.TLS.Key == "") {
		return errors.New("tls: cert and key go together")
	}
	if s.TLS.Cert != "" && len(s.TLS.ACME) > 0 {
		return errors.New("tls: either cert and key, or acme")
	}
	if p := s.Proxy; p != nil {
		if p.Header == "" || len(p.From) == 0 {
			return errors.New("proxy: needs header, the name of the header with the user's name, and from, the proxy's addresses")
		}
		if s.from.proxy, err = prefixes("proxy: from", p.From); err != nil {
			return err
		}
		if err := p.Sees.valid("proxy"); err != nil {
			return err
		}
	}
	if o := s.OIDC; o != nil {
		if err := o.Sees.valid("oidc"); err != nil {
			return err
		}
		switch {
		case o.Issuer == "" || o.ClientID == "":
			return errors.New("oidc: needs issuer and client_id")
		case s.URL == "":
			return errors.New("oidc: needs url, to which the provider redirects")
		case !strings.HasPrefix(o.Issuer, "https://") && !strings.HasPrefix(o.Issuer, "http://127.0.0.1") &&
			!strings.HasPrefix(o.Issuer, "http://localhost"):
			return fmt.Errorf("oidc: issuer %q: expected https://…", o.Issuer)
		}
	}
	return nil
}

// prefixes reads addresses and networks. All of the world is none: whoever asks
// could then name himself.
func prefixes(what string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if a, aerr := netip.ParseAddr(s); aerr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil || p.Bits() == 0 {
			return nil, fmt.Errorf("%s: %q: expected an address or a network, as 192.0.2.7 or 192.0.2.0/24", what, s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Login is the gate's configuration.
func (s *Settings) Login() (login.Config, error) {
	c := login.Config{
		Secure:      strings.HasPrefix(s.URL, "https://") || s.TLS.Cert != "" || len(s.TLS.ACME) > 0,
		Proxies:     s.from.forwarders,
		NoPasswords: s.Passwords != nil && !*s.Passwords,
	}
	if p := s.Proxy; p != nil {
		c.Proxy = &login.Proxy{From: s.from.proxy, Header: p.Header, Groups: p.Groups, Operators: p.Operators, Sees: p.Sees}
	}
	if o := s.OIDC; o != nil {
		secret := ""
		if o.SecretFile != "" {
			b, err := yamlfile.Read(o.SecretFile)
			if err == nil && len(b) == 0 {
				err = fmt.Errorf("%s is empty, or not there", o.SecretFile)
			}
			if err != nil {
				return c, fmt.Errorf("oidc: client_secret_file: %w", err)
			}
			secret = strings.TrimSpace(string(b))
		}
		name := o.Name
		if name == "" {
			name = "single sign-on"
		}
		c.OIDC = &login.OIDC{
			Name:      name,
			Issuer:    o.Issuer,
			ClientID:  o.ClientID,
			Secret:    secret,
			Redirect:  strings.TrimSuffix(s.URL, "/") + "/login/oidc/back",
			Claim:     o.Claim,
			Groups:    o.Groups,
			Readers:   o.Readers,
			Operators: o.Operators,
			Sees:      o.Sees,
		}
	}
	return c, nil
}

// Certificates is the configuration of TLS; nil without any. get reads a
// certificate from files, and again when they change; state is where ACME keeps its own.
func (s *Settings) Certificates(
	state string,
	get func(cert, key string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error),
) (*tls.Config, error) {
	switch {
	case s.TLS.Cert != "":
		by, err := get(s.TLS.Cert, s.TLS.Key)
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: by, NextProtos: []string{"h2", "http/1.1"}}, nil
	case len(s.TLS.ACME) > 0:
		m := &autocert.Manager{
			Prompt:     autocert.AcceptTOS,
			HostPolicy: autocert.HostWhitelist(s.TLS.ACME...),
			Cache:      autocert.DirCache(filepath.Join(state, "acme")),
			Email:      s.TLS.Mail,
		}
		if s.TLS.Directory != "" {
			m.Client = &acme.Client{DirectoryURL: s.TLS.Directory}
		}
		c := m.TLSConfig()
		c.MinVersion = tls.VersionTLS12
		by := c.GetCertificate
		c.GetCertificate = func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := by(h)
			if err != nil && slices.Contains(s.TLS.ACME, h.ServerName) { // else somebody asks for a name that is not ours
				slog.Error("no certificate by ACME", "for", h.ServerName, "err", err)
			}
			return cert, err
		}
		return c, nil
	}
	return nil, nil
}
