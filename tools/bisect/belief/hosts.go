package belief

import (
	"math"
	"slices"
)

// calibration is how the figures of one host become those of the first.
type calibration struct {
	by    float64 // logarithm of the ratio, or the difference
	rough float64 // its noise over that of all
	known bool
}

// calibrations brings readings of several hosts to the scale of the first. Hosts
// differ by a factor, as machines of different speed do, or, where figures may
// be 0 or below, by a difference; and each has noise of its own.
type calibrations struct {
	ratio bool
	of    map[int]*calibration
}

// An estimate of noise counts as if so many readings had shown the common one.
const alikeAs = 3

// even brings all readings on the first host's scale. What it is comes from
// commits that both have read, then from all that is believed of the levels. A
// reading of a host that cannot be compared yet is left out.
func (s *Search) even(readings []Reading) []Reading {
	f := calibrations{ratio: true, of: map[int]*calibration{}}
	for _, r := range readings {
		f.of[r.Host] = &calibration{rough: 1}
		f.ratio = f.ratio && r.Figure > 0
	}
	if s.Kind == Tests || len(f.of) < 2 {
		return readings
	}
	f.first(readings)
	flat := f.apply(readings)
	for range 3 {
		if !bothEnds(flat, s.Last) && s.Prior.Levels == nil {
			return flat
		}
		p := New(s.Kind, s.Last, flat, s.Prior)
		f.refine(readings, p)
		flat = f.apply(readings)
	}
	return flat
}

// first compares hosts at commits that both have read.
func (f *calibrations) first(readings []Reading) {
	ref := slices.MinFunc(readings, func(a, b Reading) int { return a.Host - b.Host }).Host
	at := map[int][]float64{}
	for _, r := range readings {
		if r.Host == ref {
			at[r.At] = append(at[r.At], f.in(r.Figure))
		}
	}
	f.of[ref].known = true
	apart := map[int][]float64{}
	for _, r := range readings {
		if list := at[r.At]; r.Host != ref && list != nil {
			apart[r.Host] = append(apart[r.Host], f.in(r.Figure)-median(list))
		}
	}
	for host, list := range apart {
		*f.of[host] = calibration{by: median(list), rough: 1, known: true}
	}
}

// refine estimates the calibrations again from what is left of readings beside the
// levels that are believed.
func (f *calibrations) refine(readings []Reading, p *Posterior) {
	levels, scale := p.expected(), p.Scale()
	ref := slices.MinFunc(readings, func(a, b Reading) int { return a.Host - b.Host }).Host
	rest := map[int][]float64{}
	for _, r := range readings {
		level, ok := levels[r.At]
		if ok && f.of[r.Host].known && (!f.ratio || level > 0) {
			rest[r.Host] = append(rest[r.Host], f.in(r.Figure)-f.in(level))
		}
	}
	if f.ratio {
		scale /= max(math.Abs(p.Levels(nil)[0].Mean), math.SmallestNonzeroFloat64)
	}
	for host, list := range rest {
		at := median(list)
		flat := figures{list, ones(len(list))}
		if scale > 0 {
			at = noise{scale: scale, tails: 4}.climb(flat, at)
		}
		f.of[host].by = at
		f.of[host].rough = roughness(list, at, scale)
	}
	zero := f.of[ref].by
	for host, one := range f.of {
		one.by -= zero
		if host != ref {
			// The calibration itself is only as sure as the readings it comes from.
			one.rough *= math.Sqrt(1 + 1/float64(max(1, len(rest[host]))))
		}
	}
}

// roughness is the noise of a host's readings over the common one, outliers cut.
func roughness(list []float64, at, scale float64) float64 {
	if scale <= 0 {
		return 1
	}
	sum := float64(alikeAs)
	for _, y := range list {
		z := (y - at) / scale
		sum += min(z*z, 36)
	}
	return math.Sqrt(sum / float64(alikeAs+len(list)))
}

// apply brings readings on the first host's scale.
func (f *calibrations) apply(readings []Reading) []Reading {
	flat := make([]Reading, 0, len(readings))
	for _, r := range readings {
		own := f.of[r.Host]
		if !own.known {
			continue
		}
		r.rough = own.rough
		if f.ratio {
			r.Figure *= math.Exp(-own.by)
		} else {
			r.Figure -= own.by
		}
		flat = append(flat, r)
	}
	return flat
}

func (f *calibrations) in(figure float64) float64 {
	if f.ratio {
		return math.Log(figure)
	}
	return figure
}

// unconfirmed are the commits on both sides of the changes that only one of
// several hosts has read: how noisy a host is shows late, and one that is
// noisier than thought must not decide alone.
func unconfirmed(readings []Reading, v Verdict) []int {
	hosts, by, times := map[int]bool{}, map[int]map[int]bool{}, map[int]int{}
	for _, r := range readings {
		times[r.At]++
		hosts[r.Host] = true
		if by[r.At] == nil {
			by[r.At] = map[int]bool{}
		}
		by[r.At][r.Host] = true
	}
	var list []int
	for _, c := range v.Changes {
		for _, at := range []int{c.First - 1, c.Last} {
			// Where the other hosts are lost, that often must do.
			if len(hosts) > 1 && len(by[at]) == 1 && times[at] < 3 {
				list = append(list, at)
			}
		}
	}
	return list
}

func bothEnds(readings []Reading, last int) bool {
	good, bad := false, false
	for _, r := range readings {
		good, bad = good || r.At == 0, bad || r.At == last
	}
	return good && bad
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }
