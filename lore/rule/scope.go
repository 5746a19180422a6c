package rule

import (
	"context"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"fettle/host"
)

// reading is one run of a rule over one host: its facts, each read once.
type reading struct {
	ctx  context.Context
	h    *host.Host
	rule *Rule

	facts map[string]answer
}

type answer struct {
	val ref.Val // or *types.Err
	ev  *object // whose evidence it has; nil: a list
}

// unreadable is the error of a fact that nobody could look at.
type unreadable struct{ err error }

func (u *unreadable) Error() string { return u.err.Error() }
func (u *unreadable) Unwrap() error { return u.err }

// scope is what the names of an expression stand for: a reading, and the
// element of each at hand. It keeps which facts were looked at.
type scope struct {
	*reading
	it   *ref.Val
	lets map[string]letAnswer
	used []string
}

type letAnswer struct {
	val  ref.Val
	used []string
}

func (s *scope) Parent() cel.Activation { return nil }

// ResolveName reads the fact of that name when an expression needs it.
func (s *scope) ResolveName(name string) (any, bool) {
	if s.it != nil && name == s.rule.As {
		s.use(name)
		return *s.it, true
	}
	if f := s.rule.facts[name]; f != nil {
		s.use(name)
		return s.fact(f), true
	}
	if l := s.rule.lets[name]; l != nil {
		return s.let(l), true
	}
	switch name {
	case "now":
		return types.Timestamp{Time: s.h.Now()}, true
	case "host":
		return s.hostObject(), true
	case "os":
		return s.fact(&Fact{Name: "os", Kind: "os"}), true
	}
	return nil, false
}

func (s *scope) use(name string) {
	if !slices.Contains(s.used, name) {
		s.used = append(s.used, name)
	}
}

func (s *scope) let(l *Let) ref.Val {
	if a, ok := s.lets[l.Name]; ok {
		for _, u := range a.used {
			s.use(u)
		}
		return a.val
	}
	outer := s.used
	s.used = nil
	v, err := l.Expr.eval(s.ctx, s)
	if err != nil {
		v = types.WrapErr(&unreadable{err})
	}
	if s.lets == nil {
		s.lets = map[string]letAnswer{}
	}
	s.lets[l.Name] = letAnswer{v, s.used}
	inner := s.used
	s.used = outer
	for _, u := range inner {
		s.use(u)
	}
	return v
}

func (r *reading) fact(f *Fact) ref.Val { return r.answer(f).val }

func (r *reading) answer(f *Fact) answer {
	if a, ok := r.facts[f.Name]; ok {
		return a
	}
	v, err := kinds()[f.Kind].read(r, f)
	var a answer
	if err != nil {
		a.val = types.WrapErr(&unreadable{err})
	} else {
		a.ev, _ = v.(*object)
		a.val = toVal(v)
	}
	r.facts[f.Name] = a
	return a
}

func (r *reading) hostObject() *object {
	id := r.h.Identity()
	return newObject("host", "", "", map[string]any{
		"name": id.Hostname, "kind": string(r.h.Kind()), "running": r.h.Running(), "machine": id.Machine, "root": id.EUID == 0,
	})
}
