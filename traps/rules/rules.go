// Package rules holds the traps that are written as rules: a folder each, with
// rule.yaml and samples (docs/rules.md). They need no line of Go.
//
// What the rules come to when they are checked is kept in compiled.bin, so that
// running them costs neither YAML's nor CEL's parser. After a change:
//
//	go generate ./traps/rules
//
// A rule that is not in compiled.bin, or differs, is parsed when fettle starts;
// a test tells that it is time to generate.
package rules

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"
	"sync"

	"fettle/host"
	"fettle/lore/rule"
	"fettle/remedy"
	"fettle/trap"
)

//go:generate go run ./generate

//go:embed */rule.yaml
var files embed.FS

//go:embed compiled.bin
var compiled string

// All lists the traps of all rules, by name.
func All() []*trap.Trap {
	dirs, err := files.ReadDir(".")
	if err != nil {
		panic(err) // it is in the binary
	}
	ready := Unpack(compiled)
	out := make([]*trap.Trap, 0, len(dirs))
	for _, d := range dirs {
		name := path.Join(d.Name(), "rule.yaml")
		b, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		if c, ok := ready[d.Name()]; ok && c.Sum == Sum(b) {
			if c.Units != "-" {
				rule.AskTogether(strings.Split(c.Units, ",")...)
			}
			out = append(out, c.trap())
			continue
		}
		out = append(out, fresh(d.Name(), b))
	}
	return out
}

// trap is a rule whose expressions are decoded when its check first runs.
func (c Compiled) trap() *trap.Trap {
	load := sync.OnceValues(func() (*rule.Rule, error) { return rule.Decode([]byte(c.Rule)) })
	t := &trap.Trap{Lore: trap.Lore(c.Lore), Cost: trap.Instant}
	t.Check = func(ctx context.Context, h *host.Host, rep *trap.Report) error {
		r, err := load()
		if err != nil {
			return err
		}
		return r.Check(ctx, h, rep)
	}
	if c.Remedy {
		t.Plan = func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
			r, err := load()
			if err != nil {
				return remedy.Plan{}, err
			}
			return r.Plan(ctx, h, f)
		}
	}
	return t
}

// fresh is a rule that nobody has compiled yet. One with mistakes, which the
// tests do not let pass, says so whenever it is checked.
func fresh(id string, b []byte) *trap.Trap {
	r, mistakes := rule.Parse(id+"/rule.yaml", b, true)
	if r != nil {
		rule.AskTogether(r.Units()...)
		return r.Trap()
	}
	return &trap.Trap{
		Lore:  trap.Lore(fmt.Sprintf("---\nid: %s\ntitle: A rule with mistakes\n---\n", id)),
		Check: func(context.Context, *host.Host, *trap.Report) error { return mistakes },
	}
}
