package sshlogin

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/format/pam"
	"fettle/host/hosttest"
)

const base1 = `
-- root/etc/pam.d/common-auth --
auth	[success=1 default=ignore]	pam_unix.so nullok
auth	requisite			pam_deny.so
auth	required			pam_permit.so
-- root/etc/pam.d/common-account --
account	[success=1 new_authtok_reqd=done default=ignore]	pam_unix.so
account	requisite			pam_deny.so
account	required			pam_permit.so
-- root/etc/passwd --
root:x:0:0:root:/root:/bin/bash
alice:x:1000:100:in the group, with a file:/home/alice:/bin/bash
bob:x:1001:100:in the group, without one:/home/bob:/bin/bash
carol:x:1002:100:outside:/home/carol:/bin/bash
dave:x:1003:100:in the group, mode 0644:/home/dave:/bin/bash
-- root/etc/group --
root:x:0:
users:x:100:
totp:x:200:alice,bob,dave
-- stat/home/alice/.google_authenticator --
mode 400 uid 1000 size 100
-- stat/home/dave/.google_authenticator --
mode 644 uid 1003 size 100
-- stat/home/alice --
mode 700 uid 1000 type dir
-- root/var/lib/dpkg/status --
Package: openssh-server
Status: install ok installed
Version: 1:9.2p1-2

`

const stackNote = `-- root/etc/pam.d/sshd --
@include common-auth
auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup totp
auth required pam_google_authenticator.so nullok
@include common-account
`

