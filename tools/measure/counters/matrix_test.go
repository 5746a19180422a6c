package counters_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/tools/measure/counters"
	"fettle/tools/measure/counters/simulate"
)

// cell counts intervals whose rate is right (within 1 % of the octets that
// passed) and wrong.
type cell struct{ right, wrong int }

type matrix struct {
	cells  map[string]map[counters.Mark]*cell
	series int
	width  [2]cell // of inferred widths; at confidence below and above 99 %
}

func newMatrix() *matrix { return &matrix{cells: map[string]map[counters.Mark]*cell{}} }

func (m *matrix) at(row string, mark counters.Mark) *cell {
	if m.cells[row] == nil {
		m.cells[row] = map[counters.Mark]*cell{}
	}
	if m.cells[row][mark] == nil {
		m.cells[row][mark] = &cell{}
	}
	return m.cells[row][mark]
}

func (m *matrix) add(o *matrix) {
	m.series += o.series
	for row, cells := range o.cells {
		for mark, c := range cells {
			to := m.at(row, mark)
			to.right += c.right
			to.wrong += c.wrong
		}
	}
	for i := range m.width {
		m.width[i].right += o.width[i].right
		m.width[i].wrong += o.width[i].wrong
	}
}

var rows = []string{"no wrap", "one wrap", "more wraps", "reset", "re-created"}

func (m *matrix) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d series\n%-12s", m.series, "truth")
	marks := []counters.Mark{counters.Certain, counters.NoWrap, counters.OneWrap, counters.Ambiguous, counters.Lost}
	for _, k := range marks {
		fmt.Fprintf(&b, " | %-20s", k)
	}
	b.WriteString("\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "%-12s", row)
		for _, k := range marks {
			c := m.at(row, k)
			fmt.Fprintf(&b, " | %9d %9dx", c.right, c.wrong)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "width inferred, below 99 %%: %d right %d wrong; at 99 %% or more: %d right %d wrong\n",
		m.width[0].right, m.width[0].wrong, m.width[1].right, m.width[1].wrong)
	return b.String()
}

// chance makes one counter, its polls and what Judge is told of it, all at random.
func chance(r *rand.Rand) (simulate.Config, counters.Facts) {
	rate := math.Exp(math.Log(10e6) + r.Float64()*(math.Log(100e9)-math.Log(10e6)))
	link := rate
	for _, l := range []float64{100e6, 1e9, 2.5e9, 10e9, 25e9, 40e9, 100e9} {
		if link = l; l >= rate {
			break
		}
	}
	c := simulate.Config{
		Width:    31 + r.IntN(34),
		Queues:   1,
		Polls:    6 + r.IntN(20),
		Interval: []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}[r.IntN(5)],
		Rate:     simulate.Steady(r, rate, r.Float64()*0.8, link),
		Start:    time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
	}
	if r.IntN(2) == 0 { // the widths that there mostly are
		c.Width = []int{32, 64}[r.IntN(2)]
	}
	f := counters.Facts{Width: 64}
	if r.IntN(3) == 0 {
		c.Queues = 1 + r.IntN(8)
	}
	if r.IntN(2) == 0 {
		f.Queues = c.Queues + r.IntN(2)
	}
	if r.IntN(3) == 0 {
		c.Jitter = c.Interval / time.Duration(3+r.IntN(10))
	}
	if r.IntN(2) == 0 {
		c.Lag = time.Duration(r.IntN(4000)) * time.Millisecond
		f.Lag = c.Lag
	}
	if r.IntN(3) == 0 {
		c.Missed = r.Float64() * 0.4
	}
	if r.IntN(2) == 0 {
		f.MaxRate = link
	}
	switch r.IntN(4) {
	case 0: // a 32-bit object over whatever the kernel has
		if c.Width <= 32 || c.Width == 64 {
			f.Width, c.Shown = 32, 32
			f.Trusted = c.Width >= 32
			f.Queues = 0
		}
	case 1:
		f.Width, f.Trusted = c.Width, true
	}
	if r.IntN(3) == 0 {
		c.Reset = r.Float64() * 0.2
	}
	if r.IntN(5) == 0 {
		c.Recreate = r.Float64() * 0.2
	}
	c.TellReset = r.IntN(2) == 0
	f.Told = c.Reset == 0 && r.IntN(2) == 0 || c.TellReset
	return c, f
}

func row(t simulate.Truth, shownWraps bool) string {
	switch {
	case t.Anew:
		return "re-created"
	case t.Reset:
		return "reset"
	case t.Wraps == 0 && !shownWraps:
		return "no wrap"
	case t.Wraps == 1 || t.Wraps == 0:
		return "one wrap"
	}
	return "more wraps"
}

