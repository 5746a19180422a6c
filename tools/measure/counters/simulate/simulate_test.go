package simulate

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"fettle/tools/measure/counters"
)

// start is when the tests' counters are first read.
var start = time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)

// constant is so many octets a second.
func constant(octets float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return octets * 8 }
}

func run(t *testing.T, c Config) ([]counters.Sample, []Truth) {
	t.Helper()
	c.Start = start
	samples, truth := Run(rand.New(rand.NewPCG(1, 2)), c)
	if len(samples) != c.Polls || len(truth) != c.Polls {
		t.Fatalf("%d polls, %d samples, %d truths", c.Polls, len(samples), len(truth))
	}
	return samples, truth
}

// TestTruthIsWhatTheCountersSay: by all wraps, the sum of all queues grew by what passed.
func TestTruthIsWhatTheCountersSay(t *testing.T) {
	for name, c := range map[string]Config{
		"one counter":    {Width: 32, Queues: 1, Polls: 200, Interval: time.Minute, Rate: constant(30_000_000)},
		"no queues said": {Width: 32, Polls: 50, Interval: time.Minute, Rate: constant(30_000_000)},
		"four queues":    {Width: 32, Queues: 4, Polls: 200, Interval: time.Minute, Rate: constant(100_000_001)},
		"narrow":         {Width: 16, Queues: 2, Polls: 200, Interval: time.Second, Rate: constant(1000)},
		"wide":           {Width: 64, Queues: 2, Polls: 50, Interval: time.Minute, Rate: constant(1e10)},
		"48 bits":        {Width: 48, Queues: 1, Polls: 50, Interval: time.Minute, Rate: constant(1e12)},
		"at uneven times": {Width: 32, Queues: 1, Polls: 200, Interval: time.Minute, Jitter: 5 * time.Second, Lag: 10 * time.Second,
			Rate: constant(1e7)},
	} {
		samples, truth := run(t, c)
		if truth[0] != (Truth{}) {
			t.Errorf("%s: before the first reading %+v", name, truth[0])
		}
		wraps := 0
		for i := 1; i < len(samples); i++ {
			grew := new(big.Int).Lsh(big.NewInt(int64(truth[i].Wraps)), uint(c.Width))
			grew.Add(grew, new(big.Int).SetUint64(samples[i].V)).Sub(grew, new(big.Int).SetUint64(samples[i-1].V))
			grew.And(grew, new(big.Int).SetUint64(math.MaxUint64))
			if grew.Uint64() != truth[i].Octets {
				t.Fatalf("%s: from %+v to %+v the truth is %+v", name, samples[i-1], samples[i], truth[i])
			}
			wraps += truth[i].Wraps
			if truth[i].Reset || truth[i].Anew || samples[i].Gone || samples[i].Index != 2 || samples[i].Epoch != 1 {
				t.Errorf("%s: %+v, %+v: nothing else was asked for", name, samples[i], truth[i])
			}
		}
		if wraps == 0 && name != "wide" {
			t.Errorf("%s: no counter wrapped", name)
		}
	}
}

// TestWideCountersWrap at rates that no interface has.
func TestWideCountersWrap(t *testing.T) {
	samples, truth := run(t, Config{Width: 64, Polls: 20, Interval: 4 * time.Second, Rate: constant(1e19)})
	for i := 1; i < len(samples); i++ {
		end := new(big.Int).SetUint64(1e19)
		end.Mul(end, big.NewInt(4)).Add(end, new(big.Int).SetUint64(samples[i-1].V))
		wraps := new(big.Int).Rsh(end, 64).Int64()
		if v := new(big.Int).And(end, new(big.Int).SetUint64(math.MaxUint64)).Uint64(); samples[i].V != v || int64(truth[i].Wraps) != wraps {
			t.Errorf("reading %d: %+v, %+v; want %d after %d wraps", i, samples[i], truth[i], v, wraps)
		}
	}
}

