// Package belief says, from noisy readings of some commits of a history, which
// commits moved the figure, and which commit to read next.
//
// The figure is taken for a step function of the commit: constant but for a
// few changes, in either direction, of unknown size. Each reading is the level
// of its commit plus noise of unknown scale and with outliers (Student's t), or
// the outcome of a test that fails with a probability of its own (Bernoulli).
// All that is unknown besides the changes is integrated out, so that the
// probabilities are what they say. The sum over all sets of changes is exact:
// dynamic programming over the commits read, as in P. Fearnhead, "Exact and
// efficient Bayesian inference for multiple changepoint problems", Statistics
// and Computing 16 (2006).
package belief

import (
	"cmp"
	"math"
	"slices"
)

// Reading is one run of the command.
type Reading struct {
	At     int     // the commit's place in the history; 0 is the good end
	Figure float64 // what was measured; for tests 0 passes and 1 fails
	Time   float64 // when, in seconds from any origin; only differences count
	Host   int     // the machine that it was read on; 0 is the one whose figures count
	rough  float64 // this host's noise over that of all; 0 is 1
}

// Kind says what readings are.
type Kind int

const (
	Figures Kind = iota // any finite number
	Tests               // 0 or 1
)

// Prior is what is believed before the first reading.
type Prior struct {
	// None is the probability that nothing moved the figure at all.
	None float64
	// Extra is the number of changes expected beside the one looked for.
	Extra float64
	// Levels are those of the good and of the bad end, where they are known: then
	// no run is spent on finding them out. For tests, how often they fail.
	Levels []float64
	// Noise is the scale of one reading, its standard deviation but for outliers,
	// in the figure's unit; 0: not known.
	Noise float64
}

// One is for somebody who has seen the figure change between the ends, and
// takes it for the work of one commit.
var One = Prior{None: 0.02, Extra: 1e-4}

// Several thinks more changes possible, in either direction. To exclude them
// costs runs: some eight more where a test of the figure would do.
var Several = Prior{None: 0.02, Extra: 0.25}

// Some expects so many changes, in either direction: also such as take back
// what the one before did, which only a reading between the two can tell.
func Some(changes int) Prior { return Prior{None: 0.02, Extra: float64(changes) - 1} }

// Posterior is what is believed after the readings.
type Posterior struct {
	kind   Kind
	prior  Prior
	sites  []site // the commits read, in the order of the history
	flat   []float64
	rough  []float64 // squared noise of each, over the common one
	planes []plane
	none   float64
}

// site is a commit that was read: its readings are flat[from:to].
type site struct{ at, from, to int }

// plane is the belief under one value of what is unknown about the noise.
type plane struct {
	weight float64 // probability of this value
	scale  float64 // of the noise, in the figure's unit
	seg    [][]segment
	none   []float64 // log probability of no change in the gaps up to site i
	gaps   []float64 // none of those before gap i, and a change in it
	fore   []float64 // log weight of all before site i, when a segment begins there
	back   []float64 // log weight of all from site i on, when a segment begins there
	logZ   float64
	zero   float64 // log weight of no change, as it counts in logZ
	adjust float64 // log factor by which every set with a change counts in logZ
}

// segment is a run of commits on one level.
type segment struct {
	log  float64 // log evidence of its readings
	mean float64 // its level
	vari float64 // variance of that level
}

// New weighs readings of a history whose bad end is at last. It needs readings
// of both ends, but where their levels are known.
func New(kind Kind, last int, readings []Reading, prior Prior) *Posterior {
	p := &Posterior{kind: kind, prior: prior}
	sorted := slices.Clone(readings)
	slices.SortStableFunc(sorted, func(a, b Reading) int { return cmp.Compare(a.At, b.At) })
	if prior.Levels != nil {
		p.sites = append(p.sites, site{at: 0})
	}
	for i, r := range sorted {
		if len(p.sites) == 0 || p.sites[len(p.sites)-1].at != r.At {
			p.sites = append(p.sites, site{at: r.At, from: i})
		}
		p.sites[len(p.sites)-1].to = i + 1
		p.flat = append(p.flat, r.Figure)
		if r.rough == 0 {
			r.rough = 1
		}
		p.rough = append(p.rough, r.rough*r.rough)
	}
	if n := len(p.flat); prior.Levels != nil && p.sites[len(p.sites)-1].at != last {
		p.sites = append(p.sites, site{at: last, from: n, to: n})
	}
	for _, n := range p.noises() {
		p.planes = append(p.planes, p.sum(n, prior))
	}
	p.weigh()
	return p
}

// gap is the number of commits after site i-1, up to and with site i: one of
// them is the change, when there is a change between the two.
func (p *Posterior) gap(i int) int { return p.sites[i].at - p.sites[i-1].at }

// hazard is the log probability of a change in gap i, and of none.
func (p *Posterior) hazard(i int, prior Prior) (change, none float64) {
	total := float64(p.sites[len(p.sites)-1].at - p.sites[0].at)
	rate := prior.Extra / total
	none = -rate * float64(p.gap(i))
	return math.Log(-math.Expm1(none)), none
}