// one judges one random series. It returns a description of every rate that
// is wrong and called certain.
func one(r *rand.Rand, m *matrix) (lies []string) {
	c, f := chance(r)
	samples, truth := simulate.Run(r, c)
	s := counters.Series{Samples: samples, Facts: f}
	v := counters.Judge(s)
	m.series++
	var happened []simulate.Truth
	for i, x := range samples {
		if !x.Gone {
			happened = append(happened, truth[i])
		}
	}
	for i, iv := range v.Intervals {
		tr := happened[i+1]
		right := math.Abs(float64(iv.Octets)-float64(tr.Octets)) <= 0.01*float64(tr.Octets)
		cell := m.at(row(tr, c.Shown == 32 && tr.Octets>>32 > 0), iv.Mark)
		if right {
			cell.right++
		} else {
			cell.wrong++
		}
		if iv.Mark == counters.Certain && iv.Octets != tr.Octets {
			lies = append(
				lies,
				fmt.Sprintf("interval %d: said %d octets, %d passed; %+v\nof %+v\nfacts %+v truth %+v", i, iv.Octets, tr.Octets, iv, c, f, tr),
			)
		}
		if bits := iv.Rate; math.IsNaN(bits) || math.IsInf(bits, 0) {
			lies = append(lies, fmt.Sprintf("interval %d: rate %v", i, bits))
		}
	}
	if w := v.Width; w.Bits > 0 && !w.Known {
		want := c.Width
		if c.Shown == 32 {
			want = min(want, 32)
		}
		k := 0
		if w.Confidence >= 0.99 {
			k = 1
		}
		if w.Bits == want {
			m.width[k].right++
		} else {
			m.width[k].wrong++
		}
	}
	return lies
}

// TestNoLie is the promise: over 100,000 counters at known rates, no wrong
// rate is ever called certain.
func TestNoLie(t *testing.T) {
	t.Parallel()
	n := 100_000
	if testing.Short() || raceEnabled { // the race detector makes it ten times slower, and there is little to race
		n = 10_000
	}
	workers := runtime.GOMAXPROCS(0)
	total := newMatrix()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			m := newMatrix()
			r := rand.New(rand.NewPCG(20260102, uint64(w)))
			for range n / workers {
				for _, lie := range one(r, m) {
					t.Error(lie)
				}
			}
			mu.Lock()
			total.add(m)
			mu.Unlock()
		})
	}
	wg.Wait()
	t.Log("right and wrong (x) rates of intervals, by what happened and how they are marked:\n" + total.String())
	// The promise would be easy to keep by never being certain.
	all, certain := 0, 0
	for _, cells := range total.cells {
		for mark, c := range cells {
			all += c.right + c.wrong
			if mark == counters.Certain {
				certain += c.right
			}
		}
	}
	if share := float64(certain) / float64(all); share < 0.25 {
		t.Errorf("only %.0f %% of all intervals are certain", 100*share)
	}
	if c := total.at("one wrap", counters.OneWrap); c.right < 9*c.wrong {
		t.Errorf("one wrap assumed: %d right, %d wrong", c.right, c.wrong)
	}
	if w := total.width[1]; w.right < 50*w.wrong {
		t.Errorf("widths with a confidence of 99 %%: %d right, %d wrong", w.right, w.wrong)
	}
}

// TestFalseFactsLie shows that TestNoLie can fail: told a speed that the
// interface exceeds, or that resets show when they do not, Judge is certain
// of wrong rates.
func TestFalseFactsLie(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for name, c := range map[string]struct {
		conf  simulate.Config
		facts counters.Facts
	}{
		"a speed that is exceeded": {simulate.Config{Width: 32, Queues: 1, Polls: 50, Interval: time.Minute,
			Rate: simulate.Steady(r, 2e9, 0.2, 0)},
			counters.Facts{Width: 32, Trusted: true, MaxRate: 500e6, Told: true, Queues: 1}},
		"silent resets": {simulate.Config{Width: 32, Queues: 1, Polls: 50, Interval: time.Second, Reset: 0.3,
			Rate: simulate.Steady(r, 500e6, 0.2, 1e9)},
			counters.Facts{Width: 32, Trusted: true, MaxRate: 1e9, Told: true, Queues: 1}},
	} {
		samples, truth := simulate.Run(r, c.conf)
		lies := 0
		for i, iv := range counters.Judge(counters.Series{Samples: samples, Facts: c.facts}).Intervals {
			if iv.Mark == counters.Certain && iv.Octets != truth[i+1].Octets {
				lies++
			}
		}
		if lies == 0 {
			t.Errorf("%s: no certain rate is wrong: the matrix could not fail either", name)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	c := simulate.Config{
		Width:    32,
		Queues:   2,
		Polls:    1000,
		Interval: time.Minute,
		Rate:     simulate.Steady(r, 300e6, 0.3, 1e9),
		Start:    time.Unix(1.7e9, 0),
	}
	samples, _ := simulate.Run(r, c)
	s := counters.Series{Samples: samples, Facts: counters.Facts{MaxRate: 1e9}}
	b.ReportAllocs()
	for b.Loop() {
		counters.Judge(s)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/reading")
}