func TestSteadyTraffic(t *testing.T) {
	samples, truth := run(t, Config{Width: 64, Queues: 3, Polls: 100, Interval: time.Minute, Rate: constant(1000)})
	for i, s := range samples {
		if want := start.Add(time.Duration(i) * time.Minute); !s.T.Equal(want) {
			t.Errorf("reading %d is of %s, want %s", i, s.T, want)
		}
		if i > 0 && (truth[i].Octets != 60_000 || s.V-samples[i-1].V != 60_000) {
			t.Errorf("reading %d: %+v, %+v", i, s, truth[i])
		}
	}
	if v := samples[0].V; v >= 3<<44 || v == 0 {
		t.Errorf("wide counters begin near their end: %d", v)
	}
	several := map[bool]int{}
	for seed := range uint64(20) { // narrow ones begin anywhere
		s, _ := Run(rand.New(rand.NewPCG(seed, 1)), Config{Width: 32, Polls: 1, Interval: time.Minute, Rate: constant(1)})
		if s[0].V >= 1<<32 {
			t.Errorf("a counter of 32 bits begins at %d", s[0].V)
		}
		several[s[0].V >= 1<<31]++
	}
	if len(several) != 2 {
		t.Error("20 counters begin in the same half")
	}
	if s, _ := Run(rand.New(rand.NewPCG(1, 1)), Config{Width: 49, Polls: 1, Interval: time.Minute, Rate: constant(1)}); s[0].V >= 1<<44 {
		t.Errorf("a counter of 49 bits begins at %d", s[0].V)
	}
}

// TestTrafficThatChanges is counted at the rate of the time, not of the poll.
func TestTrafficThatChanges(t *testing.T) {
	var asked []time.Duration
	_, truth := run(t, Config{Width: 64, Polls: 3, Interval: 40 * time.Second, Rate: func(at time.Duration) float64 {
		asked = append(asked, at)
		return 8 * at.Seconds()
	}})
	if want := []time.Duration{10e9, 20e9, 30e9, 40e9, 50e9, 60e9, 70e9, 80e9}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked at %v, want %v", asked, want)
	}
	if truth[1].Octets != 1000 || truth[2].Octets != 2600 {
		t.Errorf("%+v", truth)
	}
}

func TestShownAreTheLowerBits(t *testing.T) {
	c := Config{Width: 64, Queues: 2, Polls: 300, Interval: time.Minute, Rate: constant(30_000_000)}
	whole, _ := run(t, c)
	for shown, mask := range map[int]uint64{32: 1<<32 - 1, 16: 1<<16 - 1, 64: math.MaxUint64, 63: 1<<63 - 1} {
		c.Shown = shown
		cut, truth := run(t, c)
		for i := range cut {
			if cut[i].V != whole[i].V&mask {
				t.Fatalf("%d bits of %d are shown as %d", shown, whole[i].V, cut[i].V)
			}
		}
		if truth[9].Octets != 1_800_000_000 {
			t.Errorf("%d shown: %+v", shown, truth[9])
		}
	}
}

func TestJitterAndLag(t *testing.T) {
	const jitter, lag, rate = 5 * time.Second, 10 * time.Second, 1_000_000
	samples, _ := run(t, Config{Width: 64, Polls: 1000, Interval: time.Minute, Jitter: jitter, Rate: constant(rate)})
	var early, late, old, oldest time.Duration
	for i, s := range samples {
		off := s.T.Sub(start) - time.Duration(i)*time.Minute
		early, late = min(early, off), max(late, off)
		if i > 0 { // the reading is of its stamp
			if d := float64(s.V-samples[0].V)/rate - s.T.Sub(start).Seconds(); math.Abs(d) > 5 {
				t.Fatalf("reading %d is %g s off", i, d)
			}
		}
	}
	if early < -jitter || early > -jitter*9/10 || late > jitter || late < jitter*9/10 {
		t.Errorf("polls come from %s to %s", early, late)
	}
	samples, _ = run(t, Config{Width: 64, Polls: 1000, Interval: time.Minute, Lag: lag, Rate: constant(rate)})
	old = time.Hour
	for i, s := range samples[1:] {
		if !s.T.Equal(start.Add(time.Duration(i+1) * time.Minute)) {
			t.Fatalf("reading %d is said to be of %s", i+1, s.T)
		}
		age := time.Duration(i+1)*time.Minute - time.Duration(float64(s.V-samples[0].V)/rate*1e9)
		old, oldest = min(old, age), max(oldest, age)
	}
	if old < 0 || old > time.Second || oldest > lag+time.Second || oldest < lag*9/10 {
		t.Errorf("readings are from %s to %s old", old, oldest)
	}
}

