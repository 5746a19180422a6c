package ldaptlsverify

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestPlansAreFullySaid: what the admin reads of a plan, what of each file becomes, and why there is no plan.
func TestPlansAreFullySaid(t *testing.T) {
	root := issue(t, nil, "Said CA", 0, ca)
	other := issue(t, nil, "Another Said CA", 0, ca)
	named := func(c *x509.Certificate, names ...string) { c.DNSNames = names }
	one := issue(t, root, "one.example.com", 0, func(c *x509.Certificate) { named(c, "one.example.com") })
	two := issue(t, root, "two.example.com", 0, func(c *x509.Certificate) { named(c, "two.example.com") })
	alien := issue(t, other, "alien.example.com", 0, func(c *x509.Certificate) { named(c, "alien.example.com") })
	mute := issue(t, other, "mute.example.com", 0, func(c *x509.Certificate) { named(c, "mute.example.com") })
	dead := issue(t, root, "dead.example.com", 0, func(c *x509.Certificate) {
		named(c, "dead.example.com")
		c.NotAfter = c.NotBefore.Add(time.Minute)
	})
	answer := func(name string, certs ...*pair) string {
		p := host.Peer{Address: name + ":636", Version: "TLS 1.3"}
		for _, c := range certs {
			p.Chain = append(p.Chain, c.cert.Raw)
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("-- table/peer tls ldaps://%s.example.com:636 --\n%s\n", name, b)
	}
	const bundle = "/etc/ssl/certs/ca-certificates.crt"
	common := "-- root/etc/os-release --\nID=debian\n" + answer("one", one) + answer("two", two, root) + answer("alien", alien, other) +
		answer("mute", mute) + answer("dead", dead) + "-- table/peer tls ldaps://rubbish.example.com:636 --\n{\"chain\": [\"AQ==\"]}\n" +
		"-- root/other.pem --\n" + string(pemOf(other.cert)) + "-- root/text.pem --\nhello\n"
	system := "-- root" + bundle + " --\n" + string(pemOf(root.cert))
	sssd := func(servers, more string) string {
		return "-- root/etc/sssd/sssd.conf --\n[sssd]\ndomains = corp\n[domain/corp]\nid_provider = ldap\nldap_uri = ldaps://" +
			strings.ReplaceAll(servers, " ", ".example.com, ldaps://") + ".example.com\nldap_tls_cacert = " + bundle + "\n" + more
	}
	never := "ldap_tls_reqcert = never\n"
	open := func(servers, more string) string {
		return "-- root/etc/ldap/ldap.conf --\nURI ldaps://" + strings.ReplaceAll(servers, " ", ".example.com ldaps://") + ".example.com\n" + more
	}
	sha := fingerprint(other.cert)
	aliens := "sssd/corp ldaps://alien.example.com:636"
	for _, tt := range []struct {
		name, host, subject string
		choose              []string
		want                []string // that stand in the plan, its notes, or a file that it makes
		not                 string   // what must not
		refused             string   // or the error
	}{
		{name: "two servers", host: system + sssd("one two", never), subject: "sssd/corp",
			want: []string{"have sssd/corp verify its servers' certificates", "\nldap_tls_reqcert = demand\n",
				"fettle cannot restart it here (", "): restart sssd.service by hand."}},
		{name: "a daemon that runs", host: system + sssd("one", never) + "-- units --\nsssd.service loaded active running enabled\n",
			subject: "sssd/corp", want: []string{"2. restart sssd.service\n"}, not: "by hand"},
		{name: "one that does not", host: system + sssd("one", never) + "-- units --\nsssd.service loaded inactive dead enabled\n",
			subject: "sssd/corp", want: []string{"sssd.service is not running; it reads the new settings when it is started."}, not: "kind: unit"},
		{name: "programs", host: system + open("one", "TLS_CACERT "+bundle+"\nTLS_REQCERT never\n"), subject: "openldap",
			want: []string{"Running programs keep the settings that they read at start", "\nTLS_REQCERT\tdemand\n"}},
		{name: "programs, a server that is gone", host: system + open("one gone", "TLS_CACERT "+bundle+"\nTLS_REQCERT never\n"),
			subject: "openldap",
			want:    []string{"ldaps://gone.example.com:636 could not be asked; whether its certificate verifies is not known."}},
		{name: "logins, a server that is gone", host: system + sssd("one gone", never), subject: "sssd/corp",
			refused: "sssd/corp ldaps://gone.example.com:636 cannot be asked (", not: "could not be asked"},
		{name: "names are not compared", subject: "openldap",
			host: system + open("one", "TLS_CACERT "+bundle+"\nTLS_REQSAN never\n"), want: []string{"\nTLS_REQSAN\tallow\n"}},
		{name: "names are not compared, by all programs", subject: "nslcd",
			host: system + "-- root/etc/nslcd.conf --\nuri ldaps://one.example.com\ntls_cacertfile " + bundle + "\ntls_reqcert never\n" +
				"-- root/etc/ldap/ldap.conf --\nTLS_REQSAN never\nTLS_CACERT " + bundle + "\n",
			want: []string{"\ntls_reqcert demand\n"}},
		{name: "an expired certificate", host: system + sssd("one dead", ""), subject: "sssd/corp ldaps://dead.example.com:636",
			refused: "ldaps://dead.example.com:636: its certificate expired on " + dead.cert.NotAfter.UTC().Format(time.DateOnly) +
				". Fix that on the server; --with verify=never makes the client accept any certificate"},
		{name: "an expired certificate, the client", host: system + sssd("dead", never), subject: "sssd/corp",
			refused: "Fix that on the server", not: "--with verify=never"},
		{name: "rubbish", host: system + sssd("rubbish", never), subject: "sssd/corp", refused: "certificate 1 that the server sends: "},
		{name: "never", host: system + sssd("one dead", ""), subject: "sssd/corp ldaps://dead.example.com:636", choose: []string{"verify=never"},
			want: []string{"have sssd/corp accept any certificate", "\nldap_tls_reqcert = never\n",
				"After this, anybody can impersonate the server", "fettle check will say so, about sssd/corp."}},
		{name: "a CA's fingerprint", host: system + sssd("one alien", ""), subject: aliens, choose: []string{"fingerprint=" + sha},
			want: []string{"\nldap_tls_cacert = /etc/ldap/ldap-ca.pem\n", "# CN=Another Said CA,O=Example\n# SHA-256 " + sha + "\n-----BEGIN",
				"Trusted from now on, for LDAP: CN=Another Said CA,O=Example, until " + other.cert.NotAfter.UTC().Format(time.DateOnly),
				"# CN=Said CA,O=Example\n", "\n-----END CERTIFICATE-----\n\x00"}},
		{name: "of another", host: system + sssd("alien", ""), subject: aliens, choose: []string{"fingerprint=" + fingerprint(root.cert)},
			refused: "fingerprint=" + fingerprint(root.cert) + " is not that of CN=Another Said CA,O=Example, which the server at alien:636 sends " +
				"(SHA-256 " + sha + "): somebody may be intercepting the connection"},
		{name: "as openssl prints it", host: system + sssd("alien", ""), subject: aliens,
			choose: []string{"fingerprint=SHA256 Fingerprint=" + strings.ToLower(sha)}, want: []string{"# SHA-256 " + sha}, not: "CN=Said CA"},
		{name: "no fingerprint", host: system + sssd("alien", ""), subject: aliens,
			refused: "the server at alien:636 sends what would have to be trusted: CN=Another Said CA,O=Example, SHA-256 " + sha},
		{name: "no CA is sent", host: system + sssd("mute", ""), subject: "sssd/corp ldaps://mute.example.com:636",
			refused: "the server at mute:636 does not send the certificate of its CA, CN=Another Said CA,O=Example."},
		{name: "a file", host: system + sssd("alien", ""), subject: aliens, choose: []string{"ca=/other.pem"},
			want: []string{"\nldap_tls_cacert = /etc/ldap/ldap-ca.pem\n", "# SHA-256 " + sha + "\n"}},
		{name: "a file for more", subject: "openldap ldaps://alien.example.com:636", choose: []string{"ca=/other.pem"},
			host: system + open("alien", "TLS_CACERT "+bundle+"\n"),
			want: []string{"So far all CAs of the system were trusted for LDAP (" + bundle + "). From now on /etc/ldap/ldap-ca.pem alone is"}},
		{name: "a file of Red Hat's", host: system + sssd("alien", "") + "-- root/etc/openldap/x --\n", subject: aliens,
			choose: []string{"ca=/other.pem"}, want: []string{"\nldap_tls_cacert = /etc/openldap/certs/ldap-ca.pem\n"}, not: "So far"},
		{name: "a relative file", host: system + sssd("alien", ""), subject: aliens, choose: []string{"ca=other.pem"},
			refused: "ca=other.pem: give an absolute path"},
		{name: "no such file", host: system + sssd("alien", ""), subject: aliens, choose: []string{"ca=/none.pem"}, refused: "ca=/none.pem: "},
		{name: "no certificate in it", host: system + sssd("alien", ""), subject: aliens, choose: []string{"ca=/text.pem"},
			refused: "ca=/text.pem: no certificate in PEM form is in it"},
		{name: "another's file", host: system + sssd("alien", ""), subject: aliens, choose: []string{"ca=" + bundle},
			refused: "ca=" + bundle + " does not verify the server at alien:636: "},
		{name: "a file that may not be read", subject: aliens, choose: []string{"ca=/other.pem"},
			host: system + sssd("alien", "") + "-- denied/etc/ldap/ldap-ca.pem --\n", refused: "denied"},
		{name: "a file that is there", subject: aliens, choose: []string{"ca=/other.pem"},
			host: system + sssd("alien", "") + "-- raw/etc/ldap/ldap-ca.pem --\n\"# ours\"\n", want: []string{"# ours\n# CN=Another Said CA"}},
		{name: "one on this host", subject: aliens,
			host: system + sssd("alien", "") + "-- root/usr/local/share/ca-certificates/o.crt --\n" + string(pemOf(other.cert)),
			want: []string{"\nldap_tls_cacert = /usr/local/share/ca-certificates/o.crt\n", "ldaps://alien.example.com:636 is trusted through " +
				"CN=Another Said CA,O=Example, SHA-256 " + sha + ", which /usr/local/share/ca-certificates/o.crt already contains."}},
		{name: "two servers that no single file has", subject: aliens,
			host:    system + sssd("one alien", "") + "-- root/usr/local/share/ca-certificates/o.crt --\n" + string(pemOf(other.cert)),
			refused: "the server at alien:636 sends what would have to be trusted"},
		{name: "no CA file, and no server that answers", subject: "nslcd", host: "-- root/etc/nslcd.conf --\nuri ldaps://gone.example.com\n",
			refused: "no CA certificates are configured, and GnuTLS has no default for them, and fettle finds no other file of CA certificates"},
		{name: "which library is not known", subject: "openldap",
			host:    "-- denied/var/lib/dpkg/status --\n" + system + open("one", "TLS_CACERT "+bundle+"\nTLS_REQCERT never\n"),
			refused: "which TLS library the OpenLDAP library uses is not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := one.cert.NotBefore.AddDate(0, 0, 1).Format(time.RFC3339)
			h := hosttest.New(t, "kind: live\ntime: "+now+"\n"+common+tt.host)
			p, err := planFor(t, h, tt.subject, tt.choose)
			text := remedy.Text(p, remedy.TextOptions{Width: 10000}) + "\n" + strings.Join(p.Notes, "\n")
			for _, st := range p.Steps {
				if f, ok := st.(step.File); ok {
					text += "\n" + string(f.Content) + "\x00"
				}
				text += "\nkind: " + st.Kind()
			}
			if err != nil {
				text = err.Error()
			}
			if (err != nil) != (tt.refused != "") || !strings.Contains(text, tt.refused) {
				t.Fatalf("%v; want %q", err, tt.refused)
			}
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("no %q in\n%s", w, text)
				}
			}
			if tt.not != "" && strings.Contains(text, tt.not) {
				t.Errorf("%q is in\n%s", tt.not, text)
			}
		})
	}
	h := hosttest.New(t, common)
	if _, err := plan(t.Context(), h, trap.Finding{Subject: "nslcd"}); err == nil || !strings.Contains(err.Error(),
		"nslcd is no longer configured") {
		t.Errorf("of a client that is gone: %v", err)
	}
}
