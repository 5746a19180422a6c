// Package ldapconf reads how the LDAP clients of a host would reach their
// servers, and what they demand of the servers' certificates: programs of the
// OpenLDAP library (ldap.conf(5), .ldaprc, environment), SSSD (sssd-ldap(5)),
// nslcd (nslcd.conf(5)), and PADL's pam_ldap and nss_ldap.
//
// Passwords in these files are never kept, only where they are.
package ldapconf

import (
	"context"
	"fmt"
	"strings"

	"fettle/host"
)

// Setting is one value with the place it comes from. The zero Setting was
// given nowhere.
type Setting struct {
	Value string
	File  string // a path, "environment", or empty: a default
	Line  int    // 1-based; 0 where there are no lines
}

// Given reports whether somebody set it.
func (s Setting) Given() bool { return s.File != "" }

// Place is where the setting is: "/etc/ldap/ldap.conf:12".
func (s Setting) Place() string {
	switch {
	case s.File == "":
		return "default"
	case s.Line == 0:
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Mode is how a connection is protected.
type Mode string

const (
	Plain    Mode = "plain"    // not at all
	StartTLS Mode = "starttls" // ldap://, and then the StartTLS operation (RFC 4511, 4.14)
	Implicit Mode = "tls"      // ldaps://: TLS from the first byte
	Local    Mode = "local"    // ldapi://: a Unix socket
)

// Server is one server that a client would talk to.
type Server struct {
	Scheme string // ldap, ldaps, ldapi
	Host   string // a name or an address without brackets; of ldapi the socket's path
	Port   int    // 0 for ldapi
	Mode   Mode
	From   Setting // Value is the URI as written
}

// URI is the server's normal form, with its port.
func (s Server) URI() string {
	if s.Scheme == "ldapi" {
		return "ldapi://" + strings.ReplaceAll(s.Host, "/", "%2F")
	}
	h := s.Host
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	return fmt.Sprintf("%s://%s:%d", s.Scheme, h, s.Port)
}

// Loopback tells of a server on this host: nothing is in between.
func (s Server) Loopback() bool {
	return s.Mode == Local || s.Host == "localhost" || s.Host == "::1" || strings.HasPrefix(s.Host, "127.") ||
		s.Host == "localhost.localdomain" || s.Host == "ip6-localhost"
}

// Program is a kind of LDAP client.
type Program string

const (
	OpenLDAP Program = "openldap"
	SSSD     Program = "sssd"
	NSLCD    Program = "nslcd"
	PADL     Program = "padl" // pam_ldap and nss_ldap
)

// Client is one LDAP client, as configured.
type Client struct {
	// Name is stable: "openldap", "openldap/alice", "sssd/example.com", "nslcd".
	Name    string
	Program Program
	// Login: accounts, and passwords of logins, come through it.
	Login   bool
	Servers []Server
	// Discovers says that servers are found through DNS, and where that is.
	Discovers Setting
	// ReqCert is never, allow, try, demand or hard; Level has the default.
	ReqCert Setting
	// ReqSAN is the same for the names in a certificate (OpenLDAP 2.5).
	ReqSAN            Setting
	CACert, CACertDir Setting
	// Bind says where the password is that the client binds with. The value
	// is not kept.
	Bind Setting
	// Clear says that what the client looks up crosses the network without
	// TLS, ClearAuth that passwords of logins do; with the setting to blame.
	Clear, ClearAuth *Setting
	// Kerberos: the connection is protected by GSSAPI, not TLS.
	Kerberos string
	// User is whose file names servers and CA files; 0: the host's own do.
	User uint32
	// Files are the files that were read for it, those that are absent too.
	Files []string
	// Errors are lines that the client would not understand.
	Errors []*host.SyntaxError

	named bool // somebody said which servers, be it none
}

// As has what the client's files name read with the rights of who wrote them.
func (c *Client) As(ctx context.Context) context.Context { return host.As(ctx, c.User) }

// Level is what is demanded of a certificate: never, allow, try, demand or hard.
func (c *Client) Level() string {
	if c.ReqCert.Value == "" {
		return "demand" // ldap.conf(5), sssd-ldap(5): the default
	}
	return c.ReqCert.Value
}

// Verifies reports whether a bad certificate ends the connection.
func (c *Client) Verifies() bool { return c.Level() != "never" && c.Level() != "allow" }

// Remote are the servers that are not this host.
func (c *Client) Remote() []Server {
	var out []Server
	for _, s := range c.Servers {
		if !s.Loopback() {
			out = append(out, s)
		}
	}
	return out
}

func (c *Client) bad(file string, line int, format string, args ...any) {
	if len(c.Errors) < 100 {
		c.Errors = append(c.Errors, &host.SyntaxError{Path: file, Line: line, Msg: fmt.Sprintf(format, args...)})
	}
}

// level reads a value of TLS_REQCERT and its like (OpenLDAP 2.5,
// libraries/libldap/tls2.c, ldap_pvt_tls_config). False: it is none, and the
// library goes on with what it had.
func level(s string) (string, bool) {
	switch s = strings.ToLower(s); s {
	case "never", "allow", "try", "demand", "hard":
		return s, true
	case "on", "yes", "true":
		return "hard", true
	}
	return "", false
}