// TestLostPolls: the next reading's truth is of all since the last one.
func TestLostPolls(t *testing.T) {
	samples, truth := run(t, Config{Width: 64, Polls: 2000, Interval: time.Minute, Missed: 0.25, Rate: constant(1000)})
	lost, since := 0, uint64(0)
	for i, s := range samples {
		if s.Gone {
			lost++
			since++
			if s.V != 0 || truth[i] != (Truth{}) || s.Index != 2 || s.Epoch != 1 || i == 0 {
				t.Errorf("lost: %+v, %+v", s, truth[i])
			}
			continue
		}
		if want := (since + 1) * 60_000; i > 0 && truth[i].Octets != want {
			t.Errorf("reading %d: %+v, want %d", i, truth[i], want)
		}
		since = 0
	}
	if lost < 400 || lost > 600 {
		t.Errorf("%d of 2000 are lost, want a quarter", lost)
	}
	if samples, _ := run(t, Config{Width: 64, Polls: 5, Interval: time.Minute, Missed: 1, Rate: constant(1)}); samples[0].Gone ||
		!samples[4].Gone {
		t.Errorf("the first is never lost: %+v", samples)
	}
}

func TestResets(t *testing.T) {
	for _, told := range []bool{false, true} {
		samples, truth := run(t, Config{Width: 64, Queues: 2, Polls: 2000, Interval: 40 * time.Second, Reset: 0.25, TellReset: told,
			Rate: constant(1000)})
		resets, epoch := 0, uint64(1)
		left := map[uint64]int{}
		for i, s := range samples {
			if truth[i].Reset {
				resets++
				left[s.V]++
				if told {
					epoch++
				}
			} else if i > 0 && s.V != samples[i-1].V+40_000 {
				t.Fatalf("reading %d: %+v after %+v", i, s, samples[i-1])
			}
			if s.Epoch != epoch || s.Index != 2 || truth[i].Anew || i > 0 && truth[i].Octets != 40_000 || i == 0 && truth[i].Reset {
				t.Fatalf("reading %d: %+v, %+v", i, s, truth[i])
			}
		}
		if resets < 400 || resets > 600 {
			t.Errorf("%d of 2000 intervals have a reset, want a quarter", resets)
		}
		for _, v := range []uint64{0, 10_000, 20_000, 30_000} { // it comes anywhere in the interval
			if left[v] < resets/8 {
				t.Errorf("after the resets there are %v", left)
			}
		}
		if len(left) != 4 {
			t.Errorf("after the resets there are %v", left)
		}
	}
	samples, truth := run(t, Config{Width: 64, Polls: 3, Interval: time.Minute, Reset: 1, TellReset: true, Rate: constant(1)})
	if truth[0].Reset || !truth[1].Reset || !truth[2].Reset || samples[0].Epoch != 1 || samples[2].Epoch != 3 {
		t.Errorf("each interval has one, before the first there is none: %+v, %+v", samples, truth)
	}
}

// TestInterfacesMadeAnew have another index, and counters that began at zero.
func TestInterfacesMadeAnew(t *testing.T) {
	samples, truth := run(t, Config{Width: 64, Polls: 2000, Interval: 40 * time.Second, Recreate: 0.25, Rate: constant(1000)})
	index := 2
	for i, s := range samples {
		if truth[i].Anew {
			index++
			if s.V != 30_000 {
				t.Errorf("reading %d: %+v", i, s)
			}
		}
		if s.Index != index || s.Epoch != 1 || truth[i].Reset {
			t.Fatalf("reading %d: %+v, %+v", i, s, truth[i])
		}
	}
	if index < 402 || index > 602 {
		t.Errorf("%d of 2000 were made anew, want a quarter", index-2)
	}
	samples, truth = run(t, Config{Width: 64, Polls: 2, Interval: time.Minute, Recreate: 1, Rate: constant(1)})
	if truth[0].Anew || !truth[1].Anew || samples[0].Index != 2 || samples[1].Index != 3 {
		t.Errorf("each interval has one, before the first there is none: %+v, %+v", samples, truth)
	}
}

