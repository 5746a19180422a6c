package rule

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"fettle/engine/remedy"
	"fettle/engine/rule/cel"
	"fettle/engine/trap"
	"fettle/host"
)

// Frozen is a rule that was checked, in the form in which it is kept: what a list
// shows as it is, what its check needs in flat form, read when the check runs. The
// rules that fettle ships, those of packs and an admin's own are all kept so.
type Frozen struct {
	ID     string
	Lore   trap.Lore
	Units  []string // that it asks about
	Remedy bool     // it has one
	From   string   // the pack and its signer; empty of fettle's own and an admin's
	Path   string   // the file that it came from

	Gate string // flat: a rule of the conditions of applies and what they read; empty: it applies everywhere
	Body string // flat: all of the rule

	// Off is the pack whose remedies root has not turned on, where this rule has one; what is
	// kept does not say so.
	Off string `json:"-"`

	// shipped says that it is part of this binary. It is not part of what is kept:
	// no file can say it of itself.
	shipped bool
}

// Freeze makes the form in which a rule is kept.
func (r *Rule) Freeze() *Frozen {
	f := &Frozen{ID: r.ID, Lore: r.Lore(), Units: r.Units(), Remedy: r.Remedy != nil, From: r.From, Path: r.Path, shipped: r.Shipped}
	if len(r.Applies) > 0 {
		f.Gate = string(flatten(r.gate()))
	}
	f.Body = string(flatten(r))
	return f
}

// gate is the part of a rule that tells whether it applies.
func (r *Rule) gate() *Rule {
	g := &Rule{Path: r.Path, As: r.As, Applies: r.Applies}
	var look func(e *Expr)
	look = func(e *Expr) {
		tree, err := cel.Parse(e.Source)
		if err != nil {
			return // the rule's own mistake; it was checked
		}
		tree.Visit(func(v cel.Visited) {
			if f := r.facts[v.Name]; f != nil && !slices.ContainsFunc(g.Facts, func(o Fact) bool { return o.Name == f.Name }) {
				g.Facts = append(g.Facts, *f)
			}
			if l := r.lets[v.Name]; l != nil && !slices.ContainsFunc(g.Lets, func(o Let) bool { return o.Name == l.Name }) {
				g.Lets = append(g.Lets, *l)
				look(l.Expr)
			}
		})
	}
	for _, c := range r.Applies {
		look(c.When)
		for _, p := range c.Otherwise.Parts {
			if p.Expr != nil {
				look(p.Expr)
			}
		}
	}
	return g
}

// thaw reads a part of the rule.
func (f *Frozen) thaw(part string) (*Rule, error) {
	r := &Rule{}
	if err := unflatten(part, r); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	r.Shipped, r.From = f.shipped, f.From
	if !f.shipped && r.privileged() {
		return nil, fmt.Errorf("%s: only fettle's own rules may run commands", f.Path)
	}
	return r.Ready(), nil
}

// privileged tells whether a rule does what only fettle's own may.
func (r *Rule) privileged() bool {
	return slices.ContainsFunc(r.Facts, func(f Fact) bool { return f.Kind == "command" }) ||
		r.Remedy != nil && slices.ContainsFunc(r.Remedy.Steps, func(s Step) bool { return stepForms[s.Kind].shipped })
}

// Trap makes the trap of a rule that is read when its check runs, and no more of
// it than the check needs.
func (f *Frozen) Trap() *trap.Trap {
	gate := sync.OnceValues(func() (*Rule, error) { return f.thaw(f.Gate) })
	whole := sync.OnceValues(func() (*Rule, error) { return f.thaw(f.Body) })
	t := &trap.Trap{Lore: f.Lore, Cost: trap.Instant, Units: f.Units}
	t.Check = func(ctx context.Context, h *host.Host, rep *trap.Report) error {
		ctx, cancel := context.WithTimeout(ctx, timeLimit)
		defer cancel()
		var s *scope
		if f.Gate != "" {
			g, err := gate()
			if err != nil {
				return err
			}
			s = g.scope(ctx, h)
			if !g.passes(ctx, s, rep) {
				return nil
			}
		}
		r, err := whole()
		if err != nil {
			return err
		}
		if s == nil {
			s = r.scope(ctx, h)
		}
		s.rule = r // what the gate has read counts on
		return r.look(ctx, s, rep)
	}
	if f.Remedy {
		t.Plan = func(ctx context.Context, h *host.Host, fi trap.Finding) (remedy.Plan, error) {
			r, err := whole()
			if err != nil {
				return remedy.Plan{}, err
			}
			return r.Plan(ctx, h, fi)
		}
	}
	return t
}

// Book is rules in one text.
func Book(rules []*Frozen) []byte { return AppendBook(nil, rules) }

// AppendBook is Book after what there is.
func AppendBook(b []byte, rules []*Frozen) []byte {
	size := 0
	for _, f := range rules {
		size += len(f.Lore) + len(f.Gate) + len(f.Body) + 300
	}
	return appendFlat(slices.Grow(b, size), reflect.ValueOf(rules))
}

// OpenBook reads what Book wrote. Of each rule it reads what a list shows. shipped
// is for the book that is part of the binary, and no other.
func OpenBook(book string, shipped bool) ([]*Frozen, error) {
	var rules []*Frozen
	if err := unflatten(book, &rules); err != nil {
		return nil, err
	}
	for _, f := range rules {
		if f == nil {
			return nil, errFlat
		}
		f.shipped = shipped
	}
	return rules, nil
}
