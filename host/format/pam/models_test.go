package pam

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/format/accounts"
	"fettle/host/hosttest"
)

// TestModels: the codes of one module alone, for a user of its own group, one of the system, root and nobody.
func TestModels(t *testing.T) {
	users := map[string]*User{
		"root": {Name: "root", Home: "/root", Shell: "/bin/bash", Groups: []string{"root"}, Local: true},
		"jane": {Name: "jane", UID: 1000, GID: 100, Home: "/home/jane", Shell: "/bin/sh", Groups: []string{"users", "totp"},
			Local: true},
		"svc": {Name: "svc", UID: 999, GID: 999, Home: "/srv", Shell: "/bin/odd", Groups: []string{"svcs"}, Local: true},
		"nobody": {Name: "nobody", UID: accounts.Nobody, GID: 65534, Home: "/", Shell: "/bin/false", Groups: []string{"nogroup"},
			Local: true},
		"remote": {Name: "remote", UID: 5000, Shell: "/bin/sh", Groups: []string{"users"}},
	}
	for line, want := range map[string]string{
		"pam_nologin.so":                                              "root=ignore jane=ignore",
		"pam_nologin.so successok":                                    "root=success jane=success",
		"closed pam_nologin.so":                                       "root=ignore jane=auth_err",
		"closed pam_nologin.so successok":                             "root=success jane=auth_err",
		"pam_localuser.so":                                            "jane=success remote=perm_denied",
		"pam_wheel.so root_only":                                      "jane=ignore root=?",
		"pam_wheel.so":                                                "jane=? root=?",
		"pam_faillock.so authfail":                                    "jane=ignore",
		"pam_faillock.so preauth":                                     "jane=success",
		"account pam_faillock.so authfail":                            "jane=success",
		"account pam_unix.so":                                         "jane=success remote=?",
		"account pam_sss.so":                                          "jane=user_unknown remote=success",
		"account pam_krb5.so":                                         "jane=? remote=success",
		"account pam_env.so":                                          "jane=service_err",
		"pam_env.so":                                                  "jane=ignore",
		"pam_shells.so":                                               "jane=? root=?",
		"shells pam_shells.so":                                        "jane=success svc=auth_err",
		"pam_usertype.so isregular":                                   "root=auth_err svc=auth_err jane=success nobody=auth_err",
		"pam_usertype.so issystem":                                    "root=success svc=success jane=auth_err nobody=success",
		"pam_usertype.so":                                             "jane=service_err",
		"pam_usertype.so use_uid isregular":                           "jane=auth_err",
		"pam_usertype.so use_uid":                                     "jane=success",
		"pam_securetty.so":                                            "jane=success root=?",
		"pam_cap.so":                                                  "jane=ignore",
		"pam_cap.so config=/cap":                                      "jane=success svc=success root=success nobody=ignore",
		"pam_cap.so config=/capall":                                   "jane=success nobody=success",
		"pam_cap.so config=/unread":                                   "jane=?",
		"pam_succeed_if.so":                                           "jane=success",
		"pam_succeed_if.so user = jane":                               "jane=success svc=auth_err",
		"pam_succeed_if.so LOGIN != jane":                             "jane=auth_err svc=success",
		"pam_succeed_if.so user in bob:jane":                          "jane=success svc=auth_err",
		"pam_succeed_if.so user notin bob:jane":                       "jane=auth_err svc=success",
		"pam_succeed_if.so home =~ /home/*":                           "jane=success svc=auth_err",
		"pam_succeed_if.so dir !~ /*e":                                "jane=auth_err svc=success",
		"pam_succeed_if.so shell glob [":                              "jane=auth_err",
		"pam_succeed_if.so user ingroup totp":                         "jane=success svc=auth_err",
		"pam_succeed_if.so user notingroup totp":                      "jane=auth_err svc=success",
		"pam_succeed_if.so uid < 1000":                                "svc=success jane=auth_err remote=auth_err",
		"pam_succeed_if.so uid lt 1000":                               "svc=success jane=auth_err remote=auth_err",
		"pam_succeed_if.so uid <= 1000":                               "svc=success jane=success remote=auth_err",
		"pam_succeed_if.so uid le 1000":                               "svc=success jane=success remote=auth_err",
		"pam_succeed_if.so uid > 1000":                                "svc=auth_err jane=auth_err remote=success",
		"pam_succeed_if.so uid gt 1000":                               "svc=auth_err jane=auth_err remote=success",
		"pam_succeed_if.so uid >= 1000":                               "svc=auth_err jane=success remote=success",
		"pam_succeed_if.so uid GE 0x3e8":                              "svc=auth_err jane=success remote=success",
		"pam_succeed_if.so uid eq 1000":                               "svc=auth_err jane=success",
		"pam_succeed_if.so gid ne 100":                                "svc=success jane=auth_err",
		"pam_succeed_if.so uid ne x":                                  "jane=service_err",
		"pam_succeed_if.so user gt 5":                                 "jane=service_err",
		"pam_succeed_if.so uid near 5":                                "jane=service_err",
		"pam_succeed_if.so colour = red":                              "jane=service_err",
		"pam_succeed_if.so rhost = a":                                 "jane=?",
		"pam_succeed_if.so user innetgr a":                            "jane=?",
		"pam_succeed_if.so service = sshd":                            "jane=success",
		"pam_succeed_if.so use_uid user = root":                       "jane=success",
		"pam_succeed_if.so uid > 5 user = x":                          "jane=auth_err",
		"pam_succeed_if.so uid > 5 user":                              "jane=service_err",
		"pam_listfile.so item=user sense=allow":                       "jane=service_err",
		"pam_listfile.so onerr=succeed":                               "jane=success",
		"pam_listfile.so item=user file=/list":                        "jane=service_err",
		"pam_listfile.so " + listed("user", "allow"):                  "jane=success svc=auth_err",
		"pam_listfile.so " + listed("user", "deny"):                   "jane=auth_err svc=success",
		"pam_listfile.so " + listed("group", "allow"):                 "jane=auth_err svc=success",
		"pam_listfile.so " + listed("shell", "allow"):                 "jane=auth_err svc=success",
		"pam_listfile.so " + listed("colour", "deny"):                 "jane=service_err",
		"pam_listfile.so " + listed("tty", "deny"):                    "jane=?",
		"pam_listfile.so " + listed("rhost", "deny"):                  "jane=?",
		"pam_listfile.so " + listed("ruser", "deny"):                  "jane=?",
		"pam_listfile.so " + listed("tty", "deny") + " apply=jane":    "jane=? svc=ignore",
		"pam_listfile.so " + listed("rhost", "deny") + " apply=@totp": "jane=? svc=ignore",
		"pam_listfile.so " + listed("rhost", "deny") + " apply=@svcs": "jane=ignore svc=?",
		"pam_listfile.so " + listed("user", "allow") + " apply=svc":   "jane=success svc=auth_err",
		"pam_listfile.so " + listed("shell", "allow") + " apply=jane": "jane=auth_err svc=success",
		"pam_listfile.so " + listed("group", "allow") + " apply=jane": "jane=auth_err svc=success",
		"pam_listfile.so " + listed("ruser", "allow") + " apply=svc":  "jane=?",
		"pam_listfile.so " + listed("tty", "allow") + " apply=":       "jane=service_err",
		"pam_listfile.so item=user sense=allow file=/open":            "jane=auth_err",
		"pam_listfile.so item=user sense=allow file=/none":            "jane=service_err",
		"pam_listfile.so item=user sense=allow file=/unread":          "jane=?",
		"pam_access.so":                                               "jane=?",
		"pam_access.so accessfile=/unread":                            "jane=?",
		"pam_access.so accessfile=/access":                            "jane=success svc=perm_denied root=success nobody=perm_denied",
		"pam_access.so accessfile=/access nodefgroup":                 "jane=perm_denied root=success",
		"pam_access.so accessfile=/bars fieldsep=|":                   "jane=perm_denied svc=success",
		"pam_access.so accessfile=/bars":                              "jane=success svc=success",
		"pam_access.so accessfile=/netgroup":                          "jane=? svc=?",
		"pam_access.so accessfile=/except":                            "jane=perm_denied svc=success nobody=success",
		"pam_access.so accessfile=/exceptnet":                         "jane=? svc=?",
		"pam_access.so accessfile=/netexcept":                         "svc=?",
		"pam_access.so accessfile=/comments fieldsep=":                "jane=perm_denied",
		"pam_permit.so":                                               "jane=success",
		"pam_deny.so":                                                 "jane=auth_err",
		"pam_rootok.so":                                               "jane=success",
		"pam_unheard_of.so":                                           "jane=?",
	} {
		facility := Auth
		spec := line
		if rest, ok := strings.CutPrefix(spec, "account "); ok {
			facility, spec = Account, rest
		}
		nologin := strings.HasPrefix(spec, "closed ")
		shells := strings.HasPrefix(spec, "shells ")
		spec = spec[strings.Index(spec, "pam_"):]
		// With default=ok the stack's code is the module's; "ignore" leaves none.
		c, err := Parse("sshd", files(map[string]string{"sshd": fmt.Sprintf("auth [default=ok] %s\naccount [default=ok] %s\n", spec,
			spec)}))
		if err != nil {
			t.Fatal(err)
		}
		s := &Sim{Config: c, Nologin: nologin, RootGroups: []string{"root"}, Texts: map[string]Text{
			"/list": {Content: "jane\r\nsvcs\n\n/bin/odd\n"}, "/open": {Content: "jane\n", Unsafe: true}, "/none": {Absent: true},
			"/unread": {Unread: true}, "/etc/security/access.conf": {Absent: true},
			"/cap":       {Content: "cap_net_raw jane # svc\n# all *\ncap_x root @svcs\nnobody\n"},
			"/capall":    {Content: "none *\n"},
			"/access":    {Content: "\n#-:ALL:ALL\n- : jane\n+ : root users : ALL\n- : ALL : ALL\n"},
			"/bars":      {Content: "-|jane|ALL\n+|ALL|ALL\n"},
			"/netgroup":  {Content: "+ : @admins : ALL\n- : ALL : ALL\n"},
			"/except":    {Content: "+ : ALL EXCEPT jane root : ALL\n- : ALL : ALL\n"},
			"/exceptnet": {Content: "+ : ALL EXCEPT @admins : ALL\n- : ALL : ALL\n"},
			"/netexcept": {Content: "+ : @admins EXCEPT jane : ALL\n- : ALL : ALL\n"},
			"/comments":  {Content: "- : jane : ALL\n"}}}
		if shells {
			s.Shells = []string{"/bin/sh", "/bin/bash"}
		}
		for pair := range strings.FieldsSeq(want) {
			name, code, _ := strings.Cut(pair, "=")
			rules, _ := c.Stack(facility)
			w := walker{sim: s, rules: rules, user: users[name], facility: facility}
			outs := w.module(&rules[0], "")
			got := outs[0].code.String()
			if len(outs) > 1 {
				got = "?"
			}
			if got != code {
				t.Errorf("%s: %s gets %s, want %s", line, name, got, code)
			}
		}
	}
}

