package sshslowlogin

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
)

// variant is Debian's host with other files; a name with - before it is taken away.
func variant(t *testing.T, text string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile("testdata/healthy-debian12.txtar")
	if err != nil {
		t.Fatal(err)
	}
	more := txtar.Parse([]byte(text))
	drop := func(name string) {
		a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	}
	drop("want")
	for _, f := range more.Files {
		if name, ok := strings.CutPrefix(f.Name, "-"); ok {
			drop(name)
			continue
		}
		drop(f.Name)
		a.Files = append(a.Files, f)
	}
	return a
}

const (
	conf   = "-- root/etc/ssh/sshd_config --\nUsePAM yes\n"
	module = "-- root/usr/lib/x86_64-linux-gnu/security/"
)

// TestVariants: what is said of a subject when one thing of a host is another.
func TestVariants(t *testing.T) {
	hosts := conf + "HostbasedAuthentication yes\nIgnoreRhosts yes\nIgnoreUserKnownHosts yes\n"
	session := func(lines string) string {
		return "-- root/etc/pam.d/sshd --\nauth required pam_unix.so\naccount required pam_unix.so\nsession required pam_unix.so\n" + lines
	}
	ldap := session("session optional pam_ldap.so\n") + module + "pam_ldap.so --\n"
	for _, c := range []struct{ name, host, subject, want string }{
		{"nobody is listed, no key is known", hosts, hostbased, "found notice: sshd offers host-based authentication, which cannot succeed " +
			"/etc/ssh/shosts.equiv, /etc/hosts.equiv: none of them is there"},
		{"hosts are listed, no key is known", hosts + "-- root/etc/hosts.equiv --\nx\n", hostbased,
			"found notice: /etc/ssh/ssh_known_hosts, /etc/ssh/ssh_known_hosts2: none of them is there"},
		{"both", hosts + "-- root/etc/hosts.equiv --\nx\n-- root/etc/ssh/ssh_known_hosts2 --\nx\n", hostbased,
			"clear: host-based authentication is in use"},
		{"keys, and nobody is listed", hosts + "-- root/etc/ssh/ssh_known_hosts --\nx\n", hostbased, "found notice: /etc/ssh/shosts.equiv"},
		{"users list, and know keys", conf + "HostbasedAuthentication yes\nIgnoreRhosts no\n", hostbased, "clear: is in use"},
		{"a list that may not be read", hosts + "-- denied/etc/ssh/shosts.equiv --\n-- root/etc/ssh/ssh_known_hosts --\nx\n", hostbased,
			"unknown: denied"},
		{"one list may not be read, the other is there", hosts + "-- denied/etc/ssh/shosts.equiv --\n-- root/etc/hosts.equiv --\nx\n" +
			"-- root/etc/ssh/ssh_known_hosts --\nx\n", hostbased, "clear: is in use"},
		{"keys that may not be read", hosts + "-- root/etc/hosts.equiv --\nx\n-- denied/etc/ssh/ssh_known_hosts2 --\n",
			hostbased, "unknown: denied"},
		{"GSSAPI with a keytab", conf + "GSSAPIAuthentication yes\n-- root/etc/krb5.keytab --\nx\n", gssapi,
			"clear: the host has a keytab /etc/krb5.keytab: is there"},
		{"GSSAPI without", conf + "GSSAPIAuthentication yes\n", gssapi, "found notice: /etc/krb5.keytab: is not there no default_realm"},
		{"GSSAPI without, with a realm",
			conf + "GSSAPIAuthentication yes\n-- root/etc/krb5.conf --\n[libdefaults]\ndefault_realm = X.ORG\n", gssapi,
			"found notice: /etc/krb5.keytab: is not there"},
		{"a keytab that may not be seen", conf + "GSSAPIAuthentication yes\n-- denied/etc/krb5.keytab --\n", gssapi, "unknown: denied"},
		{"pam_ldap", ldap, "pam:pam_ldap", "found notice: may wait long if it does not answer"},
		{"pam_ldap, nslcd", ldap + "-- root/etc/nslcd.conf --\n", "pam:pam_ldap", "clear: nslcd asks the LDAP servers"},
		{"pam_ldap, soft, in the file of Red Hat", ldap + "-- root/etc/ldap.conf --\nbind_policy soft\n", "pam:pam_ldap",
			"clear: gives up immediately"},
		{"pam_ldap, hard, in its own file", ldap + "-- root/etc/pam_ldap.conf --\nbind_policy hard\n-- root/etc/ldap.conf --\nbind_policy soft\n",
			"pam:pam_ldap", "found notice"},
		{"pam_ldap, a file that may not be read", ldap + "-- denied/etc/nss_ldap.conf --\n", "pam:pam_ldap", "unknown: denied"},
		{"pam_krb5", session("session optional pam_krb5.so\n") + module + "pam_krb5.so --\n", "pam:pam_krb5", "found notice: no default_realm"},
		{"pam_krb5, a realm", session("session optional pam_krb5.so\n") + module + "pam_krb5.so --\n-- root/etc/krb5.conf --\n[libdefaults]\n" +
			"default_realm = X.ORG\n", "pam:pam_krb5", "clear: asks the KDCs of its realm default_realm X.ORG"},
		{"pam_exec, behind modules that are not judged", session("session optional pam_motd.so noupdate\nsession optional pam_lastlog.so\n"+
			"session optional pam_exec.so quiet /usr/bin/first /second\n") + module + "pam_exec.so --\n", "pam:pam_exec",
			"found notice: each login runs /usr/bin/first and"},
		{"pam_exec, no path", session("session optional pam_exec.so quiet\n") + module + "pam_exec.so --\n", "pam:pam_exec",
			"found notice: each login runs a program and"},
		{"a module that is not installed", session("session optional pam_exec.so quiet /x\n"), "pam:pam_exec",
			"clear: is not installed security/pam_exec.so: is not there"},
		{"a module by its path", session("session optional /opt/pam_exec.so /x\n"), "pam:pam_exec", "found notice: /x"},
		{"AFS", session("session optional pam_afs_session.so\n") + module + "pam_afs_session.so --\n", "pam:pam_afs_session",
			"found notice: each login asks for AFS tokens"},
		{"showfailed, small", session("session optional pam_lastlog.so showfailed\n") + module + "pam_lastlog.so --\n-- stat/var/log/btmp --\n" +
			"size 268435455\n", "pam:pam_lastlog", "clear: moderate size"},
		{"showfailed, huge", session("session optional pam_lastlog.so showfailed\n") + module + "pam_lastlog.so --\n-- stat/var/log/btmp --\n" +
			"size 268435456\n", "pam:pam_lastlog", "found notice: is huge 256 MiB 268435456 bytes"},
		{"showfailed, none", session("session optional pam_lastlog.so showfailed\n") + module + "pam_lastlog.so --\n", "pam:pam_lastlog",
			"clear: there are no failed logins"},
		{"PAM is off", conf[:len(conf)-4] + "no\n", "pam", "clear: sshd does not use PAM UsePAM no"},
		{"no answers to count", conf + "UseDNS yes\nLoginGraceTime 9\n-- root/etc/resolv.conf --\nnameserver 192.0.2.1\n", reverseDNS,
			"found warning: exceeds LoginGraceTime"},
		{"enough grace", conf + "UseDNS yes\nLoginGraceTime 11\n-- root/etc/resolv.conf --\nnameserver 192.0.2.1\n", reverseDNS,
			"found notice: each login waits for a lookup sshd (UseDNS yes) cost 10s per lookup (timeout 5s, 2 attempts, 1 server)"},
		{"just as much grace", conf + "UseDNS yes\nLoginGraceTime 10\n-- root/etc/resolv.conf --\nnameserver 192.0.2.1\n", reverseDNS,
			"found warning: exceeds LoginGraceTime"},
		{"no grace", conf + "UseDNS yes\nLoginGraceTime 0\n-- root/etc/resolv.conf --\nnameserver 192.0.2.1\nnameserver 127.0.0.1\n", reverseDNS,
			"found notice: each login waits for a lookup 1 server on this host itself refuse immediately"},
	} {
		out := traptest.Run(t, &Trap, hostOf(t, variant(t, c.host)))
		i := slices.IndexFunc(out, func(o trap.Outcome) bool { return o.Subject == c.subject })
		if i < 0 {
			t.Errorf("%s: nothing is said of %s:\n%s", c.name, c.subject, traptest.Lines(out))
			continue
		}
		o := out[i]
		said := strings.Replace(traptest.Lines(out[i:i+1]), " "+c.subject, "", 1) + "\n" + string(o.Detail)
		for _, e := range o.Evidence {
			said += "\n" + e.Source + ": " + e.Value
		}
		status, words, _ := strings.Cut(c.want, ":")
		if !strings.HasPrefix(said, status+": ") || !inOrder(said, strings.Fields(words)) {
			t.Errorf("%s: %s\nwant %s", c.name, said, c.want)
		}
	}
}

