package belief

import (
	"math"
	"math/rand/v2"
	"sort"
)

// draws is how many sets of changes are drawn to judge what a reading tells.
const draws = 64

// Next is the commit whose reading tells most about where the changes are, by
// its cost: commits for which usable is false are passed over. tells is what
// one reading tells, in bits; 0 and -1 when nothing usable tells anything.
func (p *Posterior) Next(usable func(at int) bool, cost func(at int) float64, rng *rand.Rand) (at int, tells float64) {
	information := p.exactly()
	if information == nil {
		drawn := p.draw(rng, draws)
		information = func(at int) float64 { return p.information(at, drawn) }
	}
	best, at := 0.0, -1
	for _, c := range p.candidates(usable) {
		if bits := information(c); bits/cost(c) > best {
			best, at, tells = bits/cost(c), c, bits
		}
	}
	return at, tells
}

// candidates are the commits that are read already, and for each gap that may
// hide a change some between.
func (p *Posterior) candidates(usable func(int) bool) []int {
	var list []int
	for _, s := range p.sites {
		if usable(s.at) {
			list = append(list, s.at)
		}
	}
	for _, g := range p.Gaps() {
		if g.Change < 1e-4 || g.First == g.Last {
			continue
		}
		n := g.Last - g.First // commits inside, both ends aside
		for _, part := range []float64{0.25, 0.5, 0.75} {
			if c, ok := nearest(g, g.First+int(part*float64(n)), usable); ok {
				list = append(list, c)
			}
		}
	}
	return list
}

// nearest is the usable commit nearest to the wanted one inside a gap, the
// end that was read already aside.
func nearest(g Gap, want int, usable func(int) bool) (int, bool) {
	for d := 0; d < g.Last-g.First; d++ {
		for _, c := range []int{want - d, want + d} {
			if c >= g.First && c < g.Last && usable(c) {
				return c, true
			}
		}
	}
	return 0, false
}

// sample is one set of changes, drawn by its probability.
type sample struct {
	plane *plane
	cuts  []int // the sites at which segments begin, 0 first
}

func (p *Posterior) draw(rng *rand.Rand, n int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		// Stratified: the planes in proportion.
		samples[i] = p.drawOne(rng, (float64(i)+rng.Float64())/float64(n))
	}
	return samples
}

func (p *Posterior) drawOne(rng *rand.Rand, u float64) sample {
	pl := &p.planes[len(p.planes)-1]
	for i := range p.planes {
		if u -= p.planes[i].weight; u < 0 {
			pl = &p.planes[i]
			break
		}
	}
	t := len(p.sites)
	cuts := []int{0}
	if rng.Float64() < math.Exp(pl.zero-pl.logZ) {
		return sample{pl, cuts}
	}
	// The first segment ends before the last site, since there is a change.
	some := sumLogs(t-1, func(k int) float64 { return pl.step(0, k+1) })
	for i := pl.cut(0, t, some, rng); i < t; i = pl.cut(i, t, pl.back[i], rng) {
		cuts = append(cuts, i)
	}
	return sample{pl, cuts}
}

// cut draws where the segment that begins at site i ends: the site after it. all
// is the log weight of all that is possible.
func (pl *plane) cut(i, t int, all float64, rng *rand.Rand) int {
	u := rng.Float64()
	for j := i + 1; j < t; j++ {
		if u -= math.Exp(pl.step(i, j) - all); u < 0 {
			return j
		}
	}
	if i == 0 {
		return t - 1 // there is a change; u was rounded away
	}
	return t
}

// step is the log weight of a segment of sites i to j-1, a change after it, and
// all that may follow.
func (pl *plane) step(i, j int) float64 {
	return pl.seg[i][j-i-1].log + pl.gaps[j] - pl.none[i] + pl.back[j]
}