func listed(item, sense string) string { return "item=" + item + " sense=" + sense + " file=/list" }

// TestLookFile: what the module takes of a user's file, at the bounds of each of its conditions.
func TestLookFile(t *testing.T) {
	const home, file, at = "/home/jane", "/home/jane/.google_authenticator", "-- stat/home/jane --\n"
	for name, c := range map[string]struct {
		stat, args, more string
		uid              uint32
		state            FileState
		why, frozen      string
	}{
		"usable":            {stat: "mode 400 uid 1000 size 1", uid: 1000, state: FileUsable},
		"at the largest":    {stat: "mode 600 uid 1000 size 65536", uid: 1000, state: FileUsable},
		"too large":         {stat: "mode 600 uid 1000 size 65537", uid: 1000, state: FileRefused, why: "has 65537 bytes"},
		"empty":             {stat: "mode 600 uid 1000 size 0", uid: 1000, state: FileRefused, why: "has 0 bytes"},
		"open":              {stat: "mode 640 uid 1000 size 9", uid: 1000, state: FileRefused, why: "has mode 0640"},
		"open, and allowed": {stat: "mode 640 uid 1000 size 9", args: "allowed_perm=0640", uid: 1000, state: FileUsable},
		"sticky":            {stat: "mode 1600 uid 1000 size 9", uid: 1000, state: FileRefused, why: "has mode 1600"},
		"a mode that is none": {stat: "mode 600 uid 1000 size 9", args: "allowed_perm=0", uid: 1000, state: FileRefused,
			why: "is no mode"},
		"a mode of letters": {stat: "mode 600 uid 1000 size 9", args: "allowed_perm=rw", uid: 1000, state: FileRefused,
			why: "is no mode"},
		"a folder": {stat: "mode 600 uid 1000 type dir", uid: 1000, state: FileRefused, why: "regular"},
		"somebody else's": {stat: "mode 600 uid 7 size 9", uid: 1000, state: FileRefused,
			why: "belongs to 7 and must belong to jane"},
		"somebody else's, so be": {stat: "mode 600 uid 7 size 9", args: "no_strict_owner", uid: 1000, state: FileUsable},
		"not for its owner":      {stat: "mode 200 uid 1000 size 9", uid: 1000, state: FileRefused, why: "keeps its owner from reading"},
		"root reads it anyway":   {stat: "mode 200 uid 0 size 9", uid: 0, state: FileUsable},
		"another user's": {stat: "mode 600 uid 33 size 9", args: "user=www", more: at + "mode 1777 uid 0 type dir\n", uid: 1000,
			state: FileUsable},
		"another user's, by ID": {stat: "mode 600 uid 34 size 9", args: "user=34", more: at + "mode 730 uid 0 type dir\n", uid: 1000,
			state: FileUsable},
		"a user who is not there": {stat: "mode 600 uid 34 size 9", args: "user=gone", uid: 1000, state: FileRefused,
			why: "names nobody"},
		"relative": {stat: "mode 600 uid 1000 size 9", args: "secret=x/y", uid: 1000, state: FileRefused,
			why: "not absolute"},
		"not there": {stat: "mode 600 uid 1000 size 9", args: "secret=/x/y", uid: 1000, state: FileAbsent,
			why: "not there"},
		"denied": {more: "-- denied" + file + " --\n", uid: 1000, state: FileUnknown},
		"its folder is root's": {stat: "mode 600 uid 1000 size 9", more: at + "mode 755 uid 0 type dir\n", uid: 1000,
			state: FileUsable, frozen: "belongs to user ID 0"},
		"its folder is to be read": {stat: "mode 600 uid 1000 size 9", more: at + "mode 766 uid 0 type dir\n", uid: 1000,
			state: FileUsable, frozen: "belongs to user ID 0"},
		"its folder is for all": {stat: "mode 600 uid 1000 size 9", more: at + "mode 777 uid 0 type dir\n", uid: 1000,
			state: FileUsable},
		"its folder is for the group": {stat: "mode 600 uid 1000 size 9", more: at + "mode 770 uid 0 type dir\n", uid: 1000,
			state: FileUsable},
		"its folder is closed, and its own": {stat: "mode 600 uid 1000 size 9",
			more: at + "mode 500 uid 1000 type dir\n", uid: 1000, state: FileUsable},
		"on a disk that is only read": {stat: "mode 600 uid 1000 size 9", uid: 1000, state: FileUsable, frozen: "mounted read-only (/home)",
			more: at + "mode 700 uid 1000 type dir\n-- table/filesystems --\n" + `[{"mount":"/","options":"rw"},{"mount":"/home","options":"nosuid,ro"},` +
				`{"mount":"/srv","options":"rw"},{"mount":"/home/janet","options":"rw"}]` + "\n"},
		"on its own disk": {stat: "mode 600 uid 1000 size 9", uid: 1000, state: FileUsable,
			more: at + "mode 700 uid 1000 type dir\n-- table/filesystems --\n" + `[{"mount":"/home/jane","options":"rw"},{"mount":"/","options":"ro"},` +
				`{"mount":"/home","options":"ro"}]` + "\n"},
		"a later mount on the same place": {stat: "mode 600 uid 1000 size 9", uid: 1000, state: FileUsable,
			more: at + "mode 700 uid 1000 type dir\n-- table/filesystems --\n" + `[{"mount":"/","options":"ro"},{"mount":"/","options":"rw,errors=ro"}]` + "\n"},
		"root's in another's folder": {stat: "mode 600 uid 0 size 9", more: at + "mode 700 uid 1000 type dir\n", uid: 0,
			state: FileUsable},
	} {
		text := "kind: live\n-- root/etc/passwd --\nwww:x:33:33::/:/bin/sh\n-- root/etc/group --\n" + c.more
		if c.more == "" {
			text += "-- stat" + home + " --\nmode 700 uid 1000 type dir\n"
		}
		if c.stat != "" {
			text += "-- root" + file + " --\nx\n-- stat" + file + " --\n" + c.stat + "\n"
		}
		h := hosttest.New(t, text)
		db, err := accounts.Read(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		r := &Rule{Module: "pam_google_authenticator.so", Args: strings.Fields(c.args)}
		f := LookFile(t.Context(), h, db, r, &User{Name: "jane", UID: c.uid, Home: home})
		if f.State != c.state || !strings.Contains(f.Why, c.why) || !strings.Contains(f.Frozen,
			c.frozen) || c.frozen == "" && f.Frozen != "" {
			t.Errorf("%s: state %d because it %s, frozen because %s", name, f.State, f.Why, f.Frozen)
		}
	}
}

// TestNames: libpam's words, at both ends of each table.
func TestNames(t *testing.T) {
	for c, want := range map[Code]string{Success: "success", codes - 1: "incomplete", codes: "code 32", -1: "code -1"} {
		if got := c.String(); got != want {
			t.Errorf("%d: %s, want %s", int(c), got, want)
		}
	}
	for a, want := range map[Action]string{IgnoreIt: "ignore", Reset: "reset", 1: "skip 1", 12: "skip 12"} {
		if got := a.String(); got != want {
			t.Errorf("%d: %s, want %s", int(a), got, want)
		}
	}
	for word, want := range map[string][4]Action{ // on success, new_authtok_reqd, ignore and anything else
		"required": {OK, OK, IgnoreIt, Bad}, "Requisite": {OK, OK, IgnoreIt, Die}, "optional": {OK, OK, IgnoreIt, IgnoreIt},
		"SUFFICIENT": {Done, Done, IgnoreIt, IgnoreIt}, "success=1 default=ignore": {1, IgnoreIt, IgnoreIt, IgnoreIt},
		"incomplete=reset success = 019 ": {19, Bad, Bad, Bad}, "default=die": {Die, Die, Die, Die}, "success=90": {90, Bad, Bad, Bad},
		"success=0": {Bad, Bad, Bad, Bad}, "success": {Bad, Bad, Bad, Bad}, "success=": {Bad, Bad, Bad, Bad}, "success=:": {Bad,
			Bad, Bad, Bad},
		"success=/": {Bad, Bad, Bad, Bad}, "success!1": {Bad, Bad, Bad, Bad},
	} {
		a, why := control(word)
		if got := [4]Action{a[Success], a[NewAuthtokReqd], a[Ignore], a[AuthErr]}; got != want {
			t.Errorf("%q: %v (%s), want %v", word, got, why, want)
		}
	}
}

// TestWords: brackets hold blanks, and a bracket behind a backslash (pam_misc.c).
func TestWords(t *testing.T) {
	for in, want := range map[string]string{"a  b\tc\n": "a|b|c", "[a b] c": "a b|c", `[a\]b] c`: "a]b|c", `[a\`: `a\`,
		"[a": "a", "": "", " \t": "",
		`[\x]y`: `\x|y`, "x[a b]": "x[a|b]"} {
		if got := strings.Join(words(in), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := lower("@AZ[az"); got != "@az[az" {
		t.Error(got)
	}
}

// TestLongLines: libpam before 1.6 reads 1023 bytes of a line; of each part of a continued one, and of comments.
func TestLongLines(t *testing.T) {
	pad := func(n int, s string) string { return s + strings.Repeat(" ", n-len(s)-1) + "\n" }
	for text, want := range map[string]bool{
		pad(1023, "auth required a.so"): false, pad(1024, "auth required a.so"): true,
		"auth \\\n" + pad(1024, "required a.so"): true, pad(1024, `auth \`) + "required a.so\n": true,
		pad(1024, "#"): true, pad(1023, "#"): false, pad(2000, ""): false,
	} {
		long := false
		lines, _ := split(text)
		for _, l := range lines {
			long = long || l.long
		}
		if long != want {
			t.Errorf("%d bytes, %.30q: long is %t", len(text), text, long)
		}
	}
}
