package rule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle/engine/rule/cel"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/ui"
)

// timeLimit is how long one rule of a stranger may take.
const timeLimit = 3 * time.Second

// eachLimit is how many elements one rule looks at.
const eachLimit = 5000

// Check looks at the host and reports one outcome per subject. It is a
// trap.Trap's Check.
func (r *Rule) Check(ctx context.Context, h *host.Host, rep *trap.Report) error {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	s := r.scope(ctx, h)
	if !r.passes(ctx, s, rep) {
		return nil
	}
	return r.look(ctx, s, rep)
}

// passes tells whether the rule applies. Where it does not, or nobody can tell, it reports that.
func (r *Rule) passes(ctx context.Context, s *scope, rep *trap.Report) bool {
	ok, err := r.applies(ctx, s, rep)
	if err != nil {
		unknown(rep, "", err)
	}
	return ok && err == nil
}

// look judges a host that the rule applies to.
func (r *Rule) look(ctx context.Context, s *scope, rep *trap.Report) error {
	if r.Each == nil {
		r.judge(ctx, s, "", rep)
		return nil
	}
	s.used = nil
	els, err := r.elements(ctx, s)
	if err != nil {
		return err
	}
	if len(els) == 0 {
		return r.empty(ctx, s, rep)
	}
	for _, it := range els {
		if err := ctx.Err(); err != nil {
			return err
		}
		es := &scope{reading: s.reading, it: it}
		subject, err := r.Subject.line(ctx, es)
		if err != nil {
			rep.Unknown("", err)
			continue
		}
		r.judge(ctx, es, subject, rep)
	}
	return nil
}

// unknown reports why nobody could look. A host whose packages neither dpkg
// nor rpm manages is none that a rule about their versions speaks of.
func unknown(rep *trap.Report, subject string, err error, ev ...trap.Evidence) {
	if errors.Is(err, errNoPackages) {
		rep.NotApplicable(subject, errNoPackages.Error(), ev...)
		return
	}
	rep.Unknown(subject, err, ev...)
}

func (r *Rule) scope(ctx context.Context, h *host.Host) *scope {
	return &scope{reading: &reading{ctx: ctx, h: h, rule: r, facts: map[string]answer{}}}
}

// empty says what an empty list of each means: what none says, or else clear,
// for a list of those that are in the trap.
func (r *Rule) empty(ctx context.Context, s *scope, rep *trap.Report) error {
	if r.None != nil {
		why, err := r.None.line(ctx, s)
		if err == nil {
			rep.NotApplicable("", why)
		}
		return err
	}
	said, err := r.Clear.line(ctx, s)
	if err == nil {
		rep.Clear("", said)
	}
	return err
}

// applies reports why the rule has nothing to say here, if so.
func (r *Rule) applies(ctx context.Context, s *scope, rep *trap.Report) (bool, error) {
	for _, c := range r.Applies {
		s.used = nil
		ok, err := c.When.truth(ctx, s)
		if err != nil {
			return false, err
		}
		if !ok {
			used := s.used
			why, err := c.Otherwise.line(ctx, s)
			if err != nil {
				return false, err
			}
			rep.NotApplicable("", why, s.evidence(used)...)
			return false, nil
		}
	}
	return true, nil
}

func (r *Rule) elements(ctx context.Context, s *scope) ([]any, error) {
	v, err := r.Each.eval(ctx, s)
	if err != nil {
		return nil, err
	}
	els, ok := cel.Elements(v)
	if !ok {
		return nil, &Fault{r.Path, r.Each.Line, errors.New("each is not a list")}
	}
	if len(els) > eachLimit {
		return nil, &Fault{r.Path, r.Each.Line, fmt.Errorf("each has more than %d elements", eachLimit)}
	}
	return els, nil
}

