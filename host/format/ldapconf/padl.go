package ldapconf

import (
	"context"
	"strconv"
	"strings"

	"fettle/host"
)

// nslcdFile is read by nslcd alone: it sets LDAPNOINIT, so that ldap.conf does
// not count (nss-pam-ldapd, nslcd/nslcd.c, main).
const nslcdFile = "/etc/nslcd.conf"

// padlFiles are those of pam_ldap and nss_ldap: Red Hat and others, then
// Debian's two packages.
var padlFiles = []struct{ name, file string }{
	{"pam_ldap+nss_ldap", "/etc/ldap.conf"}, {"pam_ldap", "/etc/pam_ldap.conf"}, {"nss_ldap", "/etc/libnss-ldap.conf"},
}

// ReadNSLCD reads nslcd.conf(5). The file is readable by root and nslcd only.
func ReadNSLCD(ctx context.Context, h *host.Host) (*Client, error) {
	return readFlat(ctx, h, "nslcd", NSLCD, nslcdFile)
}

// readFlat reads a file of lines "key value". What is not given there is as
// the library has it by default.
func readFlat(ctx context.Context, h *host.Host, name string, prog Program, file string) (*Client, error) {
	b, err := h.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	c := &Client{Name: name, Program: prog, Login: true, Files: []string{file}}
	f := &flat{c: c, port: 389}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.Trim(line, space)
		if line == "" || line[0] == '#' {
			continue
		}
		key, val, ok := cutSpace(line)
		if !ok {
			c.bad(file, n, "a keyword without a value")
			continue
		}
		f.line(strings.ToLower(key), Setting{val, file, n})
	}
	f.finish()
	return c, nil
}

type flat struct {
	c    *Client
	port int
	host Setting
	ssl  Setting // on, start_tls, off
	sasl bool
}

func (f *flat) line(key string, s Setting) {
	c := f.c
	switch key {
	case "uri":
		for _, w := range list(s.Value) {
			// "DNS" and "DNS:DOMAIN" look for SRV records (nslcd.conf(5)).
			if u := strings.ToUpper(w); c.Program == NSLCD && (u == "DNS" || strings.HasPrefix(u, "DNS:")) {
				c.Discovers = Setting{w, s.File, s.Line}
				continue
			}
			sv, err := ParseURI(w)
			if err != nil {
				c.bad(s.File, s.Line, "uri: %v", err)
				continue
			}
			if sv.From = (Setting{w, s.File, s.Line}); len(c.Servers) < maxServers {
				c.Servers = append(c.Servers, sv)
			}
		}
	case "host":
		f.host = s
	case "port":
		if n, err := strconv.Atoi(s.Value); err == nil && n > 0 && n < 65536 {
			f.port = n
		} else {
			c.bad(s.File, s.Line, "port: not a port")
		}
	case "ssl":
		switch v := strings.ToLower(s.Value); v {
		case "start_tls", "starttls":
			s.Value = "start_tls"
		case "on", "yes", "true", "1":
			s.Value = "on"
		case "off", "no", "false", "0":
			s.Value = "off"
		default:
			c.bad(s.File, s.Line, "ssl: none of on, off, start_tls")
			return
		}
		f.ssl = s
	case "tls_reqcert":
		v, ok := level(s.Value)
		if strings.EqualFold(s.Value, "no") { // nslcd/cfg.c takes it for never
			v, ok = "never", true
		}
		if !ok || c.Program != NSLCD {
			c.bad(s.File, s.Line, "tls_reqcert: this value has no effect here")
			return
		}
		s.Value = v
		c.ReqCert = s
	case "tls_checkpeer":
		switch strings.ToLower(s.Value) {
		case "no", "off", "false", "never":
			c.ReqCert = Setting{"never", s.File, s.Line}
		case "allow":
			c.ReqCert = Setting{"allow", s.File, s.Line}
		case "yes", "on", "true", "try", "demand", "hard":
			c.ReqCert = Setting{"demand", s.File, s.Line}
		default:
			c.bad(s.File, s.Line, "tls_checkpeer: neither yes nor no")
		}
	case "tls_cacertfile", "tls_cacert":
		c.CACert = s
	case "tls_cacertdir":
		c.CACertDir = s
	case "bindpw", "rootpwmodpw":
		c.Bind = Setting{key, s.File, s.Line} // not the value
	case "sasl_mech", "use_sasl":
		f.sasl = f.sasl || key == "use_sasl" && strings.EqualFold(s.Value, "on") ||
			key == "sasl_mech" && strings.HasPrefix(strings.ToUpper(s.Value), "GSS")
	}
}

func (f *flat) finish() {
	c := f.c
	if len(c.Servers) == 0 && f.host.Given() {
		for _, w := range list(f.host.Value) {
			name, port, err := hostPort(w)
			if err != nil {
				c.bad(f.host.File, f.host.Line, "host: %v", err)
				continue
			}
			sv := Server{Scheme: "ldap", Host: name, Port: f.port, Mode: Plain, From: Setting{w, f.host.File, f.host.Line}}
			if n, err := strconv.Atoi(port); err == nil {
				sv.Port = n
			}
			if len(c.Servers) < maxServers {
				c.Servers = append(c.Servers, sv)
			}
		}
	}
	for i := range c.Servers {
		s := &c.Servers[i]
		switch {
		case s.Mode != Plain:
		case f.ssl.Value == "on": // TLS from the first byte, on whatever port the URI says
			s.Scheme, s.Mode = "ldaps", Implicit
		case f.ssl.Value == "start_tls":
			s.Mode = StartTLS
		case !s.Loopback() && !f.sasl && c.Clear == nil:
			blame := s.From
			if f.ssl.Given() {
				blame = f.ssl
			}
			c.Clear, c.ClearAuth = &blame, &blame
		}
	}
	if f.sasl && c.Clear == nil {
		c.Kerberos = "SASL"
	}
}
