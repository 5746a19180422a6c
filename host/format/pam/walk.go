package pam

// impression is what the walk thinks so far (pam_dispatch.c).
type impression int8

const (
	undecided impression = iota
	positive
	negative
)

// mustFail is what a stack returns that nothing made succeed.
const mustFail = PermDenied

// verdict is what counts at any moment of a walk.
type verdict struct {
	imp    impression
	status Code
}

// state is where a walk is before it asks line at. It is comparable.
type state struct {
	at    int
	level int // of the line before
	now   verdict
	// saved is what stood before each substack that the walk is in.
	saved [maxDepth + 1]verdict
}

func start() state {
	v := verdict{undecided, mustFail}
	return state{now: v, saved: [maxDepth + 1]verdict{v}}
}

// enter prepares for line s.at: a higher level begins a substack.
func (s *state) enter(r *Rule) {
	if s.level < r.Level {
		s.saved[r.Level] = s.now
	}
	s.level = r.Level
}

// take goes on from line s.at, which answered code (_pam_dispatch_aux, for
// chains that are not frozen).
func (s *state) take(rules []Rule, code Code) {
	r := &rules[s.at]
	act := Bad
	if code >= 0 && code < codes {
		act = r.Actions[code]
	} else {
		code = mustFail
	}
	switch act {
	case Reset:
		s.now = s.saved[r.Level]
	case OK, Done:
		if s.now.imp == undecided || s.now == (verdict{positive, Success}) {
			s.now = verdict{positive, code}
		}
		if s.now.imp == positive && act == Done {
			s.leave(rules)
		}
	case Bad, Die:
		if s.now.imp != negative {
			s.now = verdict{negative, code}
			if code == Ignore {
				s.now.status = mustFail
			}
		}
		if act == Die {
			s.leave(rules)
		}
	case IgnoreIt:
	default: // a jump
		left := int(act)
		for s.stays(rules) && left > 0 {
			s.at++
			for s.at+1 < len(rules) && rules[s.at+1].Level > r.Level {
				s.at++ // a substack counts as one line
			}
			left--
		}
		if left > 0 { // beyond the end of the stack or substack: "bad jump in stack"
			s.now = verdict{negative, mustFail}
		}
	}
	s.at++
}

// stays reports whether the next line is of this stack or a deeper one.
func (s *state) stays(rules []Rule) bool {
	return s.at+1 < len(rules) && rules[s.at+1].Level >= s.level
}

// leave skips what is left of this stack.
func (s *state) leave(rules []Rule) {
	for s.stays(rules) {
		s.at++
	}
}

// result is what the stack returns.
func (s *state) result() Code {
	if s.now.status == Success && s.now.imp != positive {
		return mustFail
	}
	return s.now.status
}

// Walk is the answer of a stack whose modules answer as given: what
// pam_authenticate(3) and its siblings return. Answer is called for lines
// that ask a module, in the order of the walk.
func Walk(rules []Rule, answer func(r *Rule) Code) Code {
	if len(rules) == 0 {
		return mustFail // "no modules loaded for the service"
	}
	s := start()
	for s.at < len(rules) {
		r := &rules[s.at]
		s.enter(r)
		switch r.Kind {
		case Substack:
			s.at++
		case MustFail:
			s.take(rules, mustFail)
		default:
			s.take(rules, answer(r))
		}
	}
	return s.result()
}
