package ldapconf

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

// program compiles testdata/options.c against the system's OpenLDAP library.
func program(t *testing.T) string {
	cc := means.Tool(t, "gcc")
	out := filepath.Join(t.TempDir(), "options")
	if b, err := exec.Command(cc, "-o", out, "testdata/options.c", "-lldap").CombinedOutput(); err != nil {
		means.Missing(t, "needs libldap-dev: "+string(b))
	}
	return out
}

// ways are what a case puts where: values of all kinds, and of none.
var ways = map[string][]string{
	"TLS_REQCERT":   {"never", "allow", "TRY", "demand", "hard", "yes", "no", "bogus", "Never"},
	"TLS_REQSAN":    {"never", "allow", "try", "demand", "hard", "maybe"},
	"TLS_CACERT":    {"/a/ca.pem", "/b/ca with blanks.pem", "relative.pem"},
	"TLS_CACERTDIR": {"/a/certs", "/b:/c"},
	"URI": {
		"ldap://one",
		"ldaps://two:7636,ldap://three",
		"ldap://",
		"LDAPS://Four/dc=x??sub",
		"ldap://five:x",
		"nonsense",
		"ldap://[2001:db8::1]:390 ldapi://%2frun%2fldapi",
	},
	"HOST": {"old", "old1 old2:1389"},
	"PORT": {"1390", "x", "0", "1391x"},
	"BASE": {"dc=example,dc=com"},
}

func lines(r *rand.Rand) string {
	var b strings.Builder
	keys := []string{"TLS_REQCERT", "TLS_REQSAN", "TLS_CACERT", "TLS_CACERTDIR", "URI", "HOST", "PORT", "BASE"}
	for range r.IntN(5) {
		k := keys[r.IntN(len(keys))]
		v := ways[k][r.IntN(len(ways[k]))]
		if r.IntN(3) == 0 {
			k = strings.ToLower(k)
		}
		lead := []string{"", "", "", "#", " ", " # ", "\t"}[r.IntN(7)]
		gap := []string{" ", "\t", "   ", ""}[r.IntN(4)]
		tail := []string{"\n", "\n", " \n", " # comment\n", "\r\n"}[r.IntN(5)]
		b.WriteString(lead + k + gap + v + tail)
	}
	return b.String()
}

// TestAgainstLibrary compares files, variables and their precedence with what
// the real library makes of them.
func TestAgainstLibrary(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	unshare := means.Tool(t, "unshare")
	if _, err := os.Stat(SystemFiles[0]); err != nil {
		means.Missing(t, "needs "+SystemFiles[0])
	}
	prog := program(t)
	r := rand.New(rand.NewPCG(11, 4))
	seen := map[string]int{}
	for i := range 120 {
		dir := t.TempDir()
		home, cwd := filepath.Join(dir, "home"), filepath.Join(dir, "cwd")
		os.Mkdir(home, 0o755)
		os.Mkdir(cwd, 0o755)
		var text strings.Builder
		put := func(real, seenAs string) {
			s := lines(r)
			if err := os.WriteFile(real, []byte(s), 0o644); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "-- root%s --\n%s", seenAs, s)
		}
		system := filepath.Join(dir, "system")
		put(system, SystemFiles[0])
		env := Env{Home: home, Dir: cwd, Vars: map[string]Setting{}}
		vars := []string{"HOME=" + home, "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		set := func(k, v string) {
			env.Vars[k] = Setting{Value: v, File: "environment"}
			vars = append(vars, k+"="+v)
		}
		for _, f := range []string{home + "/ldaprc", home + "/.ldaprc", cwd + "/ldaprc", home + "/extra", home + "/.extra", cwd + "/extra",
			dir + "/conf"} {
			if r.IntN(3) == 0 {
				put(f, f)
			}
		}
		if r.IntN(3) == 0 {
			set("LDAPRC", "extra")
		}
		if r.IntN(3) == 0 {
			set("LDAPCONF", []string{dir + "/conf", "../conf", dir + "/none"}[r.IntN(3)])
		}
		for _, k := range slices.Sorted(maps.Keys(ways)) {
			v := ways[k]
			if k != "BASE" && r.IntN(12) == 0 {
				set("LDAP"+k, append(v, "")[r.IntN(len(v)+1)])
			}
		}
		if r.IntN(40) == 0 {
			set("LDAPNOINIT", "")
		}
		c, err := ReadOpenLDAP(t.Context(), hosttest.New(t, text.String()), env)
		if err != nil {
			t.Fatal(err)
		}
		got := asLibrary(c)
		cmd := exec.Command(unshare, "-m", "--propagation", "private", "/bin/sh", "-c",
			`mount --bind "$1" "$2" && cd "$3" && exec "$4"`, "sh", system, SystemFiles[0], cwd, prog)
		cmd.Env = vars
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		if want := normal(string(b)); got != want {
			t.Errorf("case %d: read\n%s\nthe library has\n%s\nvariables %q\n%s", i, got, want, vars, text.String())
		}
		seen[got]++
	}
	if len(seen) < 50 {
		t.Errorf("only %d different answers: the cases say little", len(seen))
	}
}

// Numbers of LDAP_OPT_X_TLS_* in ldap.h.
var numbers = map[string]int{"never": 0, "hard": 1, "demand": 2, "allow": 3, "try": 4}

func asLibrary(c *Client) string {
	san := c.ReqSAN.Value
	if san == "" {
		san = "allow"
	}
	var uris []string
	for _, s := range c.Servers {
		uris = append(uris, s.URI())
	}
	if len(uris) == 0 && !c.named {
		uris = []string{"ldap://localhost:389"}
	}
	return fmt.Sprintf("%d\n%d\n%s\n%s\n%s", numbers[c.Level()], numbers[san], c.CACert.Value, c.CACertDir.Value, strings.Join(uris, " "))
}

// normal brings the library's URIs into this package's form.
func normal(out string) string {
	f := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var uris []string
	for _, u := range strings.Fields(f[len(f)-1]) {
		s, err := ParseURI(u)
		if err != nil {
			return out
		}
		uris = append(uris, s.URI())
	}
	f[len(f)-1] = strings.Join(uris, " ")
	return strings.Join(f, "\n")
}
