package draw

import (
	"math"

	"gonum.org/v1/plot"

	"fettle/internal/chart"
)

// round marks an axis at round numbers, four to eight of them.
type round struct{}

func (round) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return []plot.Tick{{Value: lo, Label: chart.Short(lo)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, times := range []float64{2.5, 2, 2} { // 2.5, 5 and 10
		if (hi-lo)/step > 8 {
			step *= times
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi+step*1e-9 && len(out) < 20; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: chart.Short(i * step)})
	}
	return out
}

// doublings marks a logarithmic axis at each power of two, or at fewer of them.
type doublings struct{}

func (doublings) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Ceil(math.Log2(lo)-1e-9), math.Floor(math.Log2(hi)+1e-9)
	step := max(1, math.Ceil((last-first)/8))
	var out []plot.Tick
	for e := first; e <= last; e++ {
		t := plot.Tick{Value: math.Exp2(e)}
		if math.Mod(e-first, step) == 0 {
			t.Label = chart.Short(t.Value)
		}
		out = append(out, t)
	}
	return out
}