// exactly is what a reading tells where all but the place of one change is told:
// its commit then has one of two levels, with probabilities that need no draws. nil:
// elsewhere.
func (p *Posterior) exactly() func(at int) float64 {
	if p.prior.Levels == nil || p.prior.Extra > One.Extra || p.kind == Figures && p.prior.Noise == 0 {
		return nil
	}
	gaps, scale := p.Gaps(), p.Scale()
	// Without a change all commits are on one of the two: which, the readings tell.
	all := 0.0
	for _, pl := range p.planes {
		all += pl.weight * math.Exp(
			pl.zero-pl.logZ,
		) * (pl.seg[0][len(p.sites)-1].mean - p.prior.Levels[0]) / (p.prior.Levels[1] - p.prior.Levels[0])
	}
	return func(at int) float64 {
		passed := all
		for _, g := range gaps {
			passed += g.Change * float64(min(max(at-g.First+1, 0), g.Last-g.First+1)) / float64(g.Last-g.First+1)
		}
		passed = min(passed, 1)
		list := []component{{1 - passed, p.prior.Levels[0], scale}, {passed, p.prior.Levels[1], scale}}
		if p.kind == Tests {
			return bernoulliBits(list)
		}
		return figureBits(list)
	}
}

// component is one level that a reading may have.
type component struct{ weight, level, scale float64 }

// information is what one reading of a commit tells about the set of changes,
// in bits.
func (p *Posterior) information(at int, drawn []sample) float64 {
	var list []component
	for _, s := range drawn {
		list = p.levelsAt(list, at, s)
	}
	if p.kind == Tests {
		return bernoulliBits(list)
	}
	return figureBits(list)
}

// levelsAt appends the levels that a commit may have in one set of changes.
func (p *Posterior) levelsAt(list []component, at int, s sample) []component {
	i := sort.Search(len(p.sites), func(i int) bool { return p.sites[i].at >= at })
	seg := sort.Search(len(s.cuts), func(k int) bool { return s.cuts[k] > i }) - 1
	right := component{1, p.levelOf(s, seg), s.plane.scale}
	if p.sites[i].at == at || s.cuts[seg] != i {
		return append(list, right) // read already, or no change in this gap
	}
	before := float64(at-p.sites[i-1].at) / float64(p.gap(i)) // the change is at this commit or before
	left := component{1 - before, p.levelOf(s, seg-1), s.plane.scale}
	right.weight = before
	return append(list, left, right)
}

func (p *Posterior) levelOf(s sample, k int) float64 {
	end := len(p.sites)
	if k+1 < len(s.cuts) {
		end = s.cuts[k+1]
	}
	return s.plane.seg[s.cuts[k]][end-s.cuts[k]-1].mean
}

// bernoulliBits is the mutual information of a test's outcome and the set.
func bernoulliBits(list []component) float64 {
	var all, mean, inner float64
	for _, c := range list {
		all += c.weight
		mean += c.weight * c.level
		inner += c.weight * entropy2(c.level)
	}
	return entropy2(mean/all) - inner/all
}

func entropy2(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}

// figureBits is the mutual information of a figure and the set: the entropy of
// the mixture less that of its parts, integrated over a grid. A scale too fine
// for the grid is widened: levels so far apart are distinguished anyway.
func figureBits(list []component) float64 {
	const points = 64
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range list {
		lo, hi = min(lo, c.level), max(hi, c.level)
	}
	if lo == hi {
		return 0
	}
	floor := (hi - lo) / 16
	wide := 0.0
	for i := range list {
		list[i].scale = max(list[i].scale, floor)
		wide = max(wide, list[i].scale)
	}
	lo, hi = lo-3*wide, hi+3*wide
	step := (hi - lo) / points
	density := make([]float64, points)
	var all, inner float64
	for _, c := range list {
		all += c.weight
		inner += c.weight * math.Log2(c.scale*math.Sqrt(2*math.Pi*math.E))
		addNormal(density, c, lo, step)
	}
	mixed := 0.0
	for _, d := range density {
		if d > 0 {
			d /= all
			mixed -= d * step * math.Log2(d)
		}
	}
	return max(0, mixed-inner/all)
}

// addNormal adds a component to a density on a grid.
func addNormal(density []float64, c component, lo, step float64) {
	norm := c.weight / (c.scale * math.Sqrt(2*math.Pi))
	from := max(0, int((c.level-5*c.scale-lo)/step))
	to := min(len(density), int((c.level+5*c.scale-lo)/step)+1)
	for i := from; i < to; i++ {
		z := (lo + (float64(i)+0.5)*step - c.level) / c.scale
		density[i] += norm * math.Exp(-0.5*z*z)
	}
}
