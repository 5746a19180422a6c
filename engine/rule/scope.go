package rule

import (
	"context"
	"slices"

	"fettle/host"
	"fettle/host/fact/container"
)

// reading is one run of a rule over one host: its facts, each read once.
type reading struct {
	ctx  context.Context
	h    *host.Host
	rule *Rule

	facts map[string]answer
}

type answer struct {
	val any
	err error
}

// unreadable is the error of a fact that nobody could look at.
type unreadable struct{ err error }

func (u *unreadable) Error() string { return u.err.Error() }
func (u *unreadable) Unwrap() error { return u.err }

// scope is what the names of an expression stand for: a reading, and the
// element of each at hand. It keeps which facts were looked at.
type scope struct {
	*reading
	it   any // nil: there is none
	lets map[string]letAnswer
	used []string
}

type letAnswer struct {
	answer
	used []string
}

// Value reads the fact of that name when an expression needs it.
func (s *scope) Value(name string) (v any, known bool, err error) {
	if s.it != nil && name == s.rule.As {
		s.use(name)
		return s.it, true, nil
	}
	if f := s.rule.facts[name]; f != nil {
		s.use(name)
		a := s.answer(f)
		return a.val, true, a.err
	}
	if l := s.rule.lets[name]; l != nil {
		a := s.let(l)
		return a.val, true, a.err
	}
	switch name {
	case "now":
		return s.h.Now(), true, nil
	case "host":
		return s.host(), true, nil
	case "os":
		a := s.answer(osOfHost)
		return a.val, true, a.err
	}
	return nil, false, nil
}

// osOfHost is the fact os, which every rule has.
var osOfHost = &Fact{Name: "os", Kind: "os"}

func (s *scope) use(name string) {
	if !slices.Contains(s.used, name) {
		s.used = append(s.used, name)
	}
}

func (s *scope) let(l *Let) answer {
	if a, ok := s.lets[l.Name]; ok {
		for _, u := range a.used {
			s.use(u)
		}
		return a.answer
	}
	outer := s.used
	s.used = nil
	var a answer
	if v, err := l.Expr.eval(s.ctx, s); err != nil {
		a.err = &unreadable{err}
	} else {
		a.val = v
	}
	if s.lets == nil {
		s.lets = map[string]letAnswer{}
	}
	s.lets[l.Name] = letAnswer{a, s.used}
	inner := s.used
	s.used = outer
	for _, u := range inner {
		s.use(u)
	}
	return a
}

func (r *reading) answer(f *Fact) answer {
	if a, ok := r.facts[f.Name]; ok {
		return a
	}
	v, err := kinds()[f.Kind].read(r, f)
	var a answer
	if err != nil {
		a.err = &unreadable{err}
	} else {
		a.val = v
	}
	r.facts[f.Name] = a
	return a
}

func (s *reading) host() *hostFact {
	id := s.h.Identity()
	return &hostFact{Name: id.Hostname, Kind: string(s.h.Kind()), Running: s.h.Running(), Machine: id.Machine, Root: id.EUID == 0,
		Container: func() (string, error) { return container.Of(s.ctx, s.h), nil }}
}
