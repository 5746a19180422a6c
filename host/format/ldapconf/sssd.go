package ldapconf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/ini"
)

// SSSD's files: sssd.conf(5), "conf.d": fragments in order of their names,
// hidden ones left out; what is read later counts.
const (
	sssdFile = "/etc/sssd/sssd.conf"
	sssdDir  = "/etc/sssd/conf.d"
)

// Bounds: of a value of several lines, in bytes, and of domains.
const (
	maxValue   = 16 << 10
	maxDomains = 500
)

// sections are sssd.conf's, with what they set last.
type sections struct {
	names []string
	keys  map[string]map[string]Setting
	errs  []*host.SyntaxError
}

// add reads one file into the sections.
func (in *sections) add(file, text string) {
	if in.keys == nil {
		in.keys = map[string]map[string]Setting{}
	}
	f := ini.Parse(ini.SSSD, file, []byte(text))
	for _, s := range f.Sections {
		if in.keys[s.Name] == nil {
			in.keys[s.Name] = map[string]Setting{}
			in.names = append(in.names, s.Name)
		}
	}
	for _, e := range f.Entries {
		in.keys[e.Section][e.Key] = Setting{e.Value, e.Path, e.Line}
	}
	in.errs = append(in.errs, f.Errs...)
}

func (in *sections) get(section, key string) Setting { return in.keys[section][key] }

func (in *sections) yes(section, key string) bool {
	return strings.EqualFold(in.get(section, key).Value, "true")
}

// ReadSSSD reads the domains of sssd.conf that speak LDAP. ErrAbsent: SSSD is
// not configured.
func ReadSSSD(ctx context.Context, h *host.Host) ([]*Client, error) {
	var in sections
	files := []string{sssdFile}
	b, err := h.ReadFile(ctx, sssdFile)
	absent := host.IsAbsent(err)
	if err != nil && !absent {
		return nil, err
	}
	in.add(sssdFile, string(b))
	more, err := h.Glob(ctx, sssdDir, "*.conf")
	if err != nil {
		return nil, err
	}
	for _, f := range more {
		if strings.HasPrefix(f, sssdDir+"/.") {
			continue
		}
		b, err := h.ReadFile(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		in.add(f, string(b))
		files, absent = append(files, f), false
	}
	if absent {
		return nil, fmt.Errorf("%s: %w", sssdFile, host.ErrAbsent)
	}
	if len(in.errs) > 0 {
		// SSSD does not start with a file that it cannot read (sssctl config-check).
		return nil, in.errs[0]
	}
	var out []*Client
	for _, name := range in.domains() {
		if c := in.domain(name); c != nil {
			c.Files = files
			out = append(out, c)
		}
	}
	return out, nil
}

// domains lists those that are enabled, in [sssd] domains or by themselves.
func (in *sections) domains() []string {
	var out []string
	for _, d := range list(in.get("sssd", "domains").Value) {
		if s := "domain/" + d; in.keys[s] != nil && !strings.EqualFold(in.get(s, "enabled").Value, "false") && len(out) < maxDomains &&
			!slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, s := range in.names {
		if d, ok := strings.CutPrefix(s, "domain/"); ok && in.yes(s, "enabled") && len(out) < maxDomains && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// providers are the options that may each name another back end; all but the
// first default to what id_provider says.
var providers = []string{"id_provider", "auth_provider", "chpass_provider", "sudo_provider", "autofs_provider"}

// domain is nil for one that does not speak LDAP.
func (in *sections) domain(name string) *Client {
	sec := "domain/" + name
	c := &Client{Name: "sssd/" + name, Program: SSSD, Login: true}
	id := strings.ToLower(in.get(sec, "id_provider").Value)
	uses := map[string]bool{}
	for _, p := range providers {
		v := strings.ToLower(in.get(sec, p).Value)
		if v == "" {
			v = id
		}
		uses[v] = true
	}
	if !uses["ldap"] && !uses["ad"] && !uses["ipa"] {
		return nil
	}
	if v := in.get(sec, "ldap_tls_reqcert"); v.Given() {
		l, ok := level(v.Value)
		if !ok || !strings.EqualFold(l, v.Value) { // "yes" is OpenLDAP's alone (SSSD, providers/ldap/sdap.c, setup_tls_config)
			c.bad(v.File, v.Line, "ldap_tls_reqcert: none of never, allow, try, demand, hard: SSSD does not start the domain")
		} else {
			v.Value = l
			c.ReqCert = v
		}
	}
	c.CACert, c.CACertDir = in.get(sec, "ldap_tls_cacert"), in.get(sec, "ldap_tls_cacertdir")
	if tok := in.get(sec, "ldap_default_authtok"); tok.Given() {
		c.Bind = Setting{"ldap_default_authtok", tok.File, tok.Line} // not the value
	}
	if !uses["ldap"] {
		c.Kerberos = "id_provider = " + id
		return c
	}
	if m := in.get(sec, "ldap_sasl_mech").Value; strings.HasPrefix(strings.ToUpper(m), "GSS") {
		c.Kerberos = "ldap_sasl_mech = " + m
	}
	in.servers(sec, id, c)
	return c
}

func (in *sections) servers(sec, id string, c *Client) {
	start := in.yes(sec, "ldap_id_use_start_tls")
	auth := strings.ToLower(in.get(sec, "auth_provider").Value)
	if auth == "" {
		auth = id
	}
	given := false
	for _, key := range []string{"ldap_uri", "ldap_backup_uri", "ldap_chpass_uri", "ldap_chpass_backup_uri"} {
		v := in.get(sec, key)
		given = given || v.Given()
		for _, w := range list(v.Value) {
			at := Setting{w, v.File, v.Line}
			if w == "_srv_" {
				c.Discovers = at
				continue
			}
			s, err := ParseURI(w)
			if err != nil {
				c.bad(v.File, v.Line, "%s: %v", key, err)
				continue
			}
			s.From = at
			if s.Mode == Plain {
				plainID := id == "ldap" && !start && c.Kerberos == ""
				// Passwords go through StartTLS whatever else is set (sssd-ldap(5)),
				// but for an option that says what to think of it.
				off := in.get(sec, "ldap_auth_disable_tls_never_use_in_production")
				plainAuth := auth == "ldap" && strings.EqualFold(off.Value, "true")
				if start || auth == "ldap" && !plainAuth {
					s.Mode = StartTLS
				}
				if plainID && !s.Loopback() && c.Clear == nil {
					blame := at
					if f := in.get(sec, "ldap_id_use_start_tls"); f.Given() {
						blame = f
					}
					c.Clear = &blame
				}
				if plainAuth && !s.Loopback() {
					c.ClearAuth = &off
				}
			}
			if len(c.Servers) < maxServers {
				c.Servers = append(c.Servers, s)
			}
		}
	}
	if !given {
		c.Discovers = Setting{Value: "_srv_"} // service discovery is the default
	}
}
