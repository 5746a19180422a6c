package ldapconf

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

// Contents of files that are none.
const (
	denied = "\x00denied"
	folder = "\x00folder"
	gone   = "\x00gone" // between the look at its folder and that at it
)

// told are files of which some are not to be read, and folders.
type told struct {
	files
	dirs map[string][]string
}

func newTold(f files) told {
	dirs := map[string][]string{}
	for name := range f {
		dir, base := name[:strings.LastIndexByte(name, '/')], name[strings.LastIndexByte(name, '/')+1:]
		dirs[dir] = append(dirs[dir], base)
	}
	return told{f, dirs}
}

func (f told) ReadFile(_ context.Context, name string, _ int64) ([]byte, error) {
	switch s, ok := f.files[name]; {
	case !ok, s == gone:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case s == denied:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	case s == folder:
		return nil, &fs.PathError{Op: "open", Path: name, Err: host.ErrNotRegular}
	default:
		return []byte(s), nil
	}
}

func (f told) ReadDir(_ context.Context, name string) ([]host.Entry, error) {
	var out []host.Entry
	for _, base := range slices.Sorted(slices.Values(f.dirs[name])) {
		if f.files[name+"/"+base] == denied && base == "denied.d" {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		out = append(out, host.Entry{Name: base})
	}
	if out == nil {
		return nil, fs.ErrNotExist
	}
	return out, nil
}

// describe tells all of a client that is not as in the zero one.
func describe(c *Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s (%s)", c.Name, c.Program)
	if c.Login {
		b.WriteString(" login")
	}
	fmt.Fprintf(&b, ", certificates: %s, verified %t", c.Level(), c.Verifies())
	if c.User != 0 {
		fmt.Fprintf(&b, ", user %d", c.User)
	}
	if c.named {
		b.WriteString(", named")
	}
	if c.Kerberos != "" {
		fmt.Fprintf(&b, ", Kerberos: %s", c.Kerberos)
	}
	b.WriteString("\n")
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "    server %s %s, from %q at %s", s.URI(), s.Mode, s.From.Value, s.From.Place())
		if s.Loopback() {
			b.WriteString(", this host")
		}
		b.WriteString("\n")
	}
	if n := len(c.Remote()); n != len(c.Servers) {
		fmt.Fprintf(&b, "    %d remote\n", n)
	}
	of := map[string]*Setting{"discovers": &c.Discovers, "reqcert": &c.ReqCert, "reqsan": &c.ReqSAN, "cacert": &c.CACert,
		"cacertdir": &c.CACertDir, "password": &c.Bind, "in the clear": c.Clear, "logins in the clear": c.ClearAuth}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if s := of[name]; s != nil && *s != (Setting{}) {
			value := fmt.Sprintf("%q", s.Value)
			if len(s.Value) > 100 {
				value = fmt.Sprintf("%.10q and so on, %d bytes", s.Value, len(s.Value))
			}
			fmt.Fprintf(&b, "    %s %s at %s\n", name, value, s.Place())
		}
	}
	for _, e := range c.Errors {
		fmt.Fprintf(&b, "    %v\n", e)
	}
	if c.Files != nil {
		fmt.Fprintf(&b, "    files %s\n", strings.Join(c.Files, " "))
	}
	return b.String()
}

const (
	debian, redHat, sssd = "/etc/ldap/ldap.conf", "/etc/openldap/ldap.conf", "/etc/sssd/sssd.conf"
	passwd               = "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/home/ana:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n"
)

// domain is a sssd.conf of one domain.
func domain(lines string) string { return "[sssd]\ndomains = d\n[domain/d]\n" + lines }

