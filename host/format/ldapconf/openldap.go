package ldapconf

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"fettle/host"
)

// Env is what a program of the OpenLDAP library finds around itself.
type Env struct {
	Home string // $HOME; empty: not set
	Dir  string // the working folder; empty: files there are not looked at
	// Vars are the variables that begin with LDAP, each with its place.
	Vars map[string]Setting
}

// SystemFiles are where distributions keep ldap.conf: Debian, then Red Hat,
// SUSE, Arch and Alpine.
var SystemFiles = []string{"/etc/ldap/ldap.conf", "/etc/openldap/ldap.conf"}

// lineMax is where fgets(3) cuts a line of ldap.conf: AC_LINE_MAX is
// _POSIX2_LINE_MAX or LINE_MAX (include/ac/param.h, limits.h), 2048 with glibc.
const lineMax = 2048 - 1

// ReadOpenLDAP reads what a program in env would use, in the order of
// ldap.conf(5): the later counts. The error says that nobody could look at a
// file; ErrAbsent in it: there is no configuration at all.
func ReadOpenLDAP(ctx context.Context, h *host.Host, env Env) (*Client, error) {
	c := &Client{Name: "openldap", Program: OpenLDAP}
	if _, ok := env.Vars["LDAPNOINIT"]; ok {
		return c, nil
	}
	r := &reader{c: c, port: 389}
	found := false
	read := func(file string, user bool) error {
		b, err := h.ReadFile(ctx, file)
		c.Files = append(c.Files, file)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRegular) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		r.file(file, string(b), user)
		return nil
	}
	if file, err := SystemFile(ctx, h); err != nil {
		return nil, err
	} else if file != "" {
		if err := read(file, false); err != nil {
			return nil, err
		}
	}
	userFiles := func(name string) error {
		var files []string
		if env.Home != "" {
			files = append(files, path.Join(env.Home, name), env.Home+"/."+name)
		}
		if path.IsAbs(name) {
			files = append(files, name)
		} else if env.Dir != "" {
			files = append(files, path.Join(env.Dir, name))
		}
		for _, f := range files {
			if err := read(f, true); err != nil {
				return err
			}
		}
		return nil
	}
	if err := userFiles("ldaprc"); err != nil {
		return nil, err
	}
	if v, ok := env.Vars["LDAPCONF"]; ok {
		f := v.Value
		if !path.IsAbs(f) {
			f = path.Join(env.Dir, f)
		}
		if path.IsAbs(f) {
			if err := read(f, false); err != nil {
				return nil, err
			}
		}
	}
	if v, ok := env.Vars["LDAPRC"]; ok && v.Value != "" {
		if err := userFiles(v.Value); err != nil {
			return nil, err
		}
	}
	for _, name := range options {
		if v, ok := env.Vars["LDAP"+name]; ok {
			found = true
			if name == "PORT" {
				v.Value = atoi(v.Value)
			}
			r.option(name, v)
		}
	}
	if !found {
		return nil, fmt.Errorf("ldap.conf: %w", host.ErrAbsent)
	}
	return c, nil
}

// SystemFile is the host's ldap.conf; empty: it has none.
func SystemFile(ctx context.Context, h *host.Host) (string, error) {
	var first error
	for _, f := range SystemFiles {
		_, err := h.ReadFile(ctx, f)
		if err == nil {
			return f, nil
		}
		if !host.IsAbsent(err) && first == nil {
			first = err
		}
	}
	return "", first
}

// options are those of ldap.conf(5) that matter here, in the library's order
// (libraries/libldap/init.c, attrs): that is the order in which variables count.
var options = []string{"PORT", "HOST", "URI", "TLS_CACERT", "TLS_CACERTDIR", "TLS_REQCERT", "TLS_REQSAN"}

type reader struct {
	c    *Client
	port int
}

// file reads a file as openldap_ldap_init_w_conf does: only a "#" in the first
// column begins a comment; a line ends at the end or where fgets cuts it.
func (r *reader) file(name, text string, user bool) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		for len(line) > 0 {
			part := line[:min(len(line), lineMax)]
			line = line[len(part):]
			if i := strings.IndexByte(part, 0); i >= 0 {
				part = part[:i] // fgets gives a C string
			}
			if strings.HasPrefix(part, "#") {
				continue
			}
			key, val, ok := cutSpace(strings.Trim(part, space))
			if !ok {
				continue
			}
			r.option(strings.ToUpper(key), Setting{val, name, n})
		}
	}
}

// space is what isspace(3) takes for it in the C locale.
const space = " \t\n\v\f\r"

// atoi is what atoi(3) makes of s: the number it begins with, or 0. The library
// reads variables so, and lines of a file with strtol(3), which takes a whole
// number or nothing (libraries/libldap/init.c, ATTR_INT).
func atoi(s string) string {
	s = strings.TrimLeft(s, space)
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || n == 0 && (s[n] == '-' || s[n] == '+')) {
		n++
	}
	if _, err := strconv.Atoi(s[:n]); err != nil {
		return "0"
	}
	return s[:n]
}

func cutSpace(s string) (key, val string, ok bool) {
	i := strings.IndexAny(s, space)
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimLeft(s[i:], space), true
}

func (r *reader) option(key string, s Setting) {
	c := r.c
	set := func(to *Setting) {
		if *to = s; s.Value == "" { // an empty variable takes a setting back
			*to = Setting{}
		}
	}
	switch key {
	case "PORT":
		if n, err := strconv.Atoi(s.Value); err == nil {
			if r.port = n; n == 0 {
				r.port = 389
			}
		}
	case "HOST":
		var out []Server
		for _, f := range list(s.Value) {
			name, port, err := hostPort(f)
			if err != nil {
				c.bad(s.File, s.Line, "HOST: %v", err)
				return
			}
			sv := Server{Scheme: "ldap", Host: name, Port: r.port, Mode: Plain, From: Setting{f, s.File, s.Line}}
			if n, err := strconv.Atoi(port); err == nil {
				sv.Port = n
			}
			if len(out) < maxServers {
				out = append(out, sv)
			}
		}
		c.Servers, c.named = out, true
	case "URI":
		out, err := servers(s)
		if err != nil {
			c.bad(s.File, s.Line, "URI: %v", err)
			return
		}
		c.Servers, c.named = out, true
	case "TLS_CACERT":
		set(&c.CACert)
	case "TLS_CACERTDIR":
		set(&c.CACertDir)
	case "TLS_REQCERT", "TLS_REQSAN":
		v, ok := level(s.Value)
		if !ok {
			c.bad(s.File, s.Line, "%s: none of never, allow, try, demand, hard: the line has no effect", key)
			return
		}
		s.Value = v
		if key == "TLS_REQCERT" {
			c.ReqCert = s
		} else {
			c.ReqSAN = s
		}
	}
}
