package belief

import (
	"math"
	"slices"
)

// noise is one value of what is unknown about the noise: its scale, and how
// heavy its tails are. Tests have none.
type noise struct {
	scale, tails float64 // tails: degrees of freedom of Student's t
	width        float64 // of the levels thought possible
}

// tails that are tried: outliers now and then, and as good as none.
var tails = []float64{4, 60}

// noises are the values over which the belief is averaged: equally spaced in
// the scale's logarithm, where the readings leave it open.
func (p *Posterior) noises() []noise {
	if p.kind == Tests {
		return []noise{{}}
	}
	spread := 0.0
	if len(p.flat) > 0 {
		spread = spreadOf(p.flat)
	}
	if l := p.prior.Levels; l != nil {
		spread = max(spread, math.Abs(l[1]-l[0]))
	}
	tried := []float64{p.prior.Noise}
	if p.prior.Noise == 0 {
		from, to := p.likely(scales(spread/2000, spread*2, 16), 2*spread)
		tried = scales(from, to, 9)
	}
	var all []noise
	for _, s := range tried {
		for _, t := range tails {
			all = append(all, noise{s, t, 2*spread + 4*s})
		}
	}
	return all
}

// likely is the range of scales that the readings leave open, by a rough look:
// the evidence of the best single change, and of none.
func (p *Posterior) likely(coarse []float64, width float64) (from, to float64) {
	t := len(p.sites)
	logs := make([]float64, len(coarse))
	for i, s := range coarse {
		n := noise{s, tails[0], width + 4*s}
		seg := p.segments(n)
		best := seg[0][t-1].log
		for j := 1; j < t; j++ {
			best = max(best, seg[0][j-1].log+seg[j][t-j-1].log)
			for k := j + 1; k < t; k++ {
				best = max(best, seg[0][j-1].log+seg[j][k-j-1].log+seg[k][t-k-1].log)
			}
		}
		if p.prior.Extra >= 1 {
			best = max(best, manyChanges(seg))
		}
		logs[i] = best
	}
	top := slices.Max(logs)
	lo, hi := len(coarse)-1, 0
	for i, l := range logs {
		if l > top-8 {
			lo, hi = min(lo, i), max(hi, i)
		}
	}
	return coarse[max(lo-1, 0)], coarse[min(hi+1, len(coarse)-1)]
}

// manyChanges is the evidence of the best set of changes, however many, each at
// the price of two nats.
func manyChanges(seg [][]segment) float64 {
	t := len(seg)
	best := make([]float64, t+1)
	for j := 1; j <= t; j++ {
		best[j] = math.Inf(-1)
		for i := range j {
			best[j] = max(best[j], best[i]+seg[i][j-i-1].log-2)
		}
	}
	return best[t]
}

// scales are n values from a to b, equally spaced in their logarithm.
func scales(a, b float64, n int) []float64 {
	list := make([]float64, n)
	step := math.Pow(b/a, 1/float64(n-1))
	for i := range list {
		list[i] = a
		a *= step
	}
	return list
}

// spreadOf is the range of the readings, a few outliers aside; never 0.
func spreadOf(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	cut := len(sorted) / 20
	spread := sorted[len(sorted)-1-cut] - sorted[cut]
	if spread == 0 {
		spread = sorted[len(sorted)-1] - sorted[0]
	}
	if spread == 0 {
		spread = max(math.Abs(sorted[0])*1e-6, math.SmallestNonzeroFloat64*1e6)
	}
	return spread
}

// segments is the evidence of every run of sites: [i][k] is of the sites i to
// i+k.
func (p *Posterior) segments(n noise) [][]segment {
	all := make([][]segment, len(p.sites))
	for i := range p.sites {
		all[i] = make([]segment, len(p.sites)-i)
		for k := range all[i] {
			ys := figures{p.flat[p.sites[i].from:p.sites[i+k].to], p.rough[p.sites[i].from:p.sites[i+k].to]}
			if p.prior.Levels != nil {
				all[i][k] = p.onKnown(n, ys, i == 0, i+k == len(p.sites)-1)
				continue
			}
			if p.kind == Tests {
				all[i][k] = beta(ys.y)
				continue
			}
			start := mean(ys.y)
			if k > 0 {
				start = all[i][k-1].mean
			}
			all[i][k] = n.fit(ys, start)
		}
	}
	return all
}