func TestSteadyVaries(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	if v := Steady(r, 1e6, 0, 0)(0); v != 1e6 {
		t.Errorf("without variation %g", v)
	}
	free, bound := Steady(r, 1e6, 0.1, 0), Steady(r, 1e6, 0.1, 1.05e6)
	sum, squares, above, at := 0.0, 0.0, 0, 0
	for range 4000 {
		l := math.Log(free(0) / 1e6)
		sum, squares = sum+l, squares+l*l
		if l > math.Log(1.05) {
			above++
		}
		if v := bound(0); v > 1.05e6 {
			t.Fatalf("%g exceeds the bound", v)
		} else if v == 1.05e6 {
			at++
		}
	}
	if mean, spread := sum/4000, math.Sqrt(squares/4000); math.Abs(mean) > 0.01 || math.Abs(spread-0.1) > 0.01 {
		t.Errorf("it varies by %g around %g", spread, mean)
	}
	if above < 1000 || at < 1000 {
		t.Errorf("of 4000, %d are above what bounds %d", above, at)
	}
}

// TestDay: the traffic is least and most twelve hours apart, stays below its peak, and bursts last minutes.
func TestDay(t *testing.T) {
	const peak = 1e9
	hours := map[float64][]float64{0: nil, 6: nil, 12: nil, 18: nil}
	rate := Day(rand.New(rand.NewPCG(1, 2)), peak)
	for day := range 400 {
		for _, h := range []float64{0, 6, 12, 18} {
			v := rate(time.Duration((float64(day)*24 + h) * float64(time.Hour)))
			if v > peak || v <= 0 {
				t.Fatalf("%g of a peak of %g", v, peak)
			}
			hours[h] = append(hours[h], math.Log(v/peak))
		}
	}
	for h, want := range map[float64]float64{0: 0.1, 6: 0.55, 18: 0.55} {
		sum := 0.0
		for _, l := range hours[h] {
			sum += l
		}
		if got := math.Exp(sum / float64(len(hours[h]))); math.Abs(got/want-1) > 0.05 {
			t.Errorf("at hour %g there is %.3f of the peak, want %.2f", h, got, want)
		}
	}
	full := 0
	for _, l := range hours[12] {
		if l == 0 {
			full++
		}
	}
	if full < 150 || full > 250 {
		t.Errorf("the peak is reached on %d of 400 days, want about half", full)
	}
	var shortest, longest, begun time.Duration
	shortest = time.Hour
	rate = Day(rand.New(rand.NewPCG(1, 2)), peak)
	last := rate(0)
	for at := time.Second; at < 6*time.Hour; at += time.Second {
		v := rate(at)
		if math.Abs(v/last-1) > 0.002 { // the hour alone changes it less
			shortest, longest, begun = min(shortest, at-begun), max(longest, at-begun), at
		}
		last = v
	}
	if shortest < 30*time.Second || shortest > 100*time.Second || longest < 250*time.Second || longest > 700*time.Second {
		t.Errorf("bursts last from %s to %s", shortest, longest)
	}
}

func TestHalfDayIsTheSameEachTime(t *testing.T) {
	s, at, rates := HalfDay(4e8)
	s2, at2, rates2 := HalfDay(4e8)
	if !reflect.DeepEqual(s, s2) || !reflect.DeepEqual(at, at2) || !reflect.DeepEqual(rates, rates2) {
		t.Error("it differs from time to time")
	}
	if len(s.Samples) != 721 || len(at) != 720 || len(rates) != 720 || !s.Samples[0].T.Equal(start) ||
		!at[719].Equal(start.Add(12*time.Hour)) {
		t.Fatalf("%d samples from %s, %d times, %d rates", len(s.Samples), s.Samples[0].T, len(at), len(rates))
	}
	for i, rate := range rates { // at most 3 GB a minute: it wraps once at most
		passed := (s.Samples[i+1].V - s.Samples[i].V) & math.MaxUint32
		if !at[i].Equal(s.Samples[i+1].T) || math.Abs(rate-float64(passed)*8/60) > 1e-6*rate || s.Samples[i].V > math.MaxUint32 {
			t.Fatalf("%s: %g, and %d octets passed", at[i], rate, passed)
		}
	}
	if s.Facts != (counters.Facts{Width: 64, Queues: 1, Told: true}) || s.Name == "" {
		t.Errorf("%q, %+v", s.Name, s.Facts)
	}
}
