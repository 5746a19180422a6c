package rule

import (
	"context"
	"fmt"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
)

// Remedy is how a rule fixes its findings.
type Remedy struct {
	Title          *Text         `json:"title"`
	Notes          []*Text       `json:"notes,omitempty"`
	Refuse         []Refusal     `json:"refuse,omitempty"`
	Settle         time.Duration `json:"settle,omitempty"`
	CutsConnection bool          `json:"cuts_connection,omitempty"`
	// Vanishes: of a rule with each that lists only what is wrong, why the rule
	// does not speak of the element any more once it is fixed.
	Vanishes string `json:"vanishes,omitempty"`
	Steps    []Step `json:"steps"`
}

// Refusal is a case in which fettle makes no plan.
type Refusal struct {
	When *Expr `json:"when"`
	Why  *Text `json:"why"`
}

// Step is one step; Args by the names in the documentation, those of a map
// within a step as "set.key".
type Step struct {
	Kind  string             `json:"kind"`
	Line  int                `json:"line"`
	When  *Expr              `json:"when,omitempty"`
	Args  map[string]*Text   `json:"args,omitempty"`
	Words map[string][]*Text `json:"words,omitempty"`
}

// Plan makes the plan for one finding. It is a trap.Trap's Plan.
func (r *Rule) Plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	var p remedy.Plan
	s := r.scope(ctx, h)
	if r.Each != nil {
		found, err := r.element(ctx, s, f.Subject)
		if err != nil {
			return p, err
		}
		s = found
	}
	for _, no := range r.Remedy.Refuse {
		hit, err := no.When.truth(ctx, s)
		if err != nil {
			return p, err
		}
		if hit {
			why, err := no.Why.line(ctx, s)
			if err != nil {
				return p, err
			}
			return p, remedy.Refuse("%s", why)
		}
	}
	var err error
	if p.Title, err = r.Remedy.Title.line(ctx, s); err != nil {
		return p, err
	}
	p.Settle, p.CutsConnection, p.Vanishes = r.Remedy.Settle, r.Remedy.CutsConnection, r.Remedy.Vanishes
	switch {
	case r.From != "":
		p.Notes = append(p.Notes, "this plan is that of the rule "+r.ID+" of "+r.From)
	case !r.Shipped:
		p.Notes = append(p.Notes, "this plan is that of the rule "+r.Path)
	}
	for _, n := range r.Remedy.Notes {
		note, err := n.line(ctx, s)
		if err != nil {
			return p, err
		}
		p.Notes = append(p.Notes, note)
	}
	b := &planner{reading: s.reading, scope: s, contents: map[string]edited{}}
	for i := range r.Remedy.Steps {
		st := &r.Remedy.Steps[i]
		if st.When != nil {
			ok, err := st.When.truth(ctx, s)
			if err != nil {
				return p, err
			}
			if !ok {
				continue
			}
		}
		if err := b.step(ctx, st); err != nil {
			return p, fmt.Errorf("%s:%d: step %s: %w", r.Path, st.Line, st.Kind, err)
		}
	}
	if p.Steps = b.steps; len(p.Steps) == 0 {
		return p, remedy.Refuse("the remedy of %s has no step for this finding: see fettle explain %s", r.ID, r.ID)
	}
	return p, nil
}

// element finds the element of each that a finding is about.
func (r *Rule) element(ctx context.Context, s *scope, subject string) (*scope, error) {
	els, err := r.elements(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, it := range els {
		es := &scope{reading: s.reading, it: it}
		name, err := r.Subject.line(ctx, es)
		if err != nil {
			return nil, err
		}
		if name == subject {
			return es, nil
		}
	}
	return nil, remedy.Refuse("%s is no longer there", subject)
}

// Trap makes the trap of a rule.
func (r *Rule) Trap() *trap.Trap { return r.Freeze().Trap() }
