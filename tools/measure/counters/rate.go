package counters

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var rateUnits = []struct {
	letter string
	times  float64
}{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}

// ParseRate reads a rate: "114.5Mbit/s", "1G", "1e9". Bits a second, in powers of 1000.
func ParseRate(text string) (float64, error) {
	s := strings.TrimSpace(text)
	for _, unit := range []string{"bit/s", "bits/s", "bps", "bit"} {
		if rest, ok := strings.CutSuffix(s, unit); ok {
			s = rest
			break
		}
	}
	s = strings.TrimSpace(s)
	times := 1.0
	for _, u := range rateUnits[1:] {
		if rest, ok := strings.CutSuffix(s, u.letter); ok {
			s, times = strings.TrimSpace(rest), u.times
			break
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || f*times > Ceiling {
		return 0, fmt.Errorf(
			"%s is not a rate: expected something like 100Mbit/s or 10G, up to %s",
			strconv.Quote(shorten(text)),
			FormatRate(Ceiling),
		)
	}
	return f * times, nil
}

// FormatRate writes a rate with three digits or more: "114.5 Mbit/s".
func FormatRate(bits float64) string {
	u := rateUnits[0]
	for _, v := range rateUnits {
		if bits >= v.times*0.9995 {
			u = v
		}
	}
	f := bits / u.times
	digits := 2
	switch {
	case f >= 99.995 || u.letter == "":
		digits = 0
		if f < 999.5 && u.letter != "" {
			digits = 1
		}
	case f >= 9.9995:
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + u.letter + "bit/s"
}

// Poller is what a usual poller makes of a counter: the rate of each interval,
// a fall taken for one wrap at 32 bits, or else at 64, as rrdtool does it
// (rrdcreate(1), COUNTER). Gaps and new interfaces it leaves out. Rates are
// bits a second.
func Poller(samples []Sample) (at []time.Time, rates []float64) {
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		dt := b.T.Sub(a.T).Seconds()
		if a.Gone || b.Gone || dt <= 0 || a.Index != b.Index || a.Epoch != b.Epoch {
			continue
		}
		delta := b.V - a.V
		if b.V < a.V && a.V-b.V <= 1<<32 {
			delta = 1<<32 - (a.V - b.V)
		}
		at, rates = append(at, b.T), append(rates, float64(delta)*8/dt)
	}
	return at, rates
}

// Rates is the rates that are known, in bits a second, and the ends of their
// intervals.
func (v Verdict) Rates() (at []time.Time, rates []float64) {
	for _, i := range v.Intervals {
		if i.Mark != Lost {
			at, rates = append(at, i.To), append(rates, i.Rate)
		}
	}
	return at, rates
}

// Thin is the readings that a poller with a longer interval would have made:
// the first at or after each step.
func Thin(samples []Sample, step time.Duration) []Sample {
	var out []Sample
	for _, s := range samples {
		// Half a reading early counts as in time.
		if n := len(out); n == 0 || s.T.Sub(out[n-1].T) >= step-step/100 {
			out = append(out, s)
		}
	}
	return out
}

// Usual is the median time between readings.
func (s Series) Usual() time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.Samples); i++ {
		all = append(all, s.Samples[i].T.Sub(s.Samples[i-1].T))
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}

// Summary is a verdict in figures.
type Summary struct {
	Readings int // that are there
	Missed   int
	Span     time.Duration
	Mean     float64 // bits a second, over the intervals whose rate is known
	Highest  float64
	Worst    Mark // of all intervals
	Marks    map[Mark]int
	Events   map[Event]int // without rises
	// WrapsEvery is how long the counter lasts at the highest rate, and Poll how
	// often to read it at least; 0 where its width is not known or does not matter.
	WrapsEvery, Poll time.Duration
	// The same at the bound of the rate, where one is known.
	WrapsEveryAtMost, PollAtMost time.Duration
}

var rank = map[Mark]int{Certain: 0, NoWrap: 1, OneWrap: 2, Lost: 3, Ambiguous: 4}

// Summarize adds up what Judge said of a series.
func Summarize(s Series, v Verdict) Summary {
	sum := Summary{Worst: Certain, Marks: map[Mark]int{}, Events: map[Event]int{}}
	for _, x := range s.Samples {
		if x.Gone {
			sum.Missed++
		} else {
			sum.Readings++
		}
	}
	if n := len(s.Samples); n > 0 {
		sum.Span = s.Samples[n-1].T.Sub(s.Samples[0].T)
	}
	var octets, seconds float64
	for _, i := range v.Intervals {
		sum.Marks[i.Mark]++
		if i.Event != Rise {
			sum.Events[i.Event]++
		}
		if rank[i.Mark] > rank[sum.Worst] {
			sum.Worst = i.Mark
		}
		if i.Mark == Lost {
			continue
		}
		octets += float64(i.Octets)
		seconds += i.To.Sub(i.From).Seconds()
		sum.Highest = max(sum.Highest, i.Rate)
	}
	if seconds > 0 {
		sum.Mean = octets * 8 / seconds
	}
	if len(v.Intervals) == 0 {
		sum.Worst = Lost
	}
	if w := v.Width.Bits; w > 0 && w < 60 {
		sum.WrapsEvery, sum.Poll = WrapTime(w, sum.Highest), SafePoll(w, sum.Highest)
		if r := s.Facts.MaxRate; r > 0 {
			sum.WrapsEveryAtMost, sum.PollAtMost = WrapTime(w, r), SafePoll(w, r)
		}
	}
	if math.IsInf(sum.Mean, 0) || math.IsNaN(sum.Mean) {
		sum.Mean = 0
	}
	return sum
}
