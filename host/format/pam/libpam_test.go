package pam

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestAgainstLibpam compares what Parse and Walk say of thousands of generated
// services with what libpam itself returns. Nothing of /etc is read.
func TestAgainstLibpam(t *testing.T) {
	means.Short(t, "takes seconds")
	dir := t.TempDir()
	module, ask := compile(t, dir)
	conf := filepath.Join(dir, "conf")
	g := &generator{rand.New(rand.NewPCG(1, 2)), conf, module}
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	g.shared(t)
	const n = 4000
	var names bytes.Buffer
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		write(t, filepath.Join(conf, name), g.service())
		fmt.Fprintln(&names, name)
	}
	fmt.Fprintln(&names, "absent") // falls back to "other"
	// A reset in a substack goes back to what was before it, not to nothing.
	write(t, filepath.Join(conf, "increset"), "auth [success=reset default=ignore] "+module+" ret=0\nauth required "+module+" ret=0\n")
	write(t, filepath.Join(conf, "reset"), "auth required "+module+" ret=7\nauth substack "+conf+"/increset\n")
	fmt.Fprintln(&names, "reset")
	cmd := exec.Command(ask, conf)
	cmd.Stdin = &names
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string) (string, []byte, bool, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(conf, name)
		}
		b, err := os.ReadFile(name)
		return name, b, err == nil, nil
	}
	seen, wrong := map[string]int{}, 0
	for line := range strings.Lines(string(out)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		c, err := Parse(name, open)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d %d %d", answers(c, Auth), answers(c, Account), answers(c, Session))
		seen[strings.Fields(want)[0]]++
		if want == "crashed" && nameless(c) {
			continue // Debian's libpam, where upstream's makes it a line that denies
		}
		if got != want {
			if wrong++; wrong < 5 {
				b, _ := os.ReadFile(filepath.Join(conf, name))
				t.Errorf("%s: libpam %s, simulated %s\n%s", name, want, got, b)
			}
		}
	}
	if total := strings.Count(string(out), "\n"); total != n+2 || wrong > 0 {
		t.Errorf("%d of %d answers are wrong (of %d asked)", wrong, total, n+2)
	}
	for _, must := range []string{"0", "6", "7", "26"} { // the generator reaches what matters
		if seen[must] < 20 {
			t.Errorf("only %d services end with code %s: %v", seen[must], must, seen)
		}
	}
}

func nameless(c *Config) bool {
	for _, p := range c.Problems {
		if strings.Contains(p.Msg, "the name is missing") {
			return true
		}
	}
	return false
}

// answers walks a stack of modules whose argument says what they return.
func answers(c *Config, f Facility) Code {
	if c.Fatal != nil {
		return Abort
	}
	rules, _ := c.Stack(f)
	return Walk(rules, func(r *Rule) Code {
		if strings.Contains(r.Module, "absent") {
			return ModuleUnknown
		}
		v, ok := r.Value("ret")
		if !ok {
			return ServiceErr
		}
		n, _ := strconv.Atoi(v)
		return Code(n)
	})
}

func compile(t *testing.T, dir string) (module, ask string) {
	gcc := means.Tool(t, "gcc")
	if _, err := os.Stat("/usr/include/security/pam_appl.h"); err != nil {
		means.Missing(t, "needs libpam's headers (libpam0g-dev)")
	}
	module, ask = filepath.Join(dir, "answer.so"), filepath.Join(dir, "ask")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", module, "testdata/answer.c"},
		{"-o", ask, "testdata/ask.c", "-lpam"},
	} {
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc %v: %v\n%s", args, err, out)
		}
	}
	return module, ask
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

type generator struct {
	*rand.Rand
	conf, module string
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// shared writes the files that services include, some of which include
// others, and "other".
func (g *generator) shared(t *testing.T) {
	for i := range 40 {
		var b strings.Builder
		for range 1 + g.IntN(4) {
			b.WriteString(g.line(i))
		}
		write(t, filepath.Join(g.conf, fmt.Sprintf("inc%d", i)), b.String())
	}
	write(t, filepath.Join(g.conf, "inccut"), "auth required "+g.module+" ret=0 \\\n")
	write(t, filepath.Join(g.conf, "other"), "auth required "+g.module+" ret=9\naccount required "+g.module+" ret=13\n")
}

func (g *generator) service() string {
	var b strings.Builder
	for range 1 + g.IntN(7) {
		b.WriteString(g.line(40))
	}
	return b.String()
}

// line is one line; it includes only files with a number below limit.
func (g *generator) line(limit int) string {
	dash := g.pick("", "", "", "", "-")
	fac := g.pick("auth", "auth", "auth", "auth", "AUTH", "account", "session")
	inc := fmt.Sprintf("%s/inc%d", g.conf, g.IntN(max(limit, 1)))
	sep := g.pick(" ", "\t", "  ", " \\\n ", " \\\n# between\n\n\t")
	switch k := g.IntN(40); {
	case k < 7 && limit > 0:
		return dash + fac + sep + g.pick("include", "substack", "substack", "Substack") + " " + inc + "\n"
	case k == 7 && limit > 0:
		return g.pick("@include ", "@INCLUDE ", "-@include ") + inc + "\n"
	case k == 8 && g.IntN(3) == 0:
		return g.pick("@include "+g.conf+"/none", fac+" include "+g.conf+"/none", fac+" substack "+g.conf+"/none", fac+" include",
			fac+" substack", fac, fac+" required", "bogus required "+g.module+" ret=0", "auth[default=ok] "+g.module, "bogus optional "+g.module,
			"@include "+g.conf+"/inccut", "bogus include "+inc, "-", "[auth] required "+g.module+" ret=0", fac+" [] "+g.module+" ret=0",
			fac+" requisite /absent.so") + "\n"
	case k == 9:
		return "# comment \\\n\n   \n"
	case k == 10:
		return dash + fac + " " + g.control() + " /absent/" + "x.so ret=0\n"
	}
	code := g.pick("0", "0", "0", "0", "7", "7", "25", "25", "6", "12", "10", "28", "26", "30", "99", "-3", strconv.Itoa(g.IntN(31)))
	return dash + fac + sep + g.control() + sep + g.module + g.pick(
		" ",
		" [a b\\]c] ",
		" x#",
	) + "ret=" + code + g.pick(
		"",
		" # note",
		" x",
	) + "\n"
}

func (g *generator) control() string {
	if g.IntN(2) == 0 {
		return g.pick("required", "required", "requisite", "sufficient", "optional", "Required")
	}
	var b strings.Builder
	b.WriteByte('[')
	for range 1 + g.IntN(3) {
		b.WriteString(
			g.pick(
				"success",
				"success",
				"auth_err",
				"ignore",
				"default",
				"user_unknown",
				"new_authtok_reqd",
				"perm_denied",
				"module_unknown",
				codeNames[g.IntN(31)],
			),
		)
		b.WriteString(g.pick("=", "=", "=", " = "))
		b.WriteString(g.pick("ok", "ok", "done", "bad", "die", "ignore", "reset", "1", "1", "2", "3", "7"))
		b.WriteString(g.pick(" ", " ", " ", "\t"))
	}
	if g.IntN(3) > 0 {
		b.WriteString("default=" + g.pick("ignore", "bad", "die", "ok", "1"))
	}
	if g.IntN(30) == 0 {
		b.WriteString(g.pick("foo=ok", "success", "success=", "success=0", "success=-1", "default"))
	}
	b.WriteByte(']')
	return b.String()
}
