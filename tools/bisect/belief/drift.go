package belief

import (
	"math"
	"slices"
)

// drifts are the random walks tried, as the walk's standard deviation from
// one reading to the next over the noise of one reading.
var drifts = []float64{0.02, 0.05, 0.1, 0.2, 0.4}

// seen is how much likelier, in nats, a drift must make the readings than none.
const seen = 4

// steady is the belief after the drift of the machine is taken out of figures:
// what all commits alike gain or lose as time goes by. drifted says whether there
// was one that shows; else the belief stays as it is.
//
// A drift can be told from a change only where commits are read again later:
// the hunt goes back to the ends now and then.
func (p *Posterior) steady(readings []Reading, prior Prior) (calm *Posterior, drifted bool) {
	calm = p
	for range 4 {
		levels := calm.expected()
		rest := make([]float64, len(readings))
		for i, r := range readings {
			rest[i] = r.Figure - levels[r.At]
		}
		flat := slices.Clone(readings)
		if !removeDrift(flat, rest, calm.Scale()) {
			return p, false
		}
		calm = New(p.kind, p.sites[len(p.sites)-1].at, flat, prior)
	}
	return calm, true
}

// removeDrift takes out of readings the walk of each host that shows in what is left
// of them beside their levels; false: none does.
func removeDrift(readings []Reading, rest []float64, scale float64) bool {
	of := map[int][]int{}
	for i, r := range readings {
		of[r.Host] = append(of[r.Host], i)
	}
	shows := false
	for _, own := range of {
		series := make([]float64, len(own))
		for k, i := range own {
			series[k] = rest[i] / max(1, readings[i].rough)
		}
		walk, ok := walkOf(series, scale)
		if !ok {
			continue
		}
		shows = true
		for k, i := range own {
			readings[i].Figure -= walk[k] * max(1, readings[i].rough)
		}
	}
	return shows
}

// expected is the expected level of each commit that was read.
func (p *Posterior) expected() map[int]float64 {
	gaps := p.Gaps()
	var chosen []int
	for i, g := range gaps {
		if g.Change > 0.5 {
			chosen = append(chosen, i)
		}
	}
	levels, k := p.Levels(chosen), 0
	at := make(map[int]float64, len(p.sites))
	for i, s := range p.sites {
		for k < len(chosen) && chosen[k] < i {
			k++
		}
		at[s.at] = levels[k].Mean
	}
	return at
}

// walkOf is the likeliest random walk below a series in the order of time, if
// one shows: a Kalman filter and Rauch's smoother over a local level.
func walkOf(series []float64, scale float64) (walk []float64, shows bool) {
	none := 0.0
	for _, y := range series {
		none += robust(y/scale, 1)
	}
	best, ratio := none+seen, 0.0
	for _, d := range drifts {
		if _, log := smooth(series, scale, d); log > best {
			best, ratio = log, d
		}
	}
	if ratio == 0 {
		return nil, false
	}
	walk, _ = smooth(series, scale, ratio)
	return walk, true
}

// robust is the log density of a standardised residual of a variance, cut off
// where outliers begin.
func robust(z, variance float64) float64 {
	return -0.5*min(z*z/variance, 9) - 0.5*math.Log(variance)
}

// smooth estimates a local level that begins at 0.
func smooth(series []float64, scale, ratio float64) (level []float64, log float64) {
	n := len(series)
	filtered, variance := make([]float64, n), make([]float64, n)
	at, v := 0.0, 0.0
	for i, y := range series {
		v += ratio * ratio
		z := y/scale - at
		log += robust(z, v+1)
		gain := v / (v + 1)
		if z*z > 16*(v+1) {
			gain = 0 // an outlier
		}
		at += gain * z
		v *= 1 - gain
		filtered[i], variance[i] = at, v
	}
	level = make([]float64, n)
	next := filtered[n-1]
	level[n-1] = next * scale
	for i := n - 2; i >= 0; i-- {
		back := variance[i] / (variance[i] + ratio*ratio)
		next = filtered[i] + back*(next-filtered[i])
		level[i] = next * scale
	}
	return level, log
}
