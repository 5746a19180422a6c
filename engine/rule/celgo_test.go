//go:build !race

// cel-go, which has no goroutine of ours, takes 25 s to compile for the race detector.

package rule

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"fettle/engine/rule/cel"
	"fettle/engine/rule/cel/oracle"
	"fettle/host"
	"fettle/host/sample"
)

// TestShippedLikeCelGo evaluates every expression of the shipped rules over
// all their samples twice, here and with cel-go: both must take it and come to
// the same.
func TestShippedLikeCelGo(t *testing.T) {
	files, _ := filepath.Glob("../../traps/rules/*/rule.yaml")
	if len(files) == 0 {
		t.Fatal("no rules")
	}
	compared := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, ms := Parse(file, b, true)
		if r == nil {
			t.Fatal(ms)
		}
		samples, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.txtar"))
		progs := programs(t, r)
		for _, name := range samples {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			src, _, err := sample.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			compared += compareOn(t, r, progs, name, host.New(src))
		}
	}
	t.Logf("%d values compared", compared)
	if compared < 1000 {
		t.Errorf("%d values compared: the test has become hollow", compared)
	}
}

// programs are the rule's expressions as cel-go takes them.
func programs(t *testing.T, r *Rule) map[*Expr]*oracle.Program {
	t.Helper()
	names := map[string]cel.Type{"now": environmentType("now"), "host": environmentType("host"), "os": environmentType("os")}
	for i := range r.Facts {
		names[r.Facts[i].Name] = r.Facts[i].celType()
	}
	for _, l := range r.Lets {
		names[l.Name] = checkedType(t, names, l.Expr)
	}
	if r.Each != nil {
		names[r.As], _ = elementOf(checkedType(t, names, r.Each))
	}
	o, err := oracle.New(functions(), cel.Standard(regexp.Compile), names)
	if err != nil {
		t.Fatal(err)
	}
	progs := map[*Expr]*oracle.Program{}
	r.eachExpr(func(e *Expr) error {
		p, err := o.Compile(e.Source)
		if err != nil {
			t.Errorf("%s:%d: cel-go: %v", r.Path, e.Line, err)
			return nil
		}
		if got := checkedType(t, names, e).String(); got != p.Type {
			t.Errorf("%s:%d: %s is %s to cel-go, %s here", r.Path, e.Line, e.Source, p.Type, got)
		}
		progs[e] = p
		return nil
	})
	return progs
}

func environmentType(name string) cel.Type {
	tree, err := cel.Parse(name)
	if err != nil {
		panic(err)
	}
	c, _ := environment().Check(tree)
	return c.Type
}

func checkedType(t *testing.T, names map[string]cel.Type, e *Expr) cel.Type {
	t.Helper()
	env := environment()
	for n, typ := range names {
		env = env.With(n, typ)
	}
	tree, err := cel.Parse(e.Source)
	if err != nil {
		t.Fatal(err)
	}
	c, ms := env.Check(tree)
	if len(ms) > 0 {
		t.Fatal(ms)
	}
	return c.Type
}

func compareOn(t *testing.T, r *Rule, progs map[*Expr]*oracle.Program, sample string, h *host.Host) (n int) {
	s := r.scope(t.Context(), h)
	scopes := []*scope{s}
	if r.Each != nil {
		els, err := r.elements(context.Background(), s)
		if err == nil {
			for _, it := range els {
				scopes = append(scopes, &scope{reading: s.reading, it: it})
			}
		}
	}
	for _, s := range scopes {
		for e, p := range progs {
			ours, err := e.eval(t.Context(), s)
			theirs, terr := p.Eval(s)
			n++
			if (err == nil) != (terr == nil) {
				t.Errorf("%s:%d over %s: cel-go: %v, here: %v", r.Path, e.Line, sample, terr, err)
			} else if err == nil && say(ours) != say(theirs) {
				t.Errorf("%s:%d over %s: cel-go: %v, here: %v", r.Path, e.Line, sample, say(theirs), say(ours))
			}
		}
	}
	return n
}