// judge tries the findings on one subject. Of those that speak of the same
// one, the first that holds counts. Where one could not be decided, nothing is
// clear.
func (r *Rule) judge(ctx context.Context, s *scope, subject string, rep *trap.Report) {
	held := map[string]bool{}
	undecided := false
	var looked []string
	for i := range r.Findings {
		f := &r.Findings[i]
		s.used = nil
		on := subject
		ok, err := f.When.truth(ctx, s)
		used := s.used
		if s.it != nil { // the element is what it is about
			used = append(used, r.As)
		}
		if err == nil && !ok {
			looked = append(looked, used...)
			continue
		}
		if f.Subject != nil {
			name, serr := f.Subject.line(ctx, s)
			if serr == nil {
				on = name
			} else if err == nil {
				err = serr
			}
		}
		if held[on] {
			continue
		}
		var o trap.Finding
		if err == nil {
			o, err = r.finding(ctx, s, f, used)
		}
		if err != nil {
			undecided = true
			unknown(rep, on, err, s.evidence(used)...)
			continue
		}
		held[on] = true
		o.Subject = on
		rep.Found(o)
	}
	if len(held) > 0 || undecided {
		return
	}
	say, err := r.Clear.line(ctx, s)
	if err != nil {
		rep.Unknown(subject, err)
		return
	}
	rep.Clear(subject, say, s.evidence(looked)...)
}

func (r *Rule) finding(ctx context.Context, s *scope, f *Finding, used []string) (trap.Finding, error) {
	o := trap.Finding{Severity: f.Severity, Start: f.Start}
	var err error
	if o.Summary, err = f.Summary.line(ctx, s); err != nil {
		return o, err
	}
	if o.Detail, err = f.Detail.prose(ctx, s); err != nil {
		return o, err
	}
	if o.ByHand, err = f.ByHand.line(ctx, s); err != nil {
		return o, err
	}
	if o.Lost, err = f.Lost.line(ctx, s); err != nil {
		return o, err
	}
	if len(f.Evidence) == 0 {
		o.Evidence = s.evidence(used)
		return o, nil
	}
	for _, e := range f.Evidence {
		if e.Fact != "" {
			s.Value(e.Fact)
			o.Evidence = append(o.Evidence, s.evidence([]string{e.Fact})...)
			continue
		}
		source, err := e.Source.line(ctx, s)
		if err != nil {
			return o, err
		}
		value, err := e.Value.line(ctx, s)
		if err != nil {
			return o, err
		}
		if source != "" {
			o.Evidence = append(o.Evidence, trap.Evidence{Source: source, Value: value})
		}
	}
	return o, nil
}

// evidence is what the named facts were read from, and what they said. The
// list that each goes through is left to its element.
func (s *scope) evidence(names []string) []trap.Evidence {
	var out []trap.Evidence
	seen := map[string]bool{}
	add := func(v any) {
		e, ok := v.(evident)
		if !ok || e.evidence().source == "" || seen[e.evidence().source] {
			return
		}
		o := e.evidence()
		seen[o.source] = true
		out = append(out, trap.Evidence{Source: o.source, Value: o.brief})
	}
	for _, n := range names {
		if s.it != nil && n == s.rule.As {
			add(s.it)
			continue
		}
		a, ok := s.facts[n]
		if !ok || a.err != nil {
			continue
		}
		add(a.val)
		if els, ok := cel.Elements(a.val); ok && s.it == nil {
			if seen[n] {
				continue
			}
			seen[n] = true
			out = append(out, listed(n, s.rule.facts[n], els))
		}
	}
	return out
}

// listed is what a fact that is a list held: the first names, or how many elements.
func listed(name string, f *Fact, els []any) trap.Evidence {
	source := name
	if f != nil {
		args := strings.Join(f.Args, ", ")
		switch {
		case f.Kind == "glob":
			source = args
		case args == "" || args == "all":
			source = f.Kind
		default:
			source = f.Kind + " " + args
		}
	}
	names := make([]string, 0, len(els))
	for _, el := range els {
		name, ok := el.(string)
		if !ok {
			return trap.Evidence{Source: source, Value: fmt.Sprintf("%d read", len(els))}
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return trap.Evidence{Source: source, Value: "none"}
	}
	return trap.Evidence{Source: source, Value: ui.Few(names, 3)}
}
