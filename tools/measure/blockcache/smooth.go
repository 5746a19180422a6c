package blockcache

import (
	"math"
	"slices"
)

// median of a copy of v; 0 of nothing.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Smooth draws a curve through scattered readings: the running median, which
// single stalls and bursts do not move, and then the mean over neighbours with
// tricube weights (as in Cleveland's LOESS), which takes the median's steps
// away. Near the ends there are fewer neighbours.
func Smooth(v []float64) []float64 {
	half := max(2, len(v)/40)
	mid := make([]float64, len(v))
	for i := range v {
		// As many on either side, or the ends of a ramp would be bent.
		h := min(half, i, len(v)-1-i)
		mid[i] = median(v[i-h : i+h+1])
	}
	if len(v) >= 3 { // the ends have no neighbours on one side
		mid[0], mid[len(v)-1] = median(v[:3]), median(v[len(v)-3:])
	}
	out := make([]float64, len(v))
	for i := range v {
		h := min(half, i, len(v)-1-i)
		sum, weight := 0.0, 0.0
		for j := i - h; j <= i+h; j++ {
			d := math.Abs(float64(i-j)) / float64(h+1)
			w := math.Pow(1-d*d*d, 3)
			sum, weight = sum+w*mid[j], weight+w
		}
		out[i] = sum / weight
	}
	return out
}
