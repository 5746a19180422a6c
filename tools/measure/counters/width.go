package counters

import (
	"math"
	"slices"
)

// Width is what is known of a counter's width.
type Width struct {
	// Bits is the width; 0 where no wrap has shown it: then it is at least Least.
	Bits  int
	Least int
	// Confidence is the probability of Bits, 0..1, given the readings and the
	// assumptions of this file; 1 where the width is known. Where the counter
	// moves too far between readings it is a guess, and never above one half.
	Confidence float64
	// Wraps is how many drops speak of it.
	Wraps int
	// Summed says that readings exceed Bits: several counters are added up.
	Summed bool
	Known  bool // declared, and trusted
}

// Before the readings are looked at: most counters have 32 or 64 bits.
func prior(width int) float64 {
	switch width {
	case 32:
		return 0.45
	case 64:
		return 0.40
	}
	return 0.15 / 32
}

// resetChance is how probable a reset is in one interval, before it is looked at.
const resetChance = 0.002

// summedChance is how probable it is that an interface nobody told us of adds
// up counters narrower than what it shows.
const summedChance = 0.02

// togetherChance is how probable it is that one more queue wraps in the same interval.
const togetherChance = 0.05

// reference is the rate that the counter usually has.
type reference struct {
	mu    float64 // natural logarithm of octets a second
	scale float64 // of the deviation from it, a Laplace distribution
	ok    bool
}

// reference takes the median of the intervals without a drop, and how far
// they lie around it.
func (j *judge) reference(width int) reference {
	if j.rises.ok {
		return j.rises
	}
	var logs []float64
	take := func(drops bool) {
		for _, p := range j.pairs {
			if _, anew := p.anew(); anew || (p.b.V < p.a.V) != drops {
				continue
			}
			if m := j.facts.moved(p.a.V, p.b.V, width); m > 0 && m <= p.most {
				logs = append(logs, math.Log(float64(m)/p.dt.Seconds()))
			}
		}
	}
	take(false)
	same := len(logs) >= 3 && !j.facts.cut(j.facts.width()-1) // for every width
	if len(logs) < 3 {
		take(true)
	}
	if len(logs) == 0 {
		return reference{}
	}
	slices.Sort(logs)
	r := reference{mu: logs[len(logs)/2], ok: true}
	dev := make([]float64, len(logs))
	for k, l := range logs {
		dev[k] = math.Abs(l - r.mu)
	}
	slices.Sort(dev)
	r.scale = min(max(dev[len(dev)/2]*1.44, 0.25), 1.5) // a Laplace scale is 1/ln 2 of its median deviation
	if same {
		j.rises = r
	}
	return r
}

// density of an interval in which so many octets passed.
func (r reference) density(p pair, octets uint64) float64 {
	if !r.ok {
		return 1 / float64(max(octets, 1))
	}
	l := math.Log(float64(max(octets, 1)) / p.dt.Seconds())
	return math.Exp(-math.Abs(l-r.mu)/r.scale) / (2 * r.scale) / float64(max(octets, 1))
}

// resetDensity of a reading of b after a reset somewhere in the interval.
func (j *judge) resetDensity(p pair, r reference) float64 {
	if !j.mayReset(p) {
		return 0
	}
	usual := float64(p.most)
	if r.ok {
		usual = math.Exp(r.mu) * p.dt.Seconds()
	}
	// Up to what usually passes all readings are alike; beyond, ever less so.
	return resetChance / (2 * max(usual, 1)) / max(1, math.Pow(float64(p.b.V)/max(usual, 1), 2))
}

// infer finds the width that makes the drops most like the rest of the series.
func (j *judge) infer() Width {
	w := Width{Least: j.least}
	if j.facts.Trusted {
		w.Bits, w.Confidence, w.Known = j.facts.width(), 1, true
	}
	var drops []pair
	var most uint64
	for _, p := range j.pairs {
		most = max(most, p.a.V, p.b.V)
		if _, anew := p.anew(); !anew && p.b.V < p.a.V {
			drops = append(drops, p)
		}
	}
	if !w.Known && len(drops) > 0 {
		w.Bits, w.Confidence = j.posterior(drops)
	}
	if w.Bits > 0 {
		j.ref = j.reference(w.Bits)
		w.Summed = most > mask(w.Bits)
		for _, p := range drops {
			if m := j.facts.moved(p.a.V, p.b.V, w.Bits); m <= p.most && j.ref.density(p, m) > j.resetDensity(p, j.ref) {
				w.Wraps++
			}
		}
	} else {
		j.ref = j.reference(MaxWidth)
	}
	if w.Wraps == 0 && !w.Known { // all drops are resets
		w.Bits, w.Confidence = 0, 0
	}
	return w
}

// posterior is the most probable width and its probability.
func (j *judge) posterior(drops []pair) (int, float64) {
	from, to := j.least, j.facts.width()
	logs := make([]float64, to+1)
	best := from
	var most uint64
	for _, p := range j.pairs {
		most = max(most, p.a.V, p.b.V)
	}
	for w := from; w <= to; w++ {
		r := j.reference(w)
		l := math.Log(prior(w))
		if most > mask(w) && j.facts.Queues == 0 {
			l += math.Log(summedChance)
		}
		for _, p := range drops {
			d := j.resetDensity(p, r)
			if m := j.facts.moved(p.a.V, p.b.V, w); m <= p.most {
				// Several queues that wrap in the same interval.
				at := p.a.V - p.b.V + m
				together := at>>(w-1)>>1 - 1
				d += (1 - resetChance) * r.density(p, m) * math.Pow(togetherChance, float64(min(together, 8)))
			}
			l += math.Log(max(d, 1e-300))
		}
		if logs[w] = l; l > logs[best] {
			best = w
		}
	}
	sum := 0.0
	for w := from; w <= to; w++ {
		sum += math.Exp(logs[w] - logs[best])
	}
	return best, 1 / sum
}

// explain weighs the explanations of a drop: a wrap at each width that is
// left, or a reset. It returns the octets of the best wrap and the shares of
// it and of a reset.
func (j *judge) explain(p pair) (octets uint64, share, reset float64) {
	from, to := j.least, j.facts.width()
	weight := func(w int) float64 { return prior(w) }
	if b := j.width.Bits; b > 0 {
		// What the whole series says of the width.
		weight = func(w int) float64 {
			if w == b {
				return j.width.Confidence
			}
			return (1 - j.width.Confidence) / float64(to-from+1)
		}
	}
	total := j.resetDensity(p, j.ref)
	reset = total
	best := 0.0
	for w := from; w <= to; w++ {
		m := j.facts.moved(p.a.V, p.b.V, w)
		if m > p.most {
			continue
		}
		d := weight(w) * j.ref.density(p, m)
		total += d
		if d > best {
			best, octets = d, m
		}
	}
	if total == 0 {
		return octets, 0, 0
	}
	return octets, best / total, reset / total
}
