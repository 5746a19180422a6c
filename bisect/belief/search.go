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
	var ends [2]bool
	for _, r := range readings {
		ends[0] = ends[0] || r.At == 0
		ends[1] = ends[1] || r.At == s.Last
	}
	if s.Prior.Levels == nil && !(ends[0] && ends[1]) {
		return nil
	}
	t := &Thought{}
	t.Posterior = New(s.Kind, s.Last, readings, s.Prior)
	if s.Kind == Figures && len(readings) > enoughForDrift {
		t.Posterior, t.Drifted = t.steady(readings, s.Prior)
	}
	t.Verdict = t.Posterior.Verdict(s.Prior, s.Usable)
	t.Sure = t.Verdict.Located && t.Verdict.Confidence >= s.Confidence
	return t
}

// Next is the commit to read next: runs is how many were begun, count how often
// a commit was read or is being read, busy whether it is being read. ok is
// false when nothing useful can be begun now.
func (s *Search) Next(t *Thought, runs int, count func(at int) int, busy func(at int) bool, rng *rand.Rand) (at int, ok bool) {
	for _, end := range []int{0, s.Last} {
		if count(end) < endsFirst && s.Prior.Levels == nil {
			return end, true
		}
	}
	if t == nil {
		return 0, false // the ends are being read
	}
	fewer := 0
	if count(s.Last) < count(0) {
		fewer = s.Last
	}
	if s.Prior.Levels == nil && count(fewer) < endsMost && t.Apart() < endsApart {
		return fewer, true
	}
	if s.Kind == Figures && runs%backToEnds == 0 {
		return fewer, true
	}
	free := func(at int) bool { return s.Usable(at) && !busy(at) }
	at, _ = t.Posterior.Next(free, s.Cost, rng)
	if at < 0 {
		at, _ = t.Posterior.Next(s.Usable, s.Cost, rng)
	}
	return at, at >= 0
}