// onKnown is the evidence of readings on one of the known levels: the good
// end's where the run of sites begins there, the bad end's where it ends there,
// and either where it does both or neither.
func (p *Posterior) onKnown(n noise, ys figures, first, last bool) segment {
	levels := p.prior.Levels
	switch {
	case first && !last:
		levels = levels[:1]
	case last && !first:
		levels = levels[1:]
	}
	logs := make([]float64, len(levels))
	for i, l := range levels {
		if p.kind == Tests {
			logs[i] = failing(ys.y, l)
		} else if len(ys.y) > 0 {
			logs[i] = n.logLik(ys, l)
		}
	}
	all := sumLogs(len(logs), func(i int) float64 { return logs[i] })
	s := segment{log: all - math.Log(float64(len(levels)))}
	for i, l := range levels {
		s.mean += math.Exp(logs[i]-all) * l
	}
	for i, l := range levels {
		s.vari += math.Exp(logs[i]-all) * (l - s.mean) * (l - s.mean)
	}
	return s
}

// surely is as far as a test's known rate is believed to be 0 or 1: one run
// the other way must not refute all.
const surely = 0.001

// failing is the log probability of these outcomes of tests that fail at a rate.
func failing(ys []float64, rate float64) float64 {
	rate = min(max(rate, surely), 1-surely)
	fails := 0
	for _, y := range ys {
		if y != 0 {
			fails++
		}
	}
	return float64(fails)*math.Log(rate) + float64(len(ys)-fails)*math.Log(1-rate)
}

// beta is the evidence of tests that fail with one unknown probability, which
// is as likely near 0 and 1 as Jeffreys' prior has it.
func beta(ys []float64) segment {
	fails := 0.0
	for _, y := range ys {
		fails += y
	}
	a, b := fails+0.5, float64(len(ys))-fails+0.5
	m := a / (a + b)
	return segment{log: logBeta(a, b) - logBeta(0.5, 0.5), mean: m, vari: m * (1 - m) / (a + b + 1)}
}

func logBeta(a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}

// figures are readings, and how much larger the noise of each is than the
// common one, squared.
type figures struct{ y, rough []float64 }

// fit is the evidence of readings on one level: Laplace's approximation around
// the likeliest level, found by reweighting from two starts. The curvature is
// the expected one, which outliers can't turn over.
func (n noise) fit(ys figures, start float64) segment {
	count := 0.0
	for _, r := range ys.rough {
		count += 1 / r
	}
	info := count * (n.tails + 1) / ((n.tails + 3) * n.scale * n.scale)
	if len(ys.y) == 1 {
		return segment{log: -math.Log(n.width), mean: ys.y[0], vari: 1 / info}
	}
	level := n.climb(ys, start)
	log := n.logLik(ys, level)
	if other := n.climb(ys, mean(ys.y)); other != level {
		if l := n.logLik(ys, other); l > log {
			level, log = other, l
		}
	}
	return segment{log: log + 0.5*math.Log(2*math.Pi/info) - math.Log(n.width), mean: level, vari: 1 / info}
}

// climb goes from a level to the likeliest nearby.
func (n noise) climb(ys figures, level float64) float64 {
	s2 := n.tails * n.scale * n.scale
	for range 8 {
		var sum, weights float64
		for i, y := range ys.y {
			w := 1 / (s2*ys.rough[i] + (y-level)*(y-level))
			sum += w * y
			weights += w
		}
		next := sum / weights
		if math.Abs(next-level) < n.scale*1e-3 {
			return next
		}
		level = next
	}
	return level
}

// logLik is the log density of the readings around a level, but for what a
// host's noise adds alike to all sets of changes.
func (n noise) logLik(ys figures, level float64) float64 {
	g1, _ := math.Lgamma((n.tails + 1) / 2)
	g2, _ := math.Lgamma(n.tails / 2)
	each := g1 - g2 - 0.5*math.Log(n.tails*math.Pi) - math.Log(n.scale)
	s2 := n.tails * n.scale * n.scale
	log, product := 0.0, 1.0
	for i, y := range ys.y {
		product *= 1 + (y-level)*(y-level)/(s2*ys.rough[i])
		if product > 1e200 {
			log += math.Log(product)
			product = 1
		}
	}
	log += math.Log(product)
	return float64(len(ys.y))*each - (n.tails+1)/2*log
}

func mean(ys []float64) float64 {
	sum := 0.0
	for _, y := range ys {
		sum += y
	}
	return sum / float64(len(ys))
}
