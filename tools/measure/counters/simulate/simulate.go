// Package simulate generates counters that advance at known rates: the truth
// against which counters.Judge is tested, and series to draw.
package simulate

import (
	"math"
	"math/rand/v2"
	"time"

	"fettle/tools/measure/counters"
)

// Config is one counter and how it is polled.
type Config struct {
	Rate     func(t time.Duration) float64 // bits a second at a time since the start
	Width    int                           // bits of each queue's counter
	Queues   int                           // counters that are added up
	Shown    int                           // bits of what is read: 32 for ifInOctets; 0 is 64
	Polls    int
	Interval time.Duration
	Jitter   time.Duration // polls come up to so much early or late, and the stamp says so
	Lag      time.Duration // readings are up to so much older than their stamp, as a cache makes them
	Missed   float64       // share of polls that are lost
	// Chances in each interval.
	Reset     float64 // the counters start at zero, in silence or told by the epoch
	TellReset bool
	Recreate  float64 // another interface takes the name: the ifindex changes
	Start     time.Time
}

// Truth is what happened between two readings.
type Truth struct {
	Octets uint64 // that passed
	Wraps  int    // of all queues' counters together
	Reset  bool
	Anew   bool // the interface was made again
}

// step is how finely time passes between polls, at most.
const steps = 4

// Run polls the counter. truth[i] is what happened up to samples[i] since the
// last reading that was not lost.
func Run(r *rand.Rand, c Config) (samples []counters.Sample, truth []Truth) {
	q := make([]uint64, max(c.Queues, 1))
	mask := uint64(math.MaxUint64)
	if c.Width < 64 {
		mask = 1<<c.Width - 1
	}
	shown := uint64(math.MaxUint64)
	if c.Shown > 0 && c.Shown < 64 {
		shown = 1<<c.Shown - 1
	}
	for i := range q {
		q[i] = r.Uint64() & mask
		if c.Width > 48 { // such counters are never seen near their end
			q[i] = r.Uint64N(1 << 44)
		}
	}
	index, epoch := 2, uint64(1)
	var now time.Duration // when the counter was last moved
	var since Truth
	for k := range c.Polls {
		stamp := time.Duration(k) * c.Interval
		if c.Jitter > 0 {
			stamp += time.Duration(r.Int64N(int64(2*c.Jitter))) - c.Jitter
		}
		read := stamp
		if c.Lag > 0 {
			read -= time.Duration(r.Int64N(int64(c.Lag)))
		}
		resetAt := -1
		if k > 0 && r.Float64() < c.Reset {
			resetAt = r.IntN(steps)
		}
		anew := k > 0 && r.Float64() < c.Recreate
		from := now
		for s := range steps {
			to := from + (read-from)*time.Duration(s+1)/steps
			if to <= now {
				continue
			}
			octets := uint64(c.Rate(to) / 8 * (to - now).Seconds())
			since.Octets += octets
			for i := range q {
				part := octets / uint64(len(q))
				if i == 0 {
					part += octets % uint64(len(q))
				}
				if c.Width < 64 {
					since.Wraps += int((q[i] + part) >> c.Width)
				} else if q[i]+part < q[i] {
					since.Wraps++
				}
				q[i] = (q[i] + part) & mask
			}
			now = to
			if s == resetAt || s == 0 && anew {
				clear(q)
				since.Reset = since.Reset || s == resetAt
			}
		}
		if resetAt >= 0 && c.TellReset {
			epoch++
		}
		if anew {
			index++
			since.Anew = true
		}
		s := counters.Sample{T: c.Start.Add(stamp), Index: index, Epoch: epoch}
		if k > 0 && r.Float64() < c.Missed {
			s.Gone = true
			samples, truth = append(samples, s), append(truth, Truth{})
			continue
		}
		for _, v := range q {
			s.V += v
		}
		s.V &= shown
		if k == 0 {
			since = Truth{}
		}
		samples, truth = append(samples, s), append(truth, since)
		since = Truth{}
	}
	return samples, truth
}

// Steady is a rate that varies by about this share of itself from moment to
// moment, and never exceeds most (bits a second; 0: no bound).
func Steady(r *rand.Rand, rate, share, most float64) func(time.Duration) float64 {
	return func(time.Duration) float64 {
		v := rate * math.Exp(r.NormFloat64()*share)
		if most > 0 {
			v = min(v, most)
		}
		return v
	}
}

// Day is traffic as a busy server has it: a tenth of the peak at night, the
// peak in the evening, with bursts.
func Day(r *rand.Rand, peak float64) func(time.Duration) float64 {
	burst, until := 1.0, time.Duration(0)
	return func(t time.Duration) float64 {
		if t >= until {
			burst, until = math.Exp(r.NormFloat64()*0.25), t+time.Duration(30+r.IntN(300))*time.Second
		}
		h := math.Mod(t.Hours(), 24)
		v := peak * (0.1 + 0.45*(1+math.Sin((h-6)/24*2*math.Pi))) * burst
		return min(v, peak)
	}
}

// HalfDay is 12 hours of a busy guest behind a 32-bit counter, polled every
// minute, the same each time; and the rates that passed, in bits a second, with
// the ends of their intervals.
func HalfDay(peak float64) (s counters.Series, at []time.Time, rates []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	samples, truth := Run(r, Config{Width: 32, Queues: 1, Polls: 12*60 + 1, Interval: time.Minute,
		Rate: Day(r, peak), Start: time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)})
	for i := 1; i < len(samples); i++ {
		at = append(at, samples[i].T)
		rates = append(rates, float64(truth[i].Octets)*8/samples[i].T.Sub(samples[i-1].T).Seconds())
	}
	return counters.Series{Name: "simulated", Samples: samples, Facts: counters.Facts{Width: 64, Queues: 1, Told: true}}, at, rates
}
