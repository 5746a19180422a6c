package ldaptlsverify

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestPlans makes plans for clients whose daemons do not run here, and reads
// what their files would be.
func TestPlans(t *testing.T) {
	root := issue(t, nil, "Plan CA", 0, ca)
	leaf := issue(t, root, "ldap.example.com", 0, func(c *x509.Certificate) { c.DNSNames = []string{"ldap.example.com"} })
	now := leaf.cert.NotBefore.AddDate(0, 0, 1).Format("2006-01-02T15:04:05Z")
	b, err := json.Marshal(host.Peer{Address: "192.0.2.1:636", Version: "TLS 1.3", Chain: [][]byte{leaf.cert.Raw, root.cert.Raw}})
	if err != nil {
		t.Fatal(err)
	}
	answers := fmt.Sprintf(
		"-- table/peer tls ldaps://ldap.example.com:636 --\n%s\n-- table/peer starttls ldap://ldap.example.com:389 --\n%s\n",
		b,
		b,
	)
	bundle := "-- root/etc/ssl/certs/ca-certificates.crt --\n" + string(pemOf(root.cert))
	debian := "-- root/etc/os-release --\nID=debian\n"
	const caFile = "/etc/ssl/certs/ca-certificates.crt"
	for _, tt := range []struct {
		name, host, subject string
		choose              []string
		want                map[string][]string // lines that a changed file must have, with their numbers
		without             []string            // what no file may say
		secret              bool
		refused             string
	}{
		{name: "nslcd", subject: "nslcd", secret: true,
			host: "-- root/etc/nslcd.conf --\nuri ldaps://ldap.example.com/\nbindpw hunter2\n  tls_reqcert allow\ntls_cacertfile " + caFile + "\n",
			want: map[string][]string{"/etc/nslcd.conf": {"3:  tls_reqcert demand", "2:bindpw hunter2"}}},
		{name: "nslcd in the clear", subject: "nslcd",
			host: "-- root/etc/nslcd.conf --\nuri ldap://ldap.example.com/\nssl off\ntls_cacertfile " + caFile + "\n",
			want: map[string][]string{"/etc/nslcd.conf": {"2:ssl start_tls"}}},
		{name: "nslcd without a CA", subject: "nslcd",
			host: "-- root/etc/nslcd.conf --\nuri ldaps://ldap.example.com/",
			want: map[string][]string{"/etc/nslcd.conf": {"2:tls_cacertfile " + caFile}}},
		{name: "pam_ldap", subject: "pam_ldap",
			host: "-- root/etc/pam_ldap.conf --\nhost ldap.example.com\ntls_checkpeer no\ntls_cacertfile " + caFile + "\n",
			want: map[string][]string{"/etc/pam_ldap.conf": {"2:tls_checkpeer yes", "4:ssl start_tls"}}},
		{name: "sssd, told so by a fragment", subject: "sssd/corp",
			host: "-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n[domain/corp]\nid_provider = ldap\nldap_uri = " +
				"ldaps://ldap.example.com\nldap_tls_cacert = " + caFile + "\nldap_default_authtok = hunter2\n" +
				"-- root/etc/sssd/conf.d/9.conf --\n[domain/corp]\n\nldap_tls_reqcert = never\n",
			want: map[string][]string{"/etc/sssd/conf.d/9.conf": {"3:ldap_tls_reqcert = demand"}}},
		{name: "sssd, lookups in the clear", subject: "sssd/corp", secret: true,
			host: "-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n\n[domain/corp]\nid_provider = ldap\nldap_uri = " +
				"ldap://ldap.example.com\nldap_default_authtok = hunter2\n\n[nss]\nx = y\n-- root/etc/ldap/ldap.conf --\nTLS_CACERT " + caFile + "\n",
			want: map[string][]string{"/etc/sssd/sssd.conf": {"8:ldap_id_use_start_tls = true", "10:[nss]"}}},
		{name: "sssd, passwords in the clear", subject: "sssd/corp",
			host: "-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n[domain/corp]\nid_provider = ldap\nldap_uri = " +
				"ldap://ldap.example.com\nldap_auth_disable_tls_never_use_in_prod" +
				"uction = True\nldap_id_use_start_tls = False\nldap_tls_cacert = " + caFile + "\n",
			want: map[string][]string{"/etc/sssd/sssd.conf": {"6:ldap_auth_disable_tls_nev" +
				"er_use_in_production = false", "7:ldap_id_use_start_tls = true"}}},
		{name: "sssd, a CA that came over the network", subject: "sssd/corp ldaps://ldap.example.com:636",
			choose: []string{"fingerprint=" + fingerprint(root.cert)},
			host: "-- root/etc/ssl/certs/ca-certificates.crt --\n-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = " +
				"corp\n[domain/corp]\nid_provider = ldap\nldap_uri = ldaps://ldap.example.com\nldap_tls_cacert = /etc/sssd/ca.pem\n" +
				"-- root/etc/sssd/ca.pem --\n" + string(pemOf(issue(t, nil, "Former CA", 0, ca).cert)),
			want: map[string][]string{"/etc/sssd/ca.pem": {"1:-----BEGIN CERTIFICATE-----"}}},
		{name: "a server that does not answer", subject: "sssd/corp", refused: "cannot be asked",
			host: "-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n[domain/corp]\nid_provider = ldap\nldap_uri = " +
				"ldaps://ldap.example.com, ldaps://gone.example.com\nldap_tls_reqcert = never\nldap_tls_cacert = " + caFile + "\n"},
		{name: "a value over two lines", subject: "sssd/corp", refused: "continues on the next line",
			host: "-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n[domain/corp]\nid_provider = ldap\nldap_uri = " +
				"ldap://ldap.example.com\nldap_id_use_start_tls =\n  false\nldap_tls_cacert = " + caFile + "\n"},
		{name: "never, by itself", subject: "openldap", choose: []string{"verify=never"}, refused: "is what the check reports",
			host: "-- root/etc/ldap/ldap.conf --\nTLS_REQCERT allow\nTLS_CACERT " + caFile + "\n"},
		{name: "never, of a server, as each program calls it", subject: "pam_ldap ldaps://ldap.example.com:636", choose: []string{"verify=never"},
			host: "-- root/etc/pam_ldap.conf --\nuri ldaps://ldap.example.com\ntls_checkpeer yes\ntls_cacertfile /etc/former.pem\n" +
				"-- root/etc/former.pem --\n" + string(pemOf(issue(t, nil, "Former CA", 0, ca).cert)),
			want: map[string][]string{"/etc/pam_ldap.conf": {"2:tls_checkpeer no"}}},
		{name: "a variable for everybody", subject: "openldap",
			host: "-- root/etc/ldap/ldap.conf --\nURI " +
				"ldaps://ldap.example.com\nTLS_CACERT " + caFile + "\n-- root/etc/environment --\nLANG=C\nLDAPTLS_REQCERT=never\n",
			want: map[string][]string{"/etc/environment": {"1:LANG=C", "2:LDAPTLS_REQCERT=demand"}}},
		{name: "a user's own file", subject: "openldap/alice",
			host: "-- root/etc/passwd --\nalice:x:1000:1000::/home/alice:/bin/sh\n-- root/etc/group --\n-- root/etc/ldap/ldap.conf --\nURI " +
				"ldaps://ldap.example.com\nTLS_CACERT " + caFile + "\n-- root/home/alice/.ldaprc --\ntls_reqcert  never\n",
			want: map[string][]string{"/home/alice/.ldaprc": {"1:TLS_REQCERT\tdemand"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "kind: live\ntime: " + now + "\n" + debian + answers + tt.host
			if !strings.Contains(tt.host, "root"+caFile+" --") {
				text = strings.TrimSuffix(text, "\n") + "\n" + bundle
			}
			h := hosttest.New(t, text)
			p, err := planFor(t, h, tt.subject, tt.choose)
			var refusal *remedy.Refusal
			if tt.refused != "" {
				if !errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.refused) {
					t.Fatalf("%v, %v; want a refusal with %q", p.Steps, err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(remedy.Text(p, remedy.TextOptions{Width: 100}), "hunter2") {
				t.Errorf("the plan shows a password:\n%s", remedy.Text(p, remedy.TextOptions{Width: 100}))
			}
			if want := strings.HasPrefix(tt.subject, "openldap"); p.CutsConnection == want {
				t.Errorf("cuts the connection: %t", p.CutsConnection)
			}
			for _, st := range p.Steps {
				f := st.(step.File)
				lines := strings.Split(string(f.Content), "\n")
				for _, w := range tt.want[f.Path] {
					num, line, _ := strings.Cut(w, ":")
					var n int
					fmt.Sscan(num, &n)
					if n > len(lines) || lines[n-1] != line {
						t.Errorf("line %d is not %q:\n%s", n, line, f.Content)
					}
				}
				if tt.want[f.Path] == nil {
					t.Errorf("%s is changed too:\n%s", f.Path, f.Content)
				}
				if f.Secret != tt.secret {
					t.Errorf("%s: secret %t", f.Path, f.Secret)
				}
				if tt.secret && !strings.Contains(strings.Join(p.Notes, "\n"), f.Path) {
					t.Errorf("nothing says what changes in %s: %q", f.Path, p.Notes)
				}
			}
			if len(p.Steps) != len(tt.want) {
				t.Errorf("%d steps, want %d", len(p.Steps), len(tt.want))
			}
		})
	}
}

func planFor(t *testing.T, h *host.Host, subject string, choose []string) (remedy.Plan, error) {
	out := traptest.Run(t, &Trap, h, trap.Options{Network: true})
	for _, o := range out {
		if o.Status == trap.Found && o.Subject == subject {
			f, err := Trap.Choose(o, choose)
			if err != nil {
				t.Fatal(err)
			}
			return plan(t.Context(), h, f)
		}
	}
	t.Fatalf("nothing is found on %s:\n%s", subject, traptest.Lines(out))
	return remedy.Plan{}, nil
}
