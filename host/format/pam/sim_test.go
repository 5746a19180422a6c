package pam

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/format/accounts"
	"fettle/host/hosttest"
)

const debianAuth = `auth	[success=1 default=ignore]	pam_unix.so nullok
auth	requisite			pam_deny.so
auth	required			pam_permit.so
auth	optional			pam_cap.so
`

const redhatAuth = `auth        required      pam_env.so
auth        required      pam_faildelay.so delay=2000000
auth        [default=1 ignore=ignore success=ok] pam_usertype.so isregular
auth        [default=1 ignore=ignore success=ok] pam_localuser.so
auth        sufficient    pam_unix.so nullok
auth        [default=1 ignore=ignore success=ok] pam_usertype.so isregular
auth        sufficient    pam_sss.so forward_pass
auth        required      pam_deny.so
`

const (
	groupLimit = "auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup totp\n"
	strict     = "auth required pam_google_authenticator.so\n"
	nullok     = "auth required pam_google_authenticator.so nullok\n"
)

// people: in the group with and without a file, outside it, from a directory.
var people = map[string]struct {
	User
	file FileState
}{
	"with":      {User{Name: "with", UID: 1000, Home: "/home/with", Groups: []string{"with", "totp"}, Local: true}, FileUsable},
	"without":   {User{Name: "without", UID: 1001, Home: "/home/without", Groups: []string{"totp"}, Local: true}, FileAbsent},
	"refused":   {User{Name: "refused", UID: 1002, Home: "/home/refused", Groups: []string{"totp"}, Local: true}, FileRefused},
	"unseen":    {User{Name: "unseen", UID: 1003, Home: "/home/unseen", Groups: []string{"totp"}, Local: true}, FileUnknown},
	"outside":   {User{Name: "outside", UID: 1004, Home: "/home/outside", Groups: []string{"users"}, Local: true}, FileAbsent},
	"directory": {User{Name: "directory", UID: 2000, Home: "/home/directory", Groups: []string{"totp"}}, FileUsable},
}

