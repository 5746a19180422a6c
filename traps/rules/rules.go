// Package rules holds the traps that are written as rules: a folder each, with
// rule.yaml and samples (docs/rules.md). They need no line of Go.
//
// What goes on a host is in package compiled: Go that is made of the rules, so
// that running them costs neither the YAML parser nor a check of types. After a
// change:
//
//	go generate ./traps/rules
//
// A test tells when that was forgotten.
package rules

import (
	"context"
	"sync"

	"fettle/engine/remedy"
	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/traps/rules/compiled"
)

//go:generate go run ./generate

// All lists the traps of all rules, by name.
func All() []*trap.Trap {
	out := make([]*trap.Trap, len(compiled.All))
	for i, c := range compiled.All {
		out[i] = makeTrap(c)
	}
	return out
}

// makeTrap is a rule that is made when its check first runs.
func makeTrap(c *compiled.Rule) *trap.Trap {
	ready := sync.OnceValue(func() *rule.Rule { return c.Make().Ready() })
	t := &trap.Trap{Lore: c.Lore, Cost: trap.Instant, Units: c.Units}
	t.Check = func(ctx context.Context, h *host.Host, rep *trap.Report) error { return ready().Check(ctx, h, rep) }
	if c.Remedy {
		t.Plan = func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
			return ready().Plan(ctx, h, f)
		}
	}
	return t
}
