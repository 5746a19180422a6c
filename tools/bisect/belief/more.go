package belief

import "math"

// moreOdds is by how many times the readings must have raised the odds of further
// changes before they are looked for.
const moreOdds = 3

// More tells whether the readings speak for more changes than the verdict of a
// search for one has: where its change explains only a part of what the ends
// differ by, the levels on either side of it do not fit what was read there.
func (s *Search) More(readings []Reading) bool {
	one := s.Think(readings)
	if one == nil || s.Prior.Extra >= Several.Extra || len(one.Verdict.Changes) == 0 {
		return false
	}
	wide := *s
	wide.Prior = s.Wider()
	t := wide.Think(readings)
	var same []int
	for i, g := range t.Gaps() {
		for _, c := range one.Verdict.Changes {
			if g.First == c.First && g.Last == c.Last {
				same = append(same, i)
			}
		}
	}
	if len(same) != len(one.Verdict.Changes) {
		return true
	}
	only := t.Only(same, wide.Prior)
	before := math.Expm1(wide.Prior.Extra) // odds of one further change or more
	return 1-only > moreOdds*before*only
}

// Wider is the prior of one who thinks more changes possible.
func (s *Search) Wider() Prior {
	p := s.Prior
	p.Extra = max(p.Extra, Several.Extra)
	return p
}

// Ends are the levels of the two ends, judged by the readings of these alone.
func (p *Posterior) Ends() (first, last Level) {
	ends := [2]Level{}
	for i, at := range []int{0, len(p.sites) - 1} {
		var mean, square float64
		for _, pl := range p.planes {
			s := pl.seg[at][0]
			mean += pl.weight * s.mean
			square += pl.weight * (s.vari + s.mean*s.mean)
		}
		ends[i] = Level{mean, math.Sqrt(max(0, square-mean*mean))}
	}
	return ends[0], ends[1]
}
