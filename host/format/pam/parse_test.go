package pam

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// files opens a configuration out of a txtar-like map.
func files(m map[string]string) Opener {
	return func(name string) (string, []byte, bool, error) {
		text, ok := m[name]
		return "/etc/pam.d/" + name, []byte(text), ok, nil
	}
}

func TestRead(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/pam.d/sshd --
# comment
@include common-auth
-auth [success=1 default=ignore] pam_succeed_if.so quiet user notingroup totp
auth required pam_google_authenticator.so nullok \
  [authtok_prompt=Your code: ]
account include accounts
session substack nothere
password require pam_unix.so
-- root/etc/pam.d/common-auth --
auth	[success=1 default=ignore]	pam_unix.so nullok
auth	requisite			pam_deny.so
auth	required			pam_permit.so
session optional pam_umask.so
-- root/usr/lib/pam.d/accounts --
account substack deeper
auth required pam_deny.so
-- root/usr/lib/pam.d/deeper --
account required pam_nologin.so
-- root/etc/pam.d/other --
auth required pam_deny.so
`)
	c, err := Read(t.Context(), h, "sshd")
	if err != nil || c.Fatal != nil {
		t.Fatal(err, c.Fatal)
	}
	var got []string
	for _, f := range Facilities {
		rules, _ := c.Stack(f)
		for _, r := range rules {
			got = append(
				got,
				fmt.Sprintf(
					"%s:%d %s %d [%s] %s %q %d",
					strings.TrimPrefix(r.File, "/etc/pam.d/"),
					r.Line,
					r.Facility,
					r.Kind,
					r.Control,
					r.Name(),
					r.Args,
					r.Level,
				),
			)
		}
	}
	want := []string{
		`common-auth:1 auth 0 [success=1 default=ignore] pam_unix ["nullok"] 0`,
		`common-auth:2 auth 0 [requisite] pam_deny [] 0`,
		`common-auth:3 auth 0 [required] pam_permit [] 0`,
		`sshd:3 auth 0 [success=1 default=ignore] pam_succeed_if ["quiet" "user" "notingroup" "totp"] 0`,
		`sshd:4 auth 0 [required] pam_google_authenticator ["nullok" "authtok_prompt=Your code: "] 0`,
		`/usr/lib/pam.d/accounts:1 account 1 [substack] deeper [] 0`,
		`/usr/lib/pam.d/deeper:1 account 0 [required] pam_nologin [] 1`,
		`sshd:8 password 0 [require] pam_unix [] 0`,
		`common-auth:4 session 0 [optional] pam_umask [] 0`,
		`sshd:7 session 1 [substack] nothere [] 0`,
		`sshd:7 session 2 [substack] nothere [] 0`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(
		c.Files,
		[]string{"/etc/pam.d/sshd", "/etc/pam.d/common-auth", "/usr/lib/pam.d/accounts", "/usr/lib/pam.d/deeper", "/etc/pam.d/other"},
	) {
		t.Error(c.Files)
	}
	var problems []string
	for _, p := range c.Problems {
		problems = append(problems, p.Error())
	}
	if len(problems) != 2 || problems[0] != "/etc/pam.d/sshd:7: includes nothere, which is not there" ||
		!strings.HasPrefix(problems[1], "/etc/pam.d/sshd:8: control: expecting return value") {
		t.Errorf("%q", problems)
	}
	if v, ok := c.Uses(Auth, "pam_google_authenticator")[0].Value("authtok_prompt"); !ok || v != "Your code: " {
		t.Errorf("authtok_prompt=%q", v)
	}
}

func TestReadElsewhere(t *testing.T) {
	for name, c := range map[string]struct{ host, want string }{
		"pam.conf alone": {"-- root/etc/pam.conf --\nlogin auth required " +
			"a.so\nsshd auth required b.so \\\n x\nother auth required c.so\n", "/etc/pam.conf:2 b [x] false"},
		"pam.conf, other": {"-- root/etc/pam.conf --\nother auth required c.so\n", "/etc/pam.conf:1 c [] true"},
		"vendor's":        {"-- root/usr/lib/pam.d/sshd --\nauth required d.so\n", "/usr/lib/pam.d/sshd:1 d [] false"},
		"the admin's counts": {"-- root/usr/lib/pam.d/sshd --\nauth required " +
			"d.so\n-- root/etc/pam.d/sshd --\nauth required e.so\n", "/etc/pam.d/sshd:1 e [] false"},
		"other": {"-- root/etc/pam.d/other --\nauth required f.so\n", "/etc/pam.d/other:1 f [] true"},
		"both confs": {"-- root/etc/pam.d/other --\nauth required " +
			"f.so\n-- root/etc/pam.conf --\nsshd auth required b.so\n", "/etc/pam.conf:1 b [] false"},
		"nothing": {"-- root/etc/hosts --\n", "fatal /etc/pam.d/sshd: is not there, and neither is /etc/pam.d/other: every login " +
			"through it fails"},
		"cut off": {"-- root/etc/pam.d/sshd --\nauth required x.so \\\n", "fatal /etc/pam.d/sshd:1: ends in the middle of a continued line"},
		"@include of nothing": {"-- root/etc/pam.d/sshd --\n\n@include nothere\n", "fatal /etc/pam.d/sshd:2: @include fails, so libpam " +
			"refuses the service"},
		"@include loop": {"-- root/etc/pam.d/sshd --\n@include sshd\n", "fatal /etc/pam.d/sshd:1: @include fails, so libpam refuses the service"},
		"not collected": {"incomplete: true\n-- root/etc/pam.d/sshd --\nauth include x\n", "error /etc/pam.d/sshd:1: reading " +
			"/etc/pam.d/x: not collected in this capture"},
		"denied": {"-- root/etc/pam.d/other --\n-- denied/etc/pam.d/sshd --\n", "error reading /etc/pam.d/sshd: permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Read(t.Context(), hosttest.New(t, c.host), "sshd")
			got := ""
			switch {
			case err != nil:
				got = "error " + err.Error()
			case cfg.Fatal != nil:
				got = "fatal " + cfg.Fatal.Error()
			default:
				rules, fallback := cfg.Stack(Auth)
				got = fmt.Sprintf("%s:%d %s %v %v", rules[0].File, rules[0].Line, rules[0].Name(), rules[0].Args, fallback)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := Read(t.Context(), hosttest.New(t, "-- root/etc/pam.d/other --\n-- denied/etc/pam.d/sshd --\n"), "sshd"); host.IsAbsent(
		err,
	) {
		t.Error("denied is not absent")
	}
}

// TestBounds: files that include each other twice would be 2^16 lines.
func TestBounds(t *testing.T) {
	two := "auth include b\nauth include b\n"
	c, err := Parse("a", files(map[string]string{"a": two, "b": strings.ReplaceAll(two, "b", "a") + "auth required x.so\n"}))
	if err != nil || c.Fatal == nil || !strings.Contains(c.Fatal.Msg, "4000 lines") {
		t.Fatal(err, c.Fatal)
	}
	if len(c.Problems) > maxProblems {
		t.Error(len(c.Problems))
	}
}

// TestManyLines: as many lines as are read, and no more.
func TestManyLines(t *testing.T) {
	for n, fatal := range map[int]bool{maxRules: false, maxRules + 1: true} {
		c, err := Parse("a", files(map[string]string{"a": strings.Repeat("auth required x.so\n", n)}))
		if err != nil || (c.Fatal != nil) != fatal {
			t.Errorf("%d lines: %v, %v", n, err, c.Fatal)
		}
	}
}

// TestOneProblemALine: what is wrong with a line is said once, and the line denies.
func TestOneProblemALine(t *testing.T) {
	for line, want := range map[string]string{
		"auth": "has no control", "auth required": "names no module", "login required x.so": "begins with none of",
		"login":                 "begins with none of",
		"auth [requiredx] x.so": "control: expecting return value", "auth include": "includes no file", "auth include gone": "which is not there",
		"auth required x.so": "", "-auth required x.so": "", "AUTH REQUIRED x.so": "", "auth required x.so # " + strings.Repeat("x",
			lineLimit): "is longer than",
	} {
		c, err := Parse("a", files(map[string]string{"a": line + "\n"}))
		if err != nil || c.Fatal != nil {
			t.Fatal(err, c.Fatal)
		}
		rules, _ := c.Stack(Auth)
		want1 := 0
		if want != "" {
			want1 = 1
		}
		if len(c.Problems) != want1 && line != "login" && line != "auth" || want != "" && !strings.Contains(c.Problems[0].Error(), want) ||
			len(rules) != 1 {
			t.Errorf("%.40s: %v, %d rules, want %q once", line, c.Problems, len(rules), want)
		}
		if denies := Walk(rules, func(*Rule) Code { return Success }) != Success; denies != (want != "" && want != "is longer than") {
			t.Errorf("%.40s: denies %v", line, denies)
		}
	}
}

// TestWalk: jumps, ends and substacks, as pam_dispatch.c goes through them.
func TestWalk(t *testing.T) {
	const ok, jump1 = " [success=ok default=die] ", " [success=1 default=ignore] "
	sub := map[string]string{"b": "auth required b1.so\nauth substack c\nauth required b2.so\n",
		"c": "auth required c1.so\nauth required c2.so\n",
		"d": "auth sufficient d1.so\nauth required d2.so\n", "e": "auth requisite e1.so\nauth required e2.so\n",
		"r": "auth required r1.so\nauth [success=reset default=reset] r2.so\n",
		"j": "auth [success=2 default=ignore] j1.so\nauth required j2.so\n"}
	for _, c := range []struct{ auth, fails, asked, want string }{
		{"auth required a.so\nauth required b.so\n", "", "a b", "success"},
		{"auth required a.so\nauth required b.so\n", "a", "a b", "auth_err"},
		{"auth requisite a.so\nauth required b.so\n", "a", "a", "auth_err"},
		{"auth sufficient a.so\nauth required b.so\n", "", "a", "success"},
		{"auth sufficient a.so\nauth required b.so\n", "a", "a b", "success"},
		{"auth required a.so\nauth sufficient b.so\nauth required c.so\n", "a", "a b c", "auth_err"},
		{"auth optional a.so\n", "a", "a", "perm_denied"},
		{"auth" + jump1 + "a.so\nauth required b.so\nauth required c.so\n", "", "a c", "success"},
		{"auth" + jump1 + "a.so\nauth required b.so\nauth required c.so\n", "a", "a b c", "success"},
		{"auth" + jump1 + "a.so\nauth substack b\nauth required z.so\n", "", "a z", "success"},
		{"auth" + jump1 + "a.so\nauth substack b\nauth required z.so\n", "a", "a b1 c1 c2 b2 z", "success"},
		{"auth" + jump1 + "a.so\nauth substack b\n", "", "a", "perm_denied"},
		{"auth" + jump1 + "a.so\nauth required b.so\n", "", "a", "perm_denied"},
		{"auth [success=2 default=ignore] a.so\nauth required b.so\n", "", "a", "perm_denied"},
		{"auth substack d\nauth required z.so\n", "", "d1 z", "success"},
		{"auth include d\nauth required z.so\n", "", "d1", "success"},
		{"auth substack e\nauth required z.so\n", "e1", "e1 z", "auth_err"},
		{"auth include e\nauth required z.so\n", "e1", "e1", "auth_err"},
		{"auth substack r\nauth required z.so\n", "r1", "r1 r2 z", "success"},
		{"auth required y.so\nauth substack r\nauth required z.so\n", "y", "y r1 r2 z", "auth_err"},
		{"auth substack j\nauth required z.so\n", "", "j1 z", "perm_denied"},
		{"auth substack b\nauth required z.so\n", "c2", "b1 c1 c2 b2 z", "auth_err"},
		{"auth" + ok + "a.so\nauth" + ok + "b.so\n", "b", "a b", "auth_err"},
		{"", "", "", "perm_denied"},
	} {
		all := map[string]string{"a": c.auth}
		maps.Copy(all, sub)
		conf, err := Parse("a", files(all))
		if err != nil || conf.Fatal != nil {
			t.Fatal(err, conf.Fatal)
		}
		rules, _ := conf.Stack(Auth)
		var asked []string
		got := Walk(rules, func(r *Rule) Code {
			name := strings.TrimSuffix(r.Module, ".so")
			asked = append(asked, name)
			if name == c.fails {
				return AuthErr
			}
			return Success
		})
		if s := strings.Join(asked, " "); s != c.asked || got.String() != c.want {
			t.Errorf("%q, where %q fails: asked %q, %s; want %q, %s", c.auth, c.fails, s, got, c.asked, c.want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add("auth [success=1 default=ignore] pam_unix.so nullok\n@include b\n", "auth requisite pam_deny.so\nauth substack a\n")
	f.Add("-auth \\\n# x\n [default=die success=99999999999999999999] [a\\]", "session include a\n account [=")
	f.Add("auth include a\nauth include a\n@include b", "@include a\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		c, err := Parse("a", files(map[string]string{"a": a, "b": b}))
		if err != nil {
			t.Fatal(err)
		}
		for _, fac := range Facilities {
			rules, _ := c.Stack(fac)
			for _, code := range []Code{Success, AuthErr, Ignore, 99} {
				if got := Walk(rules, func(*Rule) Code { return code }); len(rules) == 0 && got != PermDenied {
					t.Errorf("an empty stack returned %s", got)
				}
			}
			for _, r := range rules {
				if r.Line < 1 || r.Facility != fac || r.Level < 0 || r.Level > maxDepth {
					t.Errorf("%+v", r)
				}
			}
		}
		for _, p := range c.Problems {
			if p.Line < 1 && p.Path != "" {
				t.Errorf("no line: %v", p)
			}
		}
	})
}
