package belief

import "math"

// Change is a commit that moved the figure, or a run of commits one of which
// did, when those between can't be read.
type Change struct {
	First, Last   int
	Probability   float64 // that there is a change here
	Before, After Level
}

// Verdict is the likeliest set of changes.
type Verdict struct {
	Changes    []Change
	Levels     []Level // between the changes, and before and after them
	Located    bool    // each change is one commit, or can't be narrowed further
	Confidence float64 // that these are the changes, all of them, and no others
}

// Verdict says where the figure moved, as far as is known. Commits for which
// usable is false can't tell their neighbours apart.
func (p *Posterior) Verdict(prior Prior, usable func(at int) bool) Verdict {
	gaps := p.Gaps()
	var chosen []int
	for i, g := range gaps {
		if g.Change > 0.5 {
			chosen = append(chosen, i)
		}
	}
	v := Verdict{Located: true, Levels: p.Levels(chosen), Confidence: p.Only(chosen, prior)}
	for k, i := range chosen {
		g := gaps[i]
		v.Changes = append(v.Changes, Change{g.First, g.Last, g.Change, v.Levels[k], v.Levels[k+1]})
		if _, more := nearest(g, g.First, usable); more {
			v.Located = false
		}
	}
	return v
}

// Apart is how many standard errors the levels of the two ends are apart,
// judged by the readings of these alone.
func (p *Posterior) Apart() float64 {
	last := len(p.sites) - 1
	var best, weight float64
	for _, pl := range p.planes {
		a, b := pl.seg[0][0], pl.seg[last][0]
		best += pl.weight * math.Abs(b.mean-a.mean) / math.Sqrt(a.vari+b.vari)
		weight += pl.weight
	}
	return best / weight
}