// inOrder tells whether the words are in the text, one after the other.
func inOrder(text string, words []string) bool {
	for _, w := range words {
		_, rest, ok := strings.Cut(text, w)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// TestWhereSshdIsTold: in which file sshd is told no, and where it is not for fettle to say.
func TestWhereSshdIsTold(t *testing.T) {
	const main, site, include = "/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d/", "Include /etc/ssh/sshd_config.d/*.conf\n"
	const set = "# Set by fettle (ssh-slow-login).\nUseDNS no\n"
	running := "-- units --\nssh.service loaded active running enabled\n"
	for _, c := range []struct {
		name, host string
		files      map[string]string // that are written
		was        map[string]bool   // that were there
		kinds      string
		refused    string
	}{
		{"in the main file", conf + "UseDNS yes\n" + running, map[string]string{main: "UsePAM yes\nUseDNS no\n"}, map[string]bool{main: true},
			"check file check unit", ""},
		{"with a folder", "-- root" + main + " --\n" + include + "UsePAM yes\nUseDNS yes\n" + running, map[string]string{dropIn: set}, nil,
			"check file check unit", ""},
		{"in a file that comes before",
			"-- root" + main + " --\n" + include + "UsePAM yes\n-- root" + site + "00-a.conf --\nusedns = yes\n" + running,
			map[string]string{site + "00-a.conf": "usedns = no\n"}, map[string]bool{site + "00-a.conf": true}, "check file check unit", ""},
		{"in one that comes after", "-- root" + main + " --\n" + include + "UsePAM yes\n-- root" + site + "10-a.conf --\nUseDNS yes\n" + running,
			map[string]string{dropIn: set}, nil, "check file check unit", ""},
		{"in fettle's own", "-- root" + main + " --\n" + include + "UsePAM yes\n-- root" + dropIn + " --\nUseDNS yes\n" + running,
			map[string]string{dropIn: "UseDNS no\n"}, map[string]bool{dropIn: true}, "check file check unit", ""},
		{"sshd does not run", conf + "UseDNS yes\n-- units --\nssh.service loaded inactive dead enabled\n",
			map[string]string{main: "UsePAM yes\nUseDNS no\n"}, map[string]bool{main: true}, "file", ""},
		{"no systemd", conf + "UseDNS yes\n-- -units --\n", nil, nil, "", "fettle cannot reload sshd"},
		{"a form that it does not change", conf + "UseDNS \"\"yes\n" + running, nil, nil, "", "is not of the form that fettle changes"},
		{"fettle's own file may not be read",
			"-- root" + main + " --\n" + include + "UsePAM yes\nUseDNS yes\n-- denied" + dropIn + " --\n" + running,
			nil, nil, "", "denied"},
	} {
		a := variant(t, c.host)
		p, err := plan(t.Context(), hostOf(t, a), trap.Finding{Subject: reverseDNS})
		if err != nil || c.refused != "" {
			if err == nil || c.refused == "" || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.name, err, c.refused)
			}
			continue
		}
		var kinds []string
		for _, s := range p.Steps {
			kinds = append(kinds, s.Kind())
			if f, ok := s.(step.File); ok {
				if want, ok := c.files[f.Path]; !ok || string(f.Content) != want || (f.Was != nil) != c.was[f.Path] {
					t.Errorf("%s: %s, that was %q, becomes %q", c.name, f.Path, f.Was, f.Content)
				}
			}
			if u, ok := s.(step.Unit); ok && (u.Name != "ssh.service" || u.Act != "reload") {
				t.Errorf("%s: %+v", c.name, u)
			}
		}
		if got := strings.Join(kinds, " "); got != c.kinds || !p.CutsConnection {
			t.Errorf("%s: steps %s, want %s; cuts the connection: %t", c.name, got, c.kinds, p.CutsConnection)
		}
	}
	some := variant(t, conf+"GSSAPIAuthentication yes\nMatch Address 192.0.2.1\n\tGSSAPIAuthentication yes\n\tX11Forwarding no\n"+running)
	p, err := plan(t.Context(), hostOf(t, some), trap.Finding{Subject: gssapi})
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := p.Steps[1].(step.File); !ok || string(f.Content) != "UsePAM yes\nGSSAPIAuthentication no\nMatch Address 192.0.2.1\n\t"+
		"GSSAPIAuthentication no\n\tX11Forwarding no\n" {
		t.Errorf("for some connections: %s", remedy.Text(p, remedy.TextOptions{Width: 100}))
	}
	required := variant(t, conf+"GSSAPIAuthentication yes\nAuthenticationMethods publickey,gssapi-with-mic\n"+running)
	if _, err := plan(t.Context(), hostOf(t, required), trap.Finding{Subject: gssapi}); err == nil ||
		!strings.Contains(err.Error(), "without it, all logins would fail") {
		t.Errorf("a method that is required: %v", err)
	}
	if _, err := plan(t.Context(), hostOf(t, required), trap.Finding{Subject: "x"}); err == nil {
		t.Error("a plan for what the check never says")
	}
}