func TestFor(t *testing.T) {
	for name, c := range map[string]struct {
		sshd, pam string
		want      map[string]string
	}{
		"both methods, the note's stack": {"UsePAM yes\n", stackNote, map[string]string{
			"alice": "key, or password+code", "bob": "key, or password", "carol": "key, or password", "dave": "key", "root": "key"}},
		"dialog off": {"UsePAM yes\nKbdInteractiveAuthentication no\n", stackNote, map[string]string{
			"alice": "key", "bob": "key, or password", "dave": "key"}},
		"key and code": {"UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive\n", stackNote, map[string]string{
			"alice": "key+password+code", "bob": "key+password", "root": "nothing lets in"}},
		"key and code, stack without password": {"UsePAM yes\nPasswordAuthentication " +
			"no\nAuthenticationMethods publickey,keyboard-interactive:pam\n",
			strings.Replace(stackNote, "@include common-auth\n", "", 1) + "auth required pam_permit.so\n", map[string]string{
				"alice": "key+code", "bob": "key", "carol": "key", "dave": "nothing lets in"}},
		"impossible chain": {"UsePAM yes\nKbdInteractiveAuthentication " +
			"no\nAuthenticationMethods publickey,keyboard-interactive\n", stackNote, map[string]string{
			"alice": "nothing lets in", "carol": "nothing lets in"}},
		"Match by group": {"UsePAM yes\nPasswordAuthentication no\nMatch Group " +
			"totp\nAuthenticationMethods publickey,keyboard-interactive\n", stackNote, map[string]string{
			"alice": "key+password+code", "carol": "key, or password"}},
		"no PAM": {"UsePAM no\n", stackNote, map[string]string{"alice": "key, or password", "root": "key"}},
		"denied": {"UsePAM yes\nAllowGroups totp root\nDenyUsers b*\nPermitRootLogin no\n", stackNote, map[string]string{
			"carol": "never: /etc/ssh/sshd_config:2 (allowgroups totp root)", "bob": "never: /etc/ssh/sshd_config:3 (denyusers b*)",
			"root": "never: /etc/ssh/sshd_config:4 (permitrootlogin no)", "alice": "key, or password+code"}},
		"only some users": {"UsePAM yes\nAllowUsers alice dave@10.0.0.0/8\n", stackNote, map[string]string{
			"alice": "key, or password+code", "dave": "key", "bob": "never: /etc/ssh/sshd_config:2 (allowusers alice dave@10.0.0.0/8)"}},
		"not one group": {"UsePAM yes\nDenyGroups totp\n", stackNote, map[string]string{
			"alice": "never: /etc/ssh/sshd_config:2 (denygroups totp)", "carol": "key, or password"}},
		"from one network without": {"UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive\nMatch Address " +
			"10.0.0.0/8,!10.9.9.9\nAuthenticationMethods publickey\n", stackNote, map[string]string{
			"alice": "key+password+code | from 10.0.0.0/8,!10.9.9.9: key"}},
		"from a host": {"UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive\nMatch Host " +
			"*.lan\nAuthenticationMethods publickey\n",
			stackNote, map[string]string{"alice": "key+password+code | from *.lan: key"}},
		"from a network and a host": {"UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive\nMatch Host *.lan Address " +
			"10.0.0.0/8\nAuthenticationMethods publickey\n",
			stackNote, map[string]string{"alice": "key+password+code | from 10.0.0.0/8 *.lan: key"}},
		"from networks that overlap": {"UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive\nMatch Address 10.0.0.0/8\n" +
			"AuthenticationMethods publickey\nMatch Address 10.0.0.0/16\nPubkeyAuthentication no\n",
			stackNote, map[string]string{"alice": "key+password+code | from 10.0.0.0: nothing lets in"}},
		"of origins, those that differ": {"UsePAM yes\nMatch Address 10.0.0.0/8\nPasswordAuthentication yes\nMatch Address 10.0.0.0/8\n" +
			"KbdInteractiveAuthentication yes\nMatch Address 192.168.?.1 User alice\nKbdInteractiveAuthentication no\nMatch Address " +
			"192.168.?.1\n" +
			"PasswordAuthentication yes\nMatch Address !10.9.9.9,172.16.0.1\nPubkeyAuthentication no\n", stackNote, map[string]string{
			"alice": "key, or password+code | from 192.168.?.1: key | from !10.9.9.9,172.16.0.1: password+code",
			"carol": "key, or password | from !10.9.9.9,172.16.0.1: password"}},
		"a Match about what decides nothing": {"UsePAM yes\nMatch Address 10.0.0.1\nX11Forwarding no\n", stackNote,
			map[string]string{"alice": "key, or password+code"}},
		"a group by a pattern": {"UsePAM yes\nAllowGroups to*\n", stackNote,
			map[string]string{"alice": "key, or password+code", "carol": "never: /etc/ssh/sshd_config:2 (allowgroups to*)"}},
		"root by force": {"UsePAM yes\nPermitRootLogin forced-commands-only\n", stackNote,
			map[string]string{"root": "nothing lets in"}},
		"root by password": {"UsePAM yes\nPermitRootLogin yes\n", stackNote, map[string]string{"root": "key, or password"}},
		"what cannot be foreseen": {"UsePAM yes\n", stackNote + "account required pam_duo.so\n", map[string]string{
			"carol": "perhaps key, or perhaps password"}},
		"only the password depends": {"UsePAM yes\n", strings.Replace(stackNote, "@include common-account", "auth required pam_duo.so\n"+
			"@include common-account", 1), map[string]string{"carol": "key, or perhaps password"}},
		"gssapi skips it": {"UsePAM yes\nGSSAPIAuthentication yes\n", stackNote,
			map[string]string{"alice": "key, or password+code, or gssapi-with-mic"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.New(t, base1+c.pam+"-- root/etc/ssh/sshd_config --\n"+c.sshd)
			l, err := Read(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			for user, want := range c.want {
				u, _ := l.DB.User(user)
				var got []string
				for _, a := range l.For(pam.UserOf(l.DB, u)) {
					s := a.Words()
					if a.From != "" {
						s = "from " + a.From + ": " + s
					}
					got = append(got, s)
				}
				if s := strings.Join(got, " | "); s != want {
					t.Errorf("%s: got %q, want %q", user, s, want)
				}
			}
		})
	}
}

func TestNoSshd(t *testing.T) {
	if _, err := Read(t.Context(), hosttest.New(t, base1)); !host.IsAbsent(err) {
		t.Errorf("%v", err)
	}
}

// TestAccess: what else is told of one user: whether PAM asks for a code and could, what is the best way without one, and which
// line refuses.
func TestAccess(t *testing.T) {
	for name, c := range map[string]struct{ sshd, pam, user, want string }{
		"asked": {"UsePAM yes\n", stackNote, "alice", "asked wanted yes without a code by key"},
		"a file that is refused": {"UsePAM yes\n", stackNote, "dave",
			"wanted yes without a code by key: /etc/pam.d/sshd:3 pam_google_authenticator"},
		"outside":             {"UsePAM yes\n", stackNote, "carol", "yes without a code by key"},
		"no dialog to ask in": {"UsePAM yes\nKbdInteractiveAuthentication no\n", stackNote, "alice", "wanted yes without a code by key"},
		"no PAM":              {"UsePAM no\n", stackNote, "alice", "wanted yes without a code by key"},
		"no file yet":         {"UsePAM yes\n", stackNote, "bob", "wanted yes without a code by key"},
		"never without": {"UsePAM yes\nAuthenticationMethods keyboard-interactive\n", stackNote, "alice",
			"asked wanted no without a code by nothing"},
		"password alone": {"UsePAM yes\nPubkeyAuthentication no\n", stackNote, "carol", "yes without a code by password"},
		"perhaps": {"UsePAM yes\nPubkeyAuthentication no\n",
			"-- root/etc/pam.d/sshd --\nauth required pam_duo.so\naccount required pam_permit.so\n", "carol",
			"depends without a code by nothing: /etc/pam.d/sshd:1 pam_duo"},
		"the account's stack refuses": {"UsePAM yes\n", strings.Replace(stackNote, "@include common-account",
			"account required pam_deny.so", 1), "carol", "no without a code by nothing: /etc/pam.d/sshd:4 pam_deny"},
		"asks before it is the user's": {"UsePAM yes\n",
			"-- root/etc/pam.d/sshd --\nauth sufficient pam_unix.so\nauth required pam_google_authenticator.so\naccount required " +
				"pam_permit.so\n", "carol", "wanted yes without a code by key"},
	} {
		h := hosttest.New(t, base1+c.pam+"-- root/etc/ssh/sshd_config --\n"+c.sshd)
		l, err := Read(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		u, _ := l.DB.User(c.user)
		a := l.For(pam.UserOf(l.DB, u))[0]
		var got []string
		if a.Asked {
			got = append(got, "asked")
		}
		if a.Wanted {
			got = append(got, "wanted")
		}
		v, by := a.WithoutCode()
		s := strings.Join(append(got, fmt.Sprintf("%s without a code by %s", v, by)), " ")
		if a.Why != "" {
			s += ": " + a.Why
		}
		if s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// TestUnread: what could not be read is no configuration.
func TestUnread(t *testing.T) {
	text := base1 + stackNote + "-- root/etc/ssh/sshd_config --\nUsePAM yes\n"
	for _, refused := range []string{"/etc/ssh/sshd_config", "/etc/pam.d/sshd", "/etc/passwd"} {
		name := strings.ReplaceAll(text, "-- root"+refused+" --", "-- denied"+refused+" --\n-- root/elsewhere"+refused+" --")
		if l, err := Read(t.Context(), hosttest.New(t, name)); err == nil {
			t.Errorf("%s is refused: %+v", refused, l)
		}
	}
}

// TestUnknownDefault: sshd before 7.0 let root in with a password, and without its version nobody knows.
func TestUnknownDefault(t *testing.T) {
	text := strings.Replace(base1, "Version: 1:9.2p1-2", "", 1)
	text = strings.Replace(text, "Package: openssh-server", "Package: other", 1)
	l, err := Read(t.Context(), hosttest.New(t, text+stackNote+"-- root/etc/ssh/sshd_config --\nUsePAM yes\n"))
	if err != nil {
		t.Fatal(err)
	}
	u, _ := l.DB.User("root")
	a := l.For(pam.UserOf(l.DB, u))[0]
	if got := a.Words() + "; " + strings.Join(a.Depends,
		", "); got != "key, or perhaps password; PermitRootLogin (its default depends on sshd's version)" {
		t.Error(got)
	}
}

// BenchmarkHost: 1,000 users of a host, from accounts to what each gets in with.
func BenchmarkHost(b *testing.B) {
	var pw strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&pw, "u%d:x:%d:100::/home/u%d:/bin/bash\n", i, 2000+i, i)
	}
	text := strings.Replace(
		base1,
		"-- root/etc/group --",
		pw.String()+"-- root/etc/group --",
		1,
	) + stackNote + "-- root/etc/ssh/sshd_config --\nUsePAM yes\n"
	l, err := Read(b.Context(), hosttest.New(b, text))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, u := range l.DB.Users {
			l.For(pam.UserOf(l.DB, u))
		}
	}
}
