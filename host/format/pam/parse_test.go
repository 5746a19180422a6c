package pam

import (
	"fmt"
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