// TestWhatFilesBecome: the other remedies change one thing of a file, whatever else is in it, or say why not.
func TestWhatFilesBecome(t *testing.T) {
	pam := func(lines string) string {
		return "-- root/etc/pam.d/sshd --\nauth required pam_unix.so\naccount required pam_unix.so\n" + lines
	}
	const pamFile = "/etc/pam.d/sshd"
	for _, c := range []struct{ name, host, subject, path, want, refused, note string }{
		{"bind_policy", "-- root/etc/ldap.conf --\nhost x\nbind_policy hard\nbase y\n", "nss:ldap", "/etc/ldap.conf",
			"host x\nbind_policy soft\nbase y\n", "", "no login waits"},
		{"bind_policy twice", "-- root/etc/ldap.conf --\nbind_policy hard\nbind_policy hard\n", "nss:ldap", "/etc/ldap.conf",
			"bind_policy hard\nbind_policy soft\n", "", ""},
		{"no bind_policy", "-- raw/etc/nss_ldap.conf --\n\"host x\"\n-- root/etc/ldap.conf --\n", "nss:ldap", "/etc/nss_ldap.conf",
			"host x\nbind_policy soft\n", "", ""},
		{"an empty file", "-- root/etc/ldap.conf --\n", "nss:ldap", "/etc/ldap.conf", "bind_policy soft\n", "", ""},
		{"no file", "", "nss:ldap", "", "", "nss_ldap's configuration no longer exists", ""},
		{"a denied file", "-- denied/etc/libnss-ldap.conf --\n-- root/etc/ldap.conf --\n", "nss:ldap", "", "", "denied", ""},
		{"a source", "-- root/etc/nsswitch.conf --\npasswd: files\nhosts: files mdns4 dns\n", "nss:mdns4", "/etc/nsswitch.conf",
			"passwd: files\nhosts: files dns\n", "", "Names under .local"},
		{"a source of names", "-- root/etc/nsswitch.conf --\nhosts: files wins dns\n", "nss:wins", "/etc/nsswitch.conf", "hosts: files dns\n", "",
			"With glibc 2.33"},
		{"the only source", "-- root/etc/nsswitch.conf --\nhosts: wins\n", "nss:wins", "", "", "the line hosts would be empty without wins", ""},
		{"a module", pam("session optional pam_ck_connector.so\nsession required pam_unix.so\n"), "pam:pam_ck_connector", pamFile,
			"auth required pam_unix.so\naccount required pam_unix.so\n#session optional pam_ck_connector.so\nsession required pam_unix.so\n", "",
			"PAM reads its files at each login"},
		{"a module twice", pam("session optional pam_ck_connector.so\nsession optional pam_ck_connector.so x\n"), "pam:pam_ck_connector", pamFile,
			"auth required pam_unix.so\naccount required pam_unix.so\n#session optional pam_ck_connector.so\n#session optional " +
				"pam_ck_connector.so x\n", "", ""},
		{"pam-auth-update", pam("# by pam-auth-update\nsession optional pam_ck_connector.so\n"), "pam:pam_ck_connector", pamFile,
			"auth required pam_unix.so\naccount required pam_unix.so\n# by pam-auth-update\n#session optional pam_ck_connector.so\n", "",
			"pam-auth-update keeps " + pamFile},
		{"authselect", pam("# Generated by authselect\nsession optional pam_ck_connector.so\n"), "pam:pam_ck_connector", "", "",
			"authselect writes " + pamFile, ""},
		{"a required module", pam("session required pam_ck_connector.so\n"), "pam:pam_ck_connector", "", "",
			"pam_ck_connector.so is required in session: remove it by hand", ""},
		{"a jump", pam("session [success=1 default=ignore] pam_unix.so\nsession optional pam_ck_connector.so\nsession required pam_unix.so\n"),
			"pam:pam_ck_connector", "", "", "remove pam_ck_connector.so by hand, and adjust the count", ""},
		{"two lines", pam("session optional pam_ck_connector.so \\\n x\n"), "pam:pam_ck_connector", "", "",
			pamFile + ":3 continues on the next line", ""},
		{"a module that is gone", "", "pam:pam_ck_connector", "", "", "pam_ck_connector is no longer among sshd's session modules", ""},
		{"a script that is gone", "", "pam:pam_motd", "", "", "the script no longer exists", ""},
	} {
		p, err := plan(t.Context(), hostOf(t, variant(t, c.host)), trap.Finding{Subject: c.subject})
		if err != nil || c.refused != "" {
			if err == nil || c.refused == "" || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.name, err, c.refused)
			}
			continue
		}
		f, ok := p.Steps[0].(step.File)
		if !ok || len(p.Steps) != 1 || f.Path != c.path || string(f.Content) != c.want || f.Was == nil || !p.CutsConnection {
			t.Errorf("%s: %s\nwant %s as %q", c.name, remedy.Text(p, remedy.TextOptions{Width: 100}), c.path, c.want)
		}
		if c.note != "" && !strings.Contains(strings.Join(p.Notes, "\n"), c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, p.Notes, c.note)
		}
	}
}