// sum adds up the weights of all sets of changes under one noise.
func (p *Posterior) sum(n noise, prior Prior) plane {
	t := len(p.sites)
	pl := plane{scale: n.scale, seg: p.segments(n)}
	pl.none, pl.gaps = make([]float64, t), make([]float64, t)
	for i := 1; i < t; i++ {
		change, none := p.hazard(i, prior)
		pl.none[i], pl.gaps[i] = pl.none[i-1]+none, pl.none[i-1]+change
	}
	pl.fore, pl.back = make([]float64, t), make([]float64, t)
	for j := 1; j < t; j++ {
		pl.fore[j] = sumLogs(j, func(i int) float64 {
			return pl.fore[i] + pl.seg[i][j-i-1].log + pl.gaps[j] - pl.none[i]
		})
	}
	for i := t - 1; i >= 0; i-- {
		last := pl.seg[i][t-i-1].log + pl.none[t-1] - pl.none[i]
		pl.back[i] = addLogs(last, sumLogs(t-i-1, func(k int) float64 { return pl.step(i, i+1+k) }))
	}
	whole := pl.seg[0][t-1].log + pl.none[t-1]
	some := subLogs(pl.back[0], whole)
	pl.adjust = math.Log1p(-prior.None) - math.Log(-math.Expm1(pl.none[t-1]))
	pl.zero = whole + math.Log(prior.None) - pl.none[t-1]
	pl.logZ = addLogs(some+pl.adjust, pl.zero)
	return pl
}

// weigh turns the planes' evidence into probabilities.
func (p *Posterior) weigh() {
	all := sumLogs(len(p.planes), func(i int) float64 { return p.planes[i].logZ })
	for i := range p.planes {
		pl := &p.planes[i]
		pl.weight = math.Exp(pl.logZ - all)
		p.none += pl.weight * math.Exp(pl.zero-pl.logZ)
	}
}

// Gap is a run of commits between two that were read.
type Gap struct {
	First, Last int     // the change, if there is one, is one of these commits
	Change      float64 // probability that there is a change among them
}

// Gaps tells of each pair of neighbours that were read.
func (p *Posterior) Gaps() []Gap {
	gaps := make([]Gap, 0, len(p.sites)-1)
	for i := 1; i < len(p.sites); i++ {
		g := Gap{First: p.sites[i-1].at + 1, Last: p.sites[i].at}
		for _, pl := range p.planes {
			g.Change += pl.weight * math.Exp(pl.fore[i]+pl.back[i]+pl.adjust-pl.logZ)
		}
		g.Change = min(g.Change, 1)
		gaps = append(gaps, g)
	}
	return gaps
}

// hidden is the probability that somewhere two changes lie between neighbours that were
// read, which the sums leave out: the second may take the first back. widest is
// the middle of the gap that adds most to it.
func (p *Posterior) hidden(prior Prior, usable func(int) bool) (all float64, widest int) {
	rate := prior.Extra / float64(p.sites[len(p.sites)-1].at-p.sites[0].at)
	most := 0.0
	for _, g := range p.Gaps() {
		n := float64(g.Last - g.First)
		at, ok := nearest(g, (g.First+g.Last)/2, usable)
		if !ok {
			continue
		}
		pair := rate * rate * n * (n + 1) / 2
		if all += pair; pair > most {
			most, widest = pair, at
		}
	}
	return min(all, 1), widest
}

// Only is the probability that the changes lie in just the gaps whose numbers
// (as in Gaps) are given, in order, and nowhere else.
func (p *Posterior) Only(gaps []int, prior Prior) float64 {
	if len(gaps) == 0 {
		return p.none
	}
	sum := 0.0
	for _, pl := range p.planes {
		log, from := pl.adjust, 0
		for i := 1; i < len(p.sites); i++ {
			change, none := p.hazard(i, prior)
			if !slices.Contains(gaps, i-1) {
				log += none
				continue
			}
			log += change + pl.seg[from][i-from-1].log
			from = i
		}
		log += pl.seg[from][len(p.sites)-from-1].log
		sum += pl.weight * math.Exp(log-pl.logZ)
	}
	return min(sum, 1)
}

// Level is a level of the figure and its standard error.
type Level struct{ Mean, Error float64 }

// Levels are those between the given gaps (as in Only), one more than gaps.
func (p *Posterior) Levels(gaps []int) []Level {
	cuts := []int{0}
	for _, g := range gaps {
		cuts = append(cuts, g+1)
	}
	cuts = append(cuts, len(p.sites))
	levels := make([]Level, len(cuts)-1)
	for k := range levels {
		var mean, square float64
		for _, pl := range p.planes {
			s := pl.seg[cuts[k]][cuts[k+1]-cuts[k]-1]
			mean += pl.weight * s.mean
			square += pl.weight * (s.vari + s.mean*s.mean)
		}
		levels[k] = Level{mean, math.Sqrt(max(0, square-mean*mean))}
	}
	return levels
}

// Scale is the noise of one reading, in the figure's unit; 0 for tests.
func (p *Posterior) Scale() float64 {
	sum := 0.0
	for _, pl := range p.planes {
		sum += pl.weight * pl.scale
	}
	return sum
}