// hosts are what testdata/read.txt tells the clients of.
var hosts = []struct {
	name  string
	files files
}{
	{"nothing", files{}},
	{"no file of this host is to be read", files{debian: denied, redHat: denied, sssd: denied, nslcdFile: denied, "/etc/ldap.conf": denied,
		"/etc/environment": denied, "/etc/passwd": denied}},
	{"both files of the system", files{debian: "URI ldap://d\n", redHat: "URI ldap://r\n"}},
	{"Red Hat's", files{redHat: "URI ldap://r\n"}},
	{"Debian's is not to be read", files{debian: denied, redHat: "URI ldap://r\n"}},
	{"a folder", files{debian: folder}},
	{"lines", files{debian: "#URI ldap://comment\n # URI ldap://x\n\turi\tldap://a \r\nBASE dc=x\nTLS_CACERT /ca # with a comment\n" +
		"TLS_CACERTDIR\nTLS_CACERTDIR  /a dir\nTLS_REQSAN\tallow\n"}},
	{"what counts is the last", files{debian: "URI ldap://a\nURI ldaps://b ldap://c:1389,ldapi://%2Frun%2Fx\n" +
		"TLS_REQCERT never\nTLS_REQCERT TRY\n"}},
	{"values that are none", files{debian: "URI http://a\nHOST a:b:c\nTLS_REQCERT maybe\nTLS_REQSAN\tno\nPORT x\nHOST b\n"}},
	{"a bad list after a good one", files{debian: "URI ldap://a\nURI ldap://b nonsense\nHOST c\nHOST d:e:f\n"}},
	{"a port for hosts", files{debian: "PORT 1390\nHOST a b:99 c:x\n"}},
	{"a port of none", files{debian: "PORT 1390\nPORT 0\nHOST a\n"}},
	{"a line that fgets cuts", files{debian: "TLS_CACERT /" + strings.Repeat("x", lineMax-len("TLS_CACERT /")) + "URI ldap://cut\n"}},
	{"a byte of zero", files{debian: "URI ldap://a\x00 ldap://b\nURI\x00 ldap://c\n"}},
	{"no line's end", files{debian: "URI ldap://a"}},
	{"variables", files{"/etc/environment": "LDAPURI=ldaps://v\nexport LDAPTLS_REQCERT='allow' # why\n LDAPPORT = 1\nLDAPTLS_CACERT=\"/c\"\n" +
		"OTHER=1\nLDAPTLS_CACERTDIR=\"\nLDAPTLS_REQSAN='try\"\n"}},
	{"variables over files", files{debian: "URI ldap://a\nTLS_CACERT /a\nTLS_CACERTDIR /d\n",
		"/etc/environment": "LDAPTLS_CACERT=\nLDAPTLS_CACERTDIR=/e\nLDAPHOST=h\nLDAPPORT=77x\n"}},
	{"a port that is no number, in a variable", files{"/etc/environment": "LDAPPORT=x\nLDAPHOST=h\n"}},
	{"a port behind a sign", files{"/etc/environment": "LDAPPORT=+78\nLDAPHOST=h\n"}},
	{"nothing is read", files{debian: "URI ldap://a\n", "/etc/environment": "LDAPNOINIT=\n"}},
	{"a file named by a variable", files{debian: "URI ldap://a\n", "/conf": "URI ldap://b\n", "/etc/environment": "LDAPCONF=/conf\n"}},
	{"a file named by a variable is not to be read", files{"/conf": denied, "/etc/environment": "LDAPCONF=/conf\n"}},
	{"a file named by a variable, and no folder", files{"/conf": "URI ldap://b\n", "/etc/environment": "LDAPCONF=conf\n"}},
	{"another ldaprc", files{"/rc": "URI ldap://rc\n", "/etc/environment": "LDAPRC=/rc\n"}},
	{"another ldaprc is not to be read", files{"/rc": denied, "/etc/environment": "LDAPRC=/rc\n"}},
	{"no other ldaprc", files{debian: "URI ldap://a\n", "/etc/environment": "LDAPRC=\n"}},

	{"users", files{debian: "URI ldap://a\n", "/etc/passwd": passwd, "/etc/group": "", "/home/ana/ldaprc": "TLS_REQCERT never\n",
		"/home/ana/.ldaprc": "URI ldaps://ana\n", "/home/bob/.bashrc": ""}},
	{"users of whom one is not to be read", files{debian: "URI ldap://a\n", "/etc/passwd": passwd, "/etc/group": "",
		"/home/ana/ldaprc": denied, "/home/bob/.ldaprc": "URI ldap://bob\n"}},
	{"users of whom one has a folder", files{"/etc/passwd": passwd, "/etc/group": "", "/home/ana/ldaprc": folder,
		"/home/ana/.ldaprc": "URI ldap://ana\n"}},
	{"a user of whom half is to be read, and no server", files{debian: "TLS_REQCERT try\n", "/etc/passwd": passwd, "/etc/group": "",
		"/home/ana/ldaprc": "URI ldap://ana\n", "/home/ana/.ldaprc": denied}},
	{"two users who are not to be read", files{debian: "URI ldap://a\n", "/etc/passwd": passwd, "/etc/group": "",
		"/home/ana/ldaprc": denied, "/home/bob/ldaprc": denied}},
	{"users, and variables that are not to be read", files{"/etc/environment": denied, "/etc/passwd": passwd, "/etc/group": "",
		"/home/ana/ldaprc": "URI ldap://ana\n"}},
	{"users, and no other client", files{"/etc/passwd": passwd, "/etc/group": "", "/home/ana/ldaprc": denied, nslcdFile: "uri ldapi:///\n"}},
	{"users, and others", files{"/etc/passwd": denied, "/etc/group": "", nslcdFile: "uri ldapi:///\n", "/etc/ldap.conf": "uri ldapi:///\n"}},

	{"SSSD", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a, ldaps://b, ldap://localhost\nldap_backup_uri = ldap://c\n" +
		"ldap_tls_reqcert = Allow\nldap_tls_cacert = /ca\nldap_tls_cacertdir = /dir\nldap_default_authtok = secret\n")}},
	{"SSSD, StartTLS for all", files{sssd: domain("id_provider = LDAP\nldap_uri = ldap://a\nldap_id_use_start_tls = True\n")}},
	{"SSSD, StartTLS refused", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a\nldap_id_use_start_tls = false\n")}},
	{"SSSD, logins in the clear", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a ldap://127.0.0.1\n" +
		"ldap_auth_disable_tls_never_use_in_production = true\n")}},
	{"SSSD, logins in the clear on this host", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://127.0.0.1\n" +
		"ldap_auth_disable_tls_never_use_in_production = true\n")}},
	{"SSSD, logins by Kerberos", files{sssd: domain("id_provider = ldap\nauth_provider = krb5\nldap_uri = ldap://a\n" +
		"ldap_auth_disable_tls_never_use_in_production = true\n")}},
	{"SSSD, only passwords", files{sssd: domain("id_provider = files\nchpass_provider = ldap\nauth_provider = none\n" +
		"ldap_chpass_uri = ldap://a\nldap_chpass_backup_uri = ldaps://b\n")}},
	{"SSSD, only sudo", files{sssd: domain("id_provider = ad\nsudo_provider = ldap\nldap_uri = ldap://a\n")}},
	{"SSSD, GSSAPI", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a\nldap_sasl_mech = gssapi\n")}},
	{"SSSD, another mechanism", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a\nldap_sasl_mech = EXTERNAL\n")}},
	{"SSSD, Active Directory", files{sssd: domain("id_provider = ad\nldap_tls_reqcert = never\n")}},
	{"SSSD, IPA", files{sssd: domain("id_provider = ipa\n")}},
	{"SSSD, neither", files{sssd: domain("id_provider = files\n")}},
	{"SSSD discovers", files{sssd: domain("id_provider = ldap\n")}},
	{"SSSD discovers, as is said", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a\nldap_backup_uri = _srv_\n")}},
	{"SSSD, values that are none", files{sssd: domain("id_provider = ldap\nldap_uri = nonsense, ldap://a\nldap_tls_reqcert = sometimes\n")}},
	{"SSSD, a value of OpenLDAP's alone", files{sssd: domain("id_provider = ldap\nldap_uri = ldaps://a\nldap_tls_reqcert = yes\n")}},
	{"SSSD in parts", files{sssd: domain("id_provider = ldap\nldap_uri = ldap://a\n"),
		"/etc/sssd/conf.d/10-b.conf":    "[domain/d]\nldap_uri = ldaps://b\n",
		"/etc/sssd/conf.d/.hidden.conf": "[domain/d]\nldap_uri = ldap://hidden\n", "/etc/sssd/conf.d/x.txt": "nonsense"}},
	{"SSSD in parts alone", files{"/etc/sssd/conf.d/a.conf": domain("id_provider = ldap\nldap_uri = ldap://a\n")}},
	{"SSSD, a part is not to be read", files{sssd: domain("id_provider = ldap\n"), "/etc/sssd/conf.d/a.conf": denied}},
	{"SSSD, a part is gone", files{sssd: domain("id_provider = ldap\n"), "/etc/sssd/conf.d/a.conf": gone,
		"/etc/sssd/conf.d/b.conf": "[domain/d]\nldap_uri = ldaps://b\n"}},
	{"SSSD, its parts are not to be read", files{sssd: domain("id_provider = ldap\n"), "/etc/sssd/conf.d/denied.d": denied}},
	{"SSSD, a part is wrong", files{sssd: domain("id_provider = ldap\n"), "/etc/sssd/conf.d/a.conf": "[domain\n"}},
	{"SSSD, domains", files{sssd: "[sssd]\ndomains = b, a, b, none, off\n[domain/a]\nid_provider = ldap\n[domain/b]\nid_provider = ldap\n" +
		"enabled = true\n[domain/off]\nid_provider = ldap\nenabled = False\n[domain/c]\nid_provider = ldap\nenabled = TRUE\n" +
		"[domain/d]\nid_provider = ldap\n[pam]\nenabled = true\n"}},

	{"nslcd", files{nslcdFile: "# comment\n\n  URI  ldap://a ldaps://b\nbindpw secret\n" +
		"tls_cacertfile /ca\ntls_cacertdir /dir\ntls_reqcert no\n"}},
	{"nslcd discovers", files{nslcdFile: "uri DNS ldap://a\nuri dns:example.org\n"}},
	{"nslcd, StartTLS", files{nslcdFile: "uri ldap://a ldaps://b ldapi:///\nssl StartTLS\n"}},
	{"nslcd, TLS", files{nslcdFile: "uri ldap://a:1234 ldaps://b\nssl yes\n"}},
	{"nslcd, no TLS", files{nslcdFile: "uri ldap://localhost ldap://a ldap://b\nssl 0\nrootpwmodpw x\n"}},
	{"nslcd, SASL", files{nslcdFile: "uri ldap://a\nsasl_mech gssapi\n"}},
	{"nslcd, values that are none", files{nslcdFile: "uri x\nport 0\nport 65536\nport a\nssl maybe\n" +
		"tls_reqcert maybe\ntls_checkpeer maybe\nuri\nsasl_mech DIGEST-MD5\n"}},
	{"nslcd, levels", files{nslcdFile: "uri ldaps://a\ntls_reqcert Hard\n"}},
	{"PADL, hosts", files{"/etc/ldap.conf": "host a b:99 c:x d:e:f\nport 65535\nssl start_tls\n"}},
	{"PADL, hosts and URIs", files{"/etc/pam_ldap.conf": "host a\nuri ldap://b\nssl on\n"}},
	{"PADL, SASL", files{"/etc/libnss-ldap.conf": "uri ldap://a\nuse_sasl on\n"}},
	{"PADL, no SASL", files{"/etc/libnss-ldap.conf": "host a\nport 1\nuse_sasl off\n"}},
	{"PADL, no DNS", files{"/etc/ldap.conf": "uri DNS\n"}},
	{"PADL, checks", files{"/etc/ldap.conf": "uri ldaps://a\ntls_checkpeer no\n", "/etc/pam_ldap.conf": "uri ldaps://a\ntls_checkpeer yes\n",
		"/etc/libnss-ldap.conf": "uri ldaps://a\ntls_checkpeer allow\ntls_reqcert never\n"}},
	{"PADL inherits", files{debian: "TLS_CACERT /sys\nTLS_CACERTDIR /sysdir\nTLS_REQCERT never\nTLS_REQSAN never\n",
		"/etc/ldap.conf":        "uri ldaps://a\n",
		"/etc/pam_ldap.conf":    "uri ldaps://a\ntls_cacertdir /own\ntls_checkpeer yes\n",
		"/etc/libnss-ldap.conf": "uri ldaps://a\ntls_cacert /own\n",
		sssd:                    domain("id_provider = ldap\nldap_uri = ldaps://a\n"), nslcdFile: "uri ldaps://a\n"}},
}

// TestRead: what each host's clients are, as testdata/read.txt tells it.
func TestRead(t *testing.T) {
	var b strings.Builder
	for _, c := range hosts {
		clients, unread := All(t.Context(), host.New(newTold(c.files)))
		fmt.Fprintf(&b, "%s\n", c.name)
		for _, c := range clients {
			b.WriteString(describe(c))
		}
		for _, u := range unread {
			fmt.Fprintf(&b, "  unread: %s: %v\n", u.Name, u.Err)
		}
	}
	means.Written(t, "testdata/read.txt", b.String())
}

// TestEnvironments: a program that is started in a folder looks there, too, and the order counts.
func TestEnvironments(t *testing.T) {
	vars := map[string]Setting{"LDAPCONF": {Value: "sub/conf", File: "environment"}, "LDAPRC": {Value: "extra", File: "environment"}}
	env := Env{Home: "/home/ana", Dir: "/work", Vars: vars}
	order := []string{debian, "/home/ana/ldaprc", "/home/ana/.ldaprc", "/work/ldaprc", "/work/sub/conf", "/home/ana/extra", "/home/ana/.extra",
		"/work/extra"}
	for n := 1; n <= len(order); n++ {
		all := files{}
		for i, f := range order[:n] {
			all[f] = fmt.Sprintf("URI ldap://s%d\n", i)
		}
		c, err := ReadOpenLDAP(t.Context(), host.New(newTold(all)), env)
		if err != nil || len(c.Servers) != 1 || c.Servers[0].Host != fmt.Sprintf("s%d", n-1) || !slices.Equal(c.Files, order) {
			t.Errorf("%d files: %+v, %v", n, c, err)
		}
	}
	for _, f := range order {
		if _, err := ReadOpenLDAP(t.Context(), host.New(newTold(files{f: denied})), env); err == nil || !strings.Contains(err.Error(), f) {
			t.Errorf("%s is not to be read: %v", f, err)
		}
		if _, err := ReadOpenLDAP(t.Context(), host.New(newTold(files{f: folder})), env); f != debian && !host.IsAbsent(err) {
			t.Errorf("%s is a folder, and there is nothing else: %v", f, err)
		}
	}
	if _, err := ReadOpenLDAP(t.Context(), host.New(newTold(nil)), Env{}); !host.IsAbsent(err) {
		t.Errorf("nothing: %v", err)
	}
}

// TestBounds: lists have their ends.
func TestBounds(t *testing.T) {
	uris := func(n int) string { return strings.TrimSpace(strings.Repeat("ldap://a ", n)) }
	count := func(f files) (servers, errors int, said string) {
		cs, _ := All(t.Context(), host.New(newTold(f)))
		for _, c := range cs {
			servers, errors = servers+len(c.Servers), errors+len(c.Errors)
			for _, e := range c.Errors {
				said += e.Error() + "\n"
			}
		}
		return servers, errors, said
	}
	for name, c := range map[string]struct {
		files           files
		servers, errors int
		says            string
	}{
		"as many URIs":       {files{debian: "URI " + uris(maxServers) + "\n"}, maxServers, 0, ""},
		"more URIs":          {files{debian: "URI " + uris(maxServers+1) + "\n"}, 0, 1, "more than 100 servers"},
		"more hosts":         {files{debian: "HOST " + strings.Repeat("a ", 150) + "\n"}, maxServers, 0, ""},
		"more hosts of PADL": {files{"/etc/ldap.conf": "host " + strings.Repeat("a ", 150) + "\n"}, maxServers, 0, ""},
		"more of nslcd":      {files{nslcdFile: "uri " + uris(60) + "\nuri " + uris(60) + "\n"}, maxServers, 0, ""},
		"more of SSSD": {files{sssd: domain("id_provider = ldap\nldap_uri = " + uris(60) + "\nldap_backup_uri = " + uris(60) + "\n")},
			maxServers, 0, ""},
		"as many errors": {files{nslcdFile: strings.Repeat("uri x\n", 100)}, 0, 100, "uri"},
		"more errors":    {files{nslcdFile: strings.Repeat("uri x\n", 101)}, 0, 100, "uri"},
	} {
		if servers, errors, said := count(c.files); servers != c.servers || errors != c.errors || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d servers, %d errors: %.200s", name, servers, errors, said)
		}
	}
	var listed, enabled, sections strings.Builder
	for i := range maxDomains + 1 {
		fmt.Fprintf(&listed, "d%d,", i)
		fmt.Fprintf(&sections, "[domain/d%d]\nid_provider = ldap\n", i)
		fmt.Fprintf(&enabled, "[domain/d%d]\nid_provider = ldap\nenabled = true\n", i)
	}
	for name, text := range map[string]string{"listed": "[sssd]\ndomains = " + listed.String() + "\n" + sections.String(),
		"enabled": enabled.String()} {
		if cs, err := ReadSSSD(t.Context(), host.New(newTold(files{sssd: text}))); len(cs) != maxDomains || err != nil {
			t.Errorf("%s: %d domains, %v", name, len(cs), err)
		}
	}
	var users strings.Builder
	for i := range maxHomes + 1 {
		fmt.Fprintf(&users, "u%d:x:%d:1::/home/u%d:/bin/sh\n", i, 1000+i, i)
	}
	last := fmt.Sprintf("/home/u%d/ldaprc", maxHomes)
	most, _, _ := strings.Cut(users.String(), "u500")
	for passwd, says := range map[string]string{users.String(): "more than 500 homes", most: ""} {
		cs, unread := All(t.Context(), host.New(newTold(files{debian: "URI ldap://a\n", "/etc/passwd": passwd, "/etc/group": "",
			last: "URI ldap://x\n"})))
		if len(cs) != 1 || (len(unread) == 0) != (says == "") || says != "" && !strings.Contains(fmt.Sprint(unread), says) {
			t.Errorf("%d clients, %v", len(cs), unread)
		}
	}
}

// TestURIs are names and addresses at their edges.
func TestURIs(t *testing.T) {
	for in, want := range map[string]string{
		"ldap://a:1": "ldap://a:1", "ldap://a:65535": "ldap://a:65535", "ldap://a:": "ldap://a:389", "ldap://?x": "ldap://localhost:389",
		"ldap://[::1]:": "ldap://[::1]:389", "ldap://[::1]:7": "ldap://[::1]:7", "ldap://[FE80::1]": "ldap://[fe80::1]:389",
		"ldap://a!b": "ldap://a!b:389",
		"ldapi://":   "ldapi://", "ldapi://%2Fa?x": "ldapi://%2Fa",
	} {
		if s, err := ParseURI(in); err != nil || s.URI() != want || s.From.Value != in {
			t.Errorf("%q is %q, %v; want %q", in, s.URI(), err, want)
		}
	}
	for in, want := range map[string]string{
		"x://a": "a scheme is ldap, ldaps or ldapi", "ldapi://%x": "a percent sign without", "ldap://%x": "a percent sign without",
		"ldap://[1.2.3.4]": "brackets are for IPv6", "ldap://[a]": "brackets are for IPv6", "ldap://[::1": "a bracket is not closed",
		"ldap://[::1]7": "after an address in brackets", "ldap://a:1:2": "an IPv6 address must be in brackets",
		"ldap://a:70000": "a port is a number",
		"ldap://a%20b":   "that is no host name", "ldap://a%7fb": "that is no host name", "ldap://a%1fb": "that is no host name",
		"ldap": "not an LDAP URI",
	} {
		if s, err := ParseURI(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", in, s, err, want)
		}
	}
	for name, want := range map[string]bool{"localhost": true, "127.8.9.1": true, "128.0.0.1": false, "[::1]": true, "[::2]": false,
		"localhost.localdomain": true, "ip6-localhost": true, "localhosts": false} {
		if s, err := ParseURI("ldap://" + name); err != nil || s.Loopback() != want {
			t.Errorf("%s is this host: %t, %v", name, s.Loopback(), err)
		}
	}
}

// TestNames: only servers that a client is told to ask are ever asked.
func TestNames(t *testing.T) {
	h := host.New(newTold(files{debian: "URI ldap://a ldaps://b\n", nslcdFile: "uri ldap://c\n"}))
	for uri, want := range map[string]bool{"ldap://a:389": true, "ldaps://b:636": true, "ldap://c:389": true, "ldap://b:389": false,
		"": false} {
		if got := Names(t.Context(), h, host.PeerQuestion{URI: uri}); got != want {
			t.Errorf("%s is named: %t", uri, got)
		}
	}
}

// TestNumbers are read as atoi(3) reads them.
func TestNumbers(t *testing.T) {
	for in, want := range map[string]string{"12": "12", " \t7x": "7", "-3": "-3", "+4": "+4", "x": "0", "": "0", "-": "0", "1-2": "1",
		"9/": "9", "0:": "0", "99999999999999999999": "0"} {
		if got := atoi(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"NEVER": "never", "Yes": "hard", "on": "hard", "true": "hard", "hard": "hard", "off": "", "": ""} {
		if got, ok := level(in); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %t", in, got, ok)
		}
	}
}
