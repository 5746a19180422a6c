package blockconf

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

func lines(all []Statement) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s:%d %s<%s>| %s\n", s.File, s.Line, strings.Join(s.Within, "/"), s.Block, s.Text())
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		form             Form
		name, host, want string
	}{
		{Nginx, "/n/nginx.conf", `-- root/n/nginx.conf --
http {
	# ssl on;
	include sites/*; include absent.conf;#
	log_format m '$a; ssl on;' "x\"";
	return 200 ${b};
}
-- root/n/sites/a --
server { listen 80;
  ssl on; }
`, `/n/nginx.conf:1 <>| http
/n/nginx.conf:3 http<http>| include sites/*
/n/sites/a:1 http<http>| server
/n/sites/a:1 http/server<server>| listen 80
/n/sites/a:2 http/server<server>| ssl on
/n/nginx.conf:3 http<http>| include absent.conf
/n/nginx.conf:4 http<http>| log_format m $a; ssl on; x"
/n/nginx.conf:5 http<http>| return 200 ${b}
`},
		{Named, "/b/named.conf", `-- root/b/named.conf --
include "/b/o"; // dnssec-enable yes;
zone "a" { type master; /* auto-dnssec
maintain; */ file "db{a}"; # x
include "/b/z"; };
-- root/b/o --
options { auto-dnssec maintain;};
-- root/b/z --
notify no;
`, `/b/named.conf:1 <>| include /b/o
/b/o:1 <>| options
/b/o:1 options<options>| auto-dnssec maintain
/b/named.conf:2 <>| zone a
/b/named.conf:2 zone<zone a>| type master
/b/named.conf:3 zone<zone a>| file db{a}
/b/named.conf:4 zone<zone a>| include /b/z
/b/z:1 zone<zone a>| notify no
`},
	} {
		got, err := Read(t.Context(), hosttest.New(t, c.host), c.form, c.name)
		if err != nil || lines(got) != c.want {
			t.Errorf("%v\n%s\nwant:\n%s", err, lines(got), c.want)
		}
	}
	if _, err := Read(t.Context(), hosttest.New(t, "-- root/a --\ninclude b;\n-- denied/b --\n"), Nginx, "/a"); err == nil {
		t.Error("a file that cannot be read is passed over")
	}
	for text, want := range map[string]int{"include a;\n": 21, strings.Repeat("include b;", 2002) + "\n-- root/b --\nx;\n": 2002 + 1999,
		"include b b; listen b;\n-- root/b --\nx;\n": 2, `x "\`: 1} {
		if all, err := Read(t.Context(), hosttest.New(t, "-- root/a --\n"+text), Nginx, "/a"); err != nil || len(all) != want {
			t.Errorf("%.30q: %d statements, want %d; %v", text, len(all), want, err)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add("a b; c { d \"e\\\"; }\n# x\n/* y */ z")
	f.Add("}}{{;;\"")
	f.Add("$ ${ ${a}b \"c\\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range []Form{Nginx, Named} {
			for _, s := range Parse(form, "/f", text) {
				if len(s.Words) == 0 || s.Line < 1 || s.Line > strings.Count(text, "\n")+1 {
					t.Errorf("%+v of %q", s, text)
				}
			}
		}
	})
}
