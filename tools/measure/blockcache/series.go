package blockcache

import (
	"fmt"
	"time"
)

// Series is requests a second over time, of all jobs together.
type Series struct {
	Interval time.Duration `json:"interval_ns"`
	IOPS     []float64     `json:"iops"` // mean of each interval
}

// X are the middles of the intervals, in seconds.
func (s Series) X() []float64 {
	x := make([]float64, len(s.IOPS))
	for i := range x {
		x[i] = (float64(i) + 0.5) * s.Interval.Seconds()
	}
	return x
}

// span is a constant rate over a time, in ms.
type span struct{ from, to, value float64 }

// lateBy is by how many intervals a line may follow the one before it and
// still stand for all the time since. fio writes no line for an interval
// without a request (stat.c, __add_samples: "No entries for interval"), so
// beyond that the time in between was a stall, at 0 requests a second.
const lateBy = 1.75

// spans lays a log's lines of one direction out in time. A line whose time is
// that of the line before it lasts no time and so does not count; a short last
// interval counts for as long as it lasted.
func (l Log) spans(dir int, interval float64) []span {
	var out []span
	prev := 0.0
	for _, s := range l.Samples {
		if s.Dir != dir {
			continue
		}
		to := float64(s.Ms)
		from := prev
		if to-prev > lateBy*interval {
			from = to - interval
		}
		if to > from {
			out = append(out, span{from, to, s.Value})
		}
		prev = to
	}
	return out
}

// end is when a run ended, in ms: the jobs that were still at work at its end
// all have a line for its last whole interval. Those that have none had stalled.
func end(logs []Log, interval float64) float64 {
	last := func(l Log) float64 {
		ms := int64(0)
		for _, s := range l.Samples {
			ms = max(ms, s.Ms)
		}
		return float64(ms)
	}
	latest := 0.0
	for _, l := range logs {
		latest = max(latest, last(l))
	}
	out := latest
	for _, l := range logs {
		if t := last(l); t >= latest-lateBy*interval {
			out = min(out, t)
		}
	}
	return out
}

// grid is a run cut into intervals; the last may be a little short.
type grid struct {
	step, end float64
	cells     int
}

func newGrid(logs []Log, interval time.Duration) (grid, error) {
	if interval < time.Millisecond {
		return grid{}, fmt.Errorf("an interval of %v: fio's logs count milliseconds", interval)
	}
	if len(logs) == 0 {
		return grid{}, fmt.Errorf("no log of fio to read")
	}
	step := float64(interval.Milliseconds())
	g := grid{step: step, end: end(logs, step)}
	g.cells = int((g.end + 0.1*step) / step)
	switch {
	case g.cells == 0:
		return g, fmt.Errorf(
			"%s:%d: the run ended after %.0f ms, before one interval of %v was over",
			logs[0].File,
			len(logs[0].Samples),
			g.end,
			interval,
		)
	case g.cells > maxLogSamples:
		return g, fmt.Errorf("%s:%d: %d intervals of %v: no run is so long", logs[0].File, len(logs[0].Samples), g.cells, interval)
	}
	return g, nil
}

// add adds what each span did within each cell: value times ms.
func (g grid) add(into []float64, spans []span) {
	for _, s := range spans {
		for c := int(s.from / g.step); c < g.cells; c++ {
			from, to := max(s.from, float64(c)*g.step), min(s.to, float64(c+1)*g.step)
			if to <= from {
				break
			}
			into[c] += s.value * (to - from)
		}
	}
}

// Sum adds the IOPS logs of jobs that ran at the same time, reads and writes
// together. Their times differ by some ms, so each log is taken as rates over
// stretches of time, and these are added up within common intervals.
func Sum(logs []Log, interval time.Duration) (Series, error) {
	for _, l := range logs {
		if l.unaveraged(interval) {
			return Series{}, fmt.Errorf("%s:1: each line is one request: fio wrote this log without log_avg_msec", l.File)
		}
	}
	g, err := newGrid(logs, interval)
	if err != nil {
		return Series{}, err
	}
	out := Series{Interval: interval, IOPS: make([]float64, g.cells)}
	for _, l := range logs {
		for dir := range 3 {
			g.add(out.IOPS, l.spans(dir, g.step))
		}
	}
	for c := range out.IOPS {
		out.IOPS[c] /= min(g.step, g.end-float64(c)*g.step)
	}
	return out, nil
}

// unaveraged tells a log without log_avg_msec: every value is 1, several of
// them within one interval (github.com/axboe/fio, issue 44).
func (l Log) unaveraged(interval time.Duration) bool {
	if len(l.Samples) < 8 {
		return false
	}
	for _, s := range l.Samples {
		if s.Value != 1 {
			return false
		}
	}
	took := l.Samples[len(l.Samples)-1].Ms - l.Samples[0].Ms
	return took/int64(len(l.Samples)-1) < interval.Milliseconds()/2
}

// Latency is the mean latency over time: seconds, and ms. Intervals without
// a request have none.
type Latency struct {
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
}

// Mean joins the latency logs of jobs. A job counts as much as it did
// requests: iops are the same jobs' IOPS logs, in the same order.
func Mean(lat, iops []Log, interval time.Duration) (Latency, error) {
	if len(lat) != len(iops) {
		return Latency{}, fmt.Errorf("%d latency logs and %d IOPS logs do not belong together", len(lat), len(iops))
	}
	g, err := newGrid(lat, interval)
	if err != nil {
		return Latency{}, err
	}
	sum, weight := make([]float64, g.cells), make([]float64, g.cells)
	for i := range lat {
		for dir := range 3 {
			done, took, covered := make([]float64, g.cells), make([]float64, g.cells), make([]float64, g.cells)
			spans := lat[i].spans(dir, g.step)
			g.add(done, iops[i].spans(dir, g.step))
			g.add(took, spans)
			for j := range spans {
				spans[j].value = 1
			}
			g.add(covered, spans)
			for c := range sum {
				if covered[c] > 0 {
					sum[c] += done[c] * took[c] / covered[c]
					weight[c] += done[c]
				}
			}
		}
	}
	var out Latency
	for c := range sum {
		if weight[c] > 0 {
			out.X = append(out.X, (float64(c)+0.5)*g.step/1000)
			out.Y = append(out.Y, sum[c]/weight[c]/1e6)
		}
	}
	return out, nil
}
