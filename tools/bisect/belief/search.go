package belief

import "math/rand/v2"

// Search is a hunt's way to decide: the same in simulations and for real.
type Search struct {
	Kind       Kind
	Last       int // the place of the bad end
	Prior      Prior
	Confidence float64 // at which it is sure
	// Usable is false for commits that give no reading.
	Usable func(at int) bool
	// Cost is what reading a commit costs, in any unit.
	Cost func(at int) float64
}

// Thought is what is believed after some readings.
type Thought struct {
	*Posterior
	Verdict Verdict
	Drifted bool // a drift of the machine showed, and was taken out
	Sure    bool
	// hidden is the probability of changes that take each other back between two
	// neighbours that were read, and widest a commit that would tell most of them.
	hidden float64
	widest int
	// confirm are commits beside a change that one host alone has read.
	confirm []int
}

// Each end is read twice at first, and again until their levels are apart by
// enough standard errors, or that often. Later every so many runs go to an
// end: what it gains or loses meanwhile is the machine's drift.
const (
	endsFirst      = 2
	endsMost       = 5
	endsApart      = 2.5
	backToEnds     = 7
	enoughForDrift = 12 // readings; fewer can't tell a drift from a change
)

// Think weighs readings in the order of time; nil while an end has none, and
// its level is not known.
func (s *Search) Think(readings []Reading) *Thought {
	readings = s.even(readings)
	if s.Prior.Levels == nil && !bothEnds(readings, s.Last) {
		return nil
	}
	t := &Thought{}
	t.Posterior = New(s.Kind, s.Last, readings, s.Prior)
	if s.Kind == Figures && len(readings) > enoughForDrift {
		t.Posterior, t.Drifted = t.steady(readings, s.Prior)
	}
	t.Verdict = t.Posterior.Verdict(s.Prior, s.Usable)
	t.hidden, t.widest = t.Posterior.hidden(s.Prior, s.Usable)
	t.Verdict.Confidence *= 1 - t.hidden
	t.Sure = t.Verdict.Located && t.Verdict.Confidence >= s.Confidence
	if s.Kind == Figures && t.Sure {
		t.confirm = unconfirmed(readings, t.Verdict)
		t.Sure = len(t.confirm) == 0
	}
	return t
}

// Pace is what was begun up to now.
type Pace struct {
	Runs  int               // on the host that is free now
	Count func(at int) int  // how often a commit was read or is being read
	Here  func(at int) int  // that on the host that is free now; nil: there is but one
	Busy  func(at int) bool // whether it is being read
}

// Next is the commit to read next. ok is false when nothing useful can be begun
// now.
func (s *Search) Next(t *Thought, p Pace, rng *rand.Rand) (at int, ok bool) {
	count := p.Count
	for _, end := range []int{0, s.Last} {
		if count(end) < endsFirst && s.Prior.Levels == nil {
			return end, true
		}
		// What all hosts have read is what their figures are compared by.
		if s.Kind == Figures && p.Here != nil && p.Here(end) == 0 {
			return end, true
		}
	}
	if t == nil {
		return 0, false // the ends are being read
	}
	for _, at := range t.confirm {
		if p.Here != nil && p.Here(at) == 0 && !p.Busy(at) {
			return at, true
		}
	}
	if len(t.confirm) > 0 && !p.Busy(t.confirm[0]) {
		return t.confirm[0], true
	}
	fewer := 0
	if count(s.Last) < count(0) {
		fewer = s.Last
	}
	if s.Prior.Levels == nil && count(fewer) < endsMost && t.Apart() < endsApart {
		return fewer, true
	}
	if s.Kind == Figures && p.Runs%backToEnds == 0 {
		return fewer, true
	}
	if t.hidden > (1-s.Confidence)/2 && !p.Busy(t.widest) {
		return t.widest, true
	}
	free := func(at int) bool { return s.Usable(at) && !p.Busy(at) }
	at, _ = t.Posterior.Next(free, s.Cost, rng)
	if at < 0 {
		at, _ = t.Posterior.Next(s.Usable, s.Cost, rng)
	}
	return at, at >= 0
}