func simOf(t testing.TB, auth string) *Sim {
	t.Helper()
	c, err := Parse(
		"sshd",
		files(map[string]string{"sshd": auth + "account required pam_permit.so\n", "password-auth": redhatAuth, "common-auth": debianAuth}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return &Sim{Config: c, Texts: map[string]Text{
		"/list":   {Content: "with\noutside\n"},
		"/access": {Content: "# who\n+ : (totp) : 10.0.0.0/8\n+ : outside : ALL\n- : ALL : ALL\n"},
	}, File: func(_ *Rule, u *User) FileState { return people[u.Name].file }}
}

// Each line: what password alone, code alone, and both bring, in a dialog;
// then what one text brings at its best, password alone and both.
func TestAsk(t *testing.T) {
	for _, c := range []struct{ name, auth, user, want string }{
		{"the note's own", "@include common-auth\n" + groupLimit + nullok, "with", "no no yes | no no"},
		{"the note's own", "@include common-auth\n" + groupLimit + nullok, "without", "yes no yes | yes yes"},
		{"the note's own", "@include common-auth\n" + groupLimit + nullok, "outside", "yes no yes | yes yes"},
		{"the note's own", "@include common-auth\n" + groupLimit + nullok, "refused", "no no no | no no"},
		{"the note's own", "@include common-auth\n" + groupLimit + nullok, "unseen", "depends no depends | depends depends"},
		{"strict", "@include common-auth\n" + groupLimit + strict, "without", "no no no | no no"},
		{"strict", "@include common-auth\n" + groupLimit + strict, "outside", "yes no yes | yes yes"},
		{"jump past the end", "@include common-auth\n" + strings.Replace(groupLimit, "success=1", "success=2", 1) + nullok, "outside",
			"no no no | no no"},
		{"the code instead of the password, nullok, nothing after", nullok, "without", "no no no | no no"},
		{"the code instead of the password, nullok, nothing after", nullok, "with", "no yes yes | no yes"},
		{"the same with permit after it", nullok + "auth required pam_permit.so\n", "without", "yes yes yes | yes yes"},
		{"sufficient code", "auth sufficient pam_google_authenticator.so nullok\n@include common-auth\n", "with", "yes yes yes | yes yes"},
		{"sufficient code", "auth sufficient pam_google_authenticator.so nullok\n@include common-auth\n", "without", "yes no yes | yes yes"},
		{"sufficient password first", "auth sufficient pam_unix.so\n" + strict, "with", "yes yes yes | yes yes"},
		{"code in the password's line", "auth required pam_google_authenticator.so " +
			"forward_pass\nauth required pam_unix.so use_first_pass\n", "with", "no no yes | no yes"},
		{"the password's line, first to ask", "auth required pam_unix.so try_first_pass\n", "without", "yes no yes | yes yes"},
		{"the password's line, nobody asked", "auth required pam_unix.so use_first_pass\n", "without", "no no no | no no"},
		{"code after the password, in one text", "auth required pam_unix.so\nauth required " +
			"pam_google_authenticator.so use_first_pass\n", "with", "no no no | no no"},
		{"Red Hat's", "auth substack password-auth\n" + groupLimit + nullok, "with", "no no yes | no no"},
		{"Red Hat's", "auth substack password-auth\n" + groupLimit + nullok, "outside", "yes no yes | yes yes"},
		{"Red Hat's", "auth substack password-auth\n" + groupLimit + nullok, "directory", "no no yes | no no"},
		{"Red Hat's with include: sufficient ends it", "auth include password-auth\n" + strict, "with", "yes no yes | yes yes"},
		{"visible question", "auth required pam_google_authenticator.so echo_verification_code\n", "with", "no yes yes | no no"},
		{"unknown option", "@include common-auth\nauth required pam_google_authenticator.so nulok\n", "with", "no no no | no no"},
		{"unknown module, required", "@include common-auth\nauth required pam_duo.so\n", "with", "depends no depends | depends depends"},
		{"unknown module, optional", "@include common-auth\nauth optional pam_duo.so\n", "with", "yes no yes | yes yes"},
		{"list", "@include common-auth\nauth [success=1 default=ignore] " +
			"pam_listfile.so item=user sense=deny file=/list onerr=fail\n" + strict, "outside", "no no no | no no"},
		{"list", "@include common-auth\nauth [success=1 default=ignore] " +
			"pam_listfile.so item=user sense=deny file=/list onerr=fail\n" + strict, "without", "yes no yes | yes yes"},
		{"access by address", "@include common-auth\nauth [success=1 " +
			"default=ignore] pam_access.so accessfile=/access\n" + strict, "with", "depends no yes | depends depends"},
		{"access by name", "@include common-auth\nauth [success=1 " +
			"default=ignore] pam_access.so accessfile=/access\n" + strict, "outside", "yes no yes | yes yes"},
		{"uid", "auth required pam_succeed_if.so uid >= 1001 quiet_success\n", "with", "no no no | no no"},
		{"uid", "auth required pam_succeed_if.so uid >= 1001 quiet_success\n", "without", "yes yes yes | yes yes"},
		{"incomplete condition", "auth required pam_succeed_if.so uid >=\n", "with", "no no no | no no"},
		{"uid in octal is no number", "auth required pam_succeed_if.so uid >= 08\n", "with", "no no no | no no"},
	} {
		t.Run(c.name+"/"+c.user, func(t *testing.T) {
			s, p := simOf(t, c.auth), people[c.user]
			ask := func(g Give, talk Talk) Verdict { return s.Ask(Auth, &p.User, g, talk).Verdict() }
			both := Give{true, true}
			got := fmt.Sprintf("%s %s %s | %s %s", ask(Give{Password: true}, Dialog), ask(Give{Code: true}, Dialog), ask(both, Dialog),
				ask(Give{Password: true}, OneText), ask(both, OneText))
			if got != c.want {
				t.Errorf("got %s, want %s\n%s", got, c.want, c.auth)
			}
		})
	}
}

func TestDepends(t *testing.T) {
	p := people["with"]
	a := simOf(
		t,
		"@include common-auth\nauth optional pam_gnome.so\nauth required pam_duo.so\n",
	).Ask(Auth, &p.User, Give{Password: true}, Dialog)
	if got := strings.Join(a.Depends, ", "); got != "/etc/pam.d/sshd:3 pam_duo" {
		t.Errorf("depends on %q", got)
	}
	a = simOf(t, "@include common-auth\n"+groupLimit+nullok).Ask(Auth, &p.User, Give{Password: true}, Dialog)
	if a.Why != "/etc/pam.d/sshd:3 pam_google_authenticator" || !a.AsksCode {
		t.Errorf("refused by %q, asks for a code: %v", a.Why, a.AsksCode)
	}
	// A stack in which everything is unknown stays bounded.
	many := simOf(t, strings.Repeat("auth [success=1 ignore=2 default=ok] pam_x.so\n", 300)).Ask(Auth, &p.User, Give{}, Dialog)
	if many.Verdict() != Depends {
		t.Error(many.Verdict())
	}
}

// TestNewSim reads what lines refer to.
func TestNewSim(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/pam.d/sshd --
auth required pam_gone.so
auth required pam_listfile.so item=user sense=allow file=/etc/list
auth required pam_cap.so
-- root/usr/lib/x86_64-linux-gnu/security/pam_listfile.so --
-- root/usr/lib/x86_64-linux-gnu/security/pam_cap.so --
-- root/etc/list --
alice
-- stat/etc/list --
mode 666
-- root/etc/security/capability.conf --
# comment
none  *
-- root/etc/passwd --
alice:x:1000:100::/home/alice:/bin/bash
-- root/etc/group --
users:x:100:
totp:x:200:bob,alice
`)
	c, err := Read(t.Context(), h, "sshd")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSim(t.Context(), h, c)
	if !s.Missing["pam_gone.so"] || s.Missing["pam_listfile.so"] || s.Texts[capConf].Content == "" || !s.Texts["/etc/list"].Unsafe {
		t.Errorf("%+v", s)
	}
	db, err := accounts.Read(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	u := UserOf(db, db.Users[0])
	if got := fmt.Sprint(u.Groups); got != "[users totp]" {
		t.Error(got)
	}
	a := s.Ask(Auth, u, Give{Password: true}, Dialog)
	if a.Verdict() != No || a.Why != "/etc/pam.d/sshd:1 pam_gone" || a.Codes[0] != ModuleUnknown {
		t.Errorf("%+v", a)
	}
}

// BenchmarkThousandUsers asks what each of 1,000 users gets in with: password,
// code and both, in a dialog and in one text.
func BenchmarkThousandUsers(b *testing.B) {
	s := simOf(b, "@include common-auth\n"+groupLimit+nullok)
	s.File = func(_ *Rule, u *User) FileState { return FileState(u.UID % 4) }
	users := make([]User, 1000)
	for i := range users {
		users[i] = User{
			Name:   fmt.Sprint("u", i),
			UID:    uint32(1000 + i),
			Home:   "/home/x",
			Groups: []string{"users", []string{"totp", "staff"}[i%2]},
			Local:  true,
		}
	}
	for b.Loop() {
		for i := range users {
			for _, talk := range []Talk{Dialog, OneText} {
				for _, g := range []Give{{}, {Password: true}, {Code: true}, {true, true}} {
					s.Ask(Auth, &users[i], g, talk)
				}
			}
		}
	}
}
