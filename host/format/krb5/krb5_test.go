package krb5

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

var cases = []struct {
	name, conf string
	more       map[string]string // files beside it, below DIR
	realm      string
	keytab     string
}{
	{name: "empty", keytab: "/etc/krb5.keytab"},
	{
		name:   "both",
		conf:   "[libdefaults]\n  default_realm = A.EXAMPLE\n default_keytab_name = FILE:/srv/a.keytab\n",
		realm:  "A.EXAMPLE",
		keytab: "/srv/a.keytab",
	},
	{
		name: "the first counts",
		conf: "[libdefaults]\ndefault_realm = A\n[realms]\nA = {\n kdc = 127.0.0.1:9\n}\n[libdefaults]\ndefault_realm = " +
			"B\ndefault_keytab_name = /1\ndefault_keytab_name = /2\n",
		realm:  "A",
		keytab: "/1",
	},
	{
		name:   "comments",
		conf:   "; [libdefaults]\n# x\n[libdefaults]\n# default_realm = A\n;default_realm = B\n\ndefault_realm =C\n",
		realm:  "C",
		keytab: "/etc/krb5.keytab",
	},
	{name: "another section", conf: "[realms]\ndefault_realm = A\n", keytab: "/etc/krb5.keytab"},
	{
		name: "a folder",
		conf: "includedir DIR/d\n[libdefaults]\ndefault_realm = Z\n",
		more: map[string]string{"d/a.conf": "[libdefaults]\ndefault_realm = A\n",
			"d/b~": "[libdefaults]\ndefault_keytab_name = /no\n", "d/c_1": "[libdefaults]\ndefault_keytab_name = /c\n"},
		realm:  "A",
		keytab: "/c",
	},
	{
		name:   "a file",
		conf:   "include DIR/x\n",
		more:   map[string]string{"x": "[libdefaults]\ndefault_realm = X\n"},
		realm:  "X",
		keytab: "/etc/krb5.keytab",
	},
}

func TestRead(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			archive := "-- root" + File + " --\n" + strings.ReplaceAll(c.conf, "DIR", "/etc/k")
			for name, text := range c.more {
				archive += "-- root/etc/k/" + name + " --\n" + text
			}
			got, err := Read(t.Context(), hosttest.New(t, archive))
			if want := (Config{c.realm, c.keytab}); err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// TestUnread: what is absent says nothing, what nobody could look at is an error, and files that
// include files end at the eighth.
func TestUnread(t *testing.T) {
	const conf = "-- root" + File + " --\n"
	for text, want := range map[string]error{
		"": nil, conf + "include /x\nincludedir /d\n": nil,
		"-- denied" + File + " --\n":                                          host.ErrDenied,
		conf + "include /x\n-- denied/x --\n":                                 host.ErrDenied,
		conf + "includedir /d\n-- denied/d --\n":                              host.ErrDenied,
		conf + "includedir /d\n-- stat/d/x --\ntype file\n-- denied/d/x --\n": host.ErrDenied,
	} {
		if c, err := Read(t.Context(), hosttest.New(t, text)); !errors.Is(err, want) {
			t.Errorf("%q: %+v, %v; want %v", text, c, err, want)
		}
	}
	chain := conf + "include /1/x\n"
	for i := range 7 {
		chain += fmt.Sprintf("-- root/%d/x --\n%s /%d%s\n", i+1, []string{"include", "includedir"}[i%2], i+2, []string{"/x", ""}[i%2])
	}
	chain += "-- root/8/x --\n[libdefaults]\ndefault_realm = EIGHTH\ninclude /9\n" +
		"-- root/9 --\n[libdefaults]\ndefault_keytab_name = /9.keytab\n"
	if c, err := Read(t.Context(), hosttest.New(t, chain)); err != nil || c != (Config{"EIGHTH", "/etc/krb5.keytab"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

var (
	noKeytab = regexp.MustCompile(`Key table file '(.*)' not found`)
	ofRealm  = regexp.MustCompile(`for realm ["'](.*)["']`)
)

// TestAsMIT: klist names the keytab that MIT's library would read, and kinit
// the realm in which it asks.
func TestAsMIT(t *testing.T) {
	klist, kinit := means.Tool(t, "klist"), means.Tool(t, "kinit")
	for _, c := range cases {
		dir := t.TempDir()
		put := func(name, text string) {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put("conf", strings.ReplaceAll(c.conf, "DIR", dir)+"\n[libdefaults]\ndns_lookup_kdc = false\n")
		for name, text := range c.more {
			put(name, text)
		}
		ask := func(find *regexp.Regexp, program string, args ...string) string {
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Env, cmd.WaitDelay = []string{"LC_ALL=C", "KRB5_CONFIG=" + filepath.Join(dir, "conf")}, 10*time.Second
			out, _ := cmd.CombinedOutput()
			if m := find.FindSubmatch(out); m != nil {
				return string(m[1])
			}
			return fmt.Sprintf("(%s)", out)
		}
		if keytab := ask(noKeytab, klist, "-k"); keytab != c.keytab {
			t.Errorf("%s: klist's keytab is %s, want %s", c.name, keytab, c.keytab)
		}
		if c.realm == "" {
			continue // it would ask for the realm of the host's name
		}
		if realm := ask(ofRealm, kinit, "nobody"); realm != c.realm {
			t.Errorf("%s: kinit's realm is %s, want %s", c.name, realm, c.realm)
		}
	}
}
