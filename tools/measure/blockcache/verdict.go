package blockcache

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Answer is what became of a cached device.
type Answer string

const (
	Fast     Answer = "converges to fast"
	Slow     Answer = "stays at slow"
	Between  Answer = "between"
	Changing Answer = "still changing: run longer"
)

const (
	// asFast is from which share of the fast device on a cache has done its work.
	asFast = 0.8
	// asSlow is up to how many times the slow device a cache is "not much
	// better".
	asSlow = 1.5
	// apart is how far the baselines must be apart, or between is no room.
	apart = 2.5
	// moved is the change from one quarter to the next that matters, and
	// leapt that from one eighth to the next, where fewer readings say less.
	moved, leapt = 1.12, 1.25
	enough       = 10
	// sure is the confidence from which on a verdict counts as certain.
	sure = 0.9
	// fewest is how many intervals a run must have.
	fewest = 24
	draws  = 1000
)

// Verdict is where a cached device comes to, and how sure that is.
type Verdict struct {
	Answer Answer `json:"answer"`
	// Confidence is the share of the runs drawn again, 0 to 1, that come to the
	// same answer.
	Confidence float64 `json:"confidence"`
	// Medians of requests a second: of the baselines, and of the last quarter
	// of the cached run with an interval that holds 95 % of the bootstrap's.
	Slow   float64    `json:"slow"`
	Fast   float64    `json:"fast"`
	Cached float64    `json:"cached"`
	Within [2]float64 `json:"within"`
	// Change is the last quarter's median over that of the quarter before it.
	Change float64 `json:"change"`
}

// Judge says where the cached run comes to, between the baselines. It looks at
// medians of windows, each drawn again many times from blocks of neighbouring
// intervals (the moving-block bootstrap of Künsch, 1989): readings that follow
// one another are not independent.
func Judge(slow, fast, cached Series) (Verdict, error) {
	for _, s := range []struct {
		name string
		of   Series
	}{{"slow baseline", slow}, {"fast baseline", fast}, {"cached run", cached}} {
		if n := len(s.of.IOPS); n < fewest {
			return Verdict{}, fmt.Errorf("the %s has %d intervals of %v; a verdict needs %d: run longer", s.name, n, s.of.Interval, fewest)
		}
	}
	// A baseline's first quarter is its warm-up.
	s, f := slow.IOPS[len(slow.IOPS)/4:], fast.IOPS[len(fast.IOPS)/4:]
	n := len(cached.IOPS)
	third, fourth := cached.IOPS[n/2:n*3/4], cached.IOPS[n*3/4:]
	v := Verdict{Slow: median(s), Fast: median(f), Cached: median(fourth)}
	v.Change = ratio(v.Cached, median(third))
	if v.Slow <= 0 {
		return v, fmt.Errorf("the slow device stalled for most of its run: there is nothing to compare with")
	}
	if v.Fast < apart*v.Slow {
		return v, fmt.Errorf(
			"the fast device makes %.0f requests a second, the slow one %.0f: less than %.1f times as many, so nothing tells the two apart",
			v.Fast,
			v.Slow,
			apart,
		)
	}
	rnd := rand.New(rand.NewPCG(uint64(n), 20170514))
	half := len(fourth) / 2
	pairs := [][2]*sampler{
		{newSampler(third, rnd), newSampler(fourth, rnd)},
		{newSampler(fourth[:half], rnd), newSampler(fourth[half:], rnd)},
	}
	if half < enough {
		pairs = pairs[:1]
	}
	limits := [2]float64{moved, leapt}
	drawn := map[Answer]int{}
	medians := make([]float64, draws)
	ss, fs := newSampler(s, rnd), newSampler(f, rnd)
	for i := range draws {
		medians[i] = pairs[0][1].median()
		at := place(ss.median(), fs.median(), medians[i])
		for p, pair := range pairs {
			after := medians[i]
			if p > 0 {
				after = pair[1].median()
			}
			change := ratio(after, pair[0].median())
			// What is fast and gets faster is fast.
			if change > limits[p] && at != Fast || change < 1/limits[p] {
				at = Changing
			}
		}
		drawn[at]++
	}
	slices.Sort(medians)
	v.Within = [2]float64{medians[draws/40], medians[draws-1-draws/40]}
	for _, answer := range []Answer{Fast, Slow, Between, Changing} {
		if c := float64(drawn[answer]) / draws; c > v.Confidence {
			v.Answer, v.Confidence = answer, c
		}
	}
	return v, nil
}

// Sure tells whether the verdict can be relied on. Where it is not, the
// readings are too few or too scattered: run longer.
func (v Verdict) Sure() bool { return v.Confidence >= sure }

// place is where a median lies between the baselines'.
func place(slow, fast, cached float64) Answer {
	switch {
	case cached >= asFast*fast:
		return Fast
	case cached <= asSlow*slow:
		return Slow
	}
	return Between
}

// ratio of two medians; from a stall to anything is a change without bounds.
func ratio(after, before float64) float64 {
	switch {
	case after == before:
		return 1
	case before == 0:
		return math.MaxFloat64
	}
	return after / before
}

// sampler draws readings again, in blocks.
type sampler struct {
	of    []float64
	drawn []float64
	block int
	rnd   *rand.Rand
}

func newSampler(of []float64, rnd *rand.Rand) *sampler {
	return &sampler{of, make([]float64, 0, len(of)), blockLength(of), rnd}
}

// blockLength is how long readings depend on one another: the more the first
// two resemble each other, the longer the blocks (an AR(1) process of
// correlation r forgets over (1+r)/(1-r) readings), but six blocks at least.
func blockLength(v []float64) int {
	mid := median(v)
	num, den := 0.0, 0.0
	for i := range v {
		d := v[i] - mid
		den += d * d
		if i > 0 {
			num += d * (v[i-1] - mid)
		}
	}
	r := 0.0
	if den > 0 {
		r = min(max(num/den, 0), 0.95)
	}
	n := math.Cbrt(float64(len(v))) * (1 + r) / (1 - r)
	return max(1, min(int(n), len(v)/6))
}

func (s *sampler) median() float64 {
	s.drawn = s.drawn[:0]
	for len(s.drawn) < len(s.of) {
		at := s.rnd.IntN(len(s.of) - s.block + 1)
		s.drawn = append(s.drawn, s.of[at:at+s.block]...)
	}
	s.drawn = s.drawn[:len(s.of)]
	slices.Sort(s.drawn)
	if n := len(s.drawn); n%2 == 0 {
		return (s.drawn[n/2-1] + s.drawn[n/2]) / 2
	}
	return s.drawn[len(s.drawn)/2]
}
