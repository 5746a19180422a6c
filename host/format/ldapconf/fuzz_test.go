package ldapconf

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

// files is a source that has these files and nothing else.
type files map[string]string

func (files) Kind() host.Kind         { return host.KindCapture }
func (files) Name() string            { return "fuzz" }
func (files) Identity() host.Identity { return host.Identity{} }
func (files) Close() error            { return nil }

func (f files) ReadFile(_ context.Context, name string, _ int64) ([]byte, error) {
	if s, ok := f[name]; ok {
		return []byte(s), nil
	}
	return nil, fs.ErrNotExist
}
func (f files) Stat(_ context.Context, name string, _ bool) (host.Info, error) {
	if _, ok := f[name]; ok {
		return host.Info{Mode: 0o644}, nil
	}
	return host.Info{}, fs.ErrNotExist
}
func (files) ReadDir(context.Context, string) ([]host.Entry, error) { return nil, fs.ErrNotExist }
func (files) Readlink(context.Context, string) (string, error)      { return "", fs.ErrNotExist }
func (files) Xattr(context.Context, string, string) ([]byte, error) { return nil, fs.ErrNotExist }
func (files) Command(context.Context, host.Command) (host.Output, error) {
	return host.Output{}, host.ErrNoCommand
}
func (files) Table(context.Context, host.Table) ([]byte, error) { return nil, host.ErrNotCollected }

// sound checks what every reader owes: bounds, settings with a place, URIs
// that mean the same when read again, and no password.
func sound(t *testing.T, cs []*Client, secret string) {
	for _, c := range cs {
		if len(c.Servers) > maxServers*8 || len(c.Errors) > 100 {
			t.Fatalf("%d servers, %d errors", len(c.Servers), len(c.Errors))
		}
		if _, ok := level(c.Level()); !ok {
			t.Fatalf("level %q", c.Level())
		}
		for _, s := range c.Servers {
			again, err := ParseURI(s.URI())
			if s.Port >= 0 && s.Port < 65536 && (err != nil || again.Host != s.Host || again.Port != s.Port || again.Scheme != s.Scheme) &&
				plainHost(s) {
				t.Fatalf("%+v is %q, which is %+v, %v", s, s.URI(), again, err)
			}
		}
		for _, s := range []Setting{c.ReqCert, c.CACert, c.CACertDir, c.ReqSAN, c.Bind} {
			if s.File != "" && s.Place() == "default" {
				t.Fatalf("%+v has no place", s)
			}
		}
		if secret != "" && strings.Contains(c.Bind.Value, secret) {
			t.Fatalf("the password is kept: %+v", c.Bind)
		}
	}
}

// plainHost: odd characters of socket paths, and ports out of range, need not
// come back.
func plainHost(s Server) bool {
	return s.Scheme != "ldapi" && !strings.ContainsAny(s.Host, "%?:[]") && s.Port > 0
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzClients(f *testing.F) {
	for _, s := range []string{
		"URI ldap://a ldaps://b:7 ldapi://%2frun%2fx\nTLS_CACERT /x # y\n #TLS_REQCERT never\ntls_reqcert Never\n",
		"[sssd]\ndomains = a, b\n[domain/a]\nid_provider = ldap\nldap_uri = ldap://x,\n  ldaps://y\nldap_default_authtok = Zq7xPassword\n  " +
			"more\n[domain/b]\nid_provider=ad\n",
		"uri ldap://x DNS:example.com\nuri DNS\nssl start_tls\ntls_reqcert no\nbindpw Zq7xPassword\nhost a b:3\nport 99999\n",
		"HOST a:b:c\nPORT -1\nURI ldap://[::1\nURI ldap://[::1]:70000\n\x00\n",
		strings.Repeat("x", 5000) + "\n[domain/" + strings.Repeat("URI ldap://a\n", 300),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := host.New(
			files{"/etc/ldap/ldap.conf": s, "/etc/sssd/sssd.conf": s, "/etc/nslcd.conf": s, "/etc/ldap.conf": s, "/etc/environment": s,
				"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/etc/group": "", "/root/.ldaprc": s},
		)
		cs, _ := All(t.Context(), h)
		secret := ""
		if strings.Contains(s, "Zq7xPassword") {
			secret = "Zq7xPassword"
		}
		sound(t, cs, secret)
	})
}

func TestParseURI(t *testing.T) {
	for in, want := range map[string]string{
		"ldap://": "ldap://localhost:389", "LDAPS://A.Example": "ldaps://a.example:636", "ldap://[2001:db8::1]": "ldap://[2001:db8::1]:389",
		"ldaps://x:1/dc=a?b?sub": "ldaps://x:1", "ldapi://%2Frun%2Fldapi": "ldapi://%2Frun%2Fldapi", "ldap://a%2eb": "ldap://a.b:389",
	} {
		if s, err := ParseURI(in); err != nil || s.URI() != want {
			t.Errorf("%q is %q, %v; want %q", in, s.URI(), err, want)
		}
	}
	for _, bad := range []string{"", "ldap", "http://x", "ldap://a:b", "ldap://a:0", "ldap://a:65536", "ldap://[::1", "ldap://[::1]x",
		"ldap://a b", "ldap://a%", "ldap://1:2:3", "ldap://a%00b"} {
		if s, err := ParseURI(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, s)
		}
	}
}

// A file that SSSD would not read is an error that names file and line.
func TestSSSDErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[sssd\n":                           "/etc/sssd/sssd.conf:1: a section ends with ]",
		"[sssd]\ndomains a\n":               "/etc/sssd/sssd.conf:2: neither [section] nor key=value",
		"domains = a\n":                     "/etc/sssd/sssd.conf:1: key=value before any [section]",
		"[sssd]\n# x\n;y\n\n[a] trailing\n": "/etc/sssd/sssd.conf:5: a section ends with ]",
	} {
		if _, err := ReadSSSD(t.Context(), host.New(files{"/etc/sssd/sssd.conf": text})); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestSSSDDomains(t *testing.T) {
	cs, err := ReadSSSD(t.Context(), host.New(files{"/etc/sssd/sssd.conf": `
[sssd]
domains = a, off, files
[domain/a]
id_provider = files
auth_provider = ldap
ldap_uri = _srv_, ldap://one
[domain/off]
id_provider = ldap
enabled = false
[domain/files]
id_provider = files
[domain/late]
enabled = true
id_provider = ldap
ldap_sasl_mech = GSSAPI
ldap_uri = ldap://two
[domain/unlisted]
id_provider = ldap
`}))
	if err != nil || len(cs) != 2 {
		t.Fatalf("%d, %v", len(cs), err)
	}
	a, late := cs[0], cs[1]
	if a.Name != "sssd/a" || a.Discovers.Value != "_srv_" || len(a.Servers) != 1 || a.Servers[0].Mode != StartTLS || a.Clear != nil {
		t.Errorf("%+v", a)
	}
	if late.Name != "sssd/late" || late.Kerberos == "" || late.Clear != nil {
		t.Errorf("%+v", late)
	}
}
