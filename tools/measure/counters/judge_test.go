package counters_test

import (
	"math"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/tools/measure/counters"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// poll makes a series of readings every dt.
func poll(dt time.Duration, f counters.Facts, values ...uint64) counters.Series {
	s := counters.Series{Name: "x", Facts: f}
	for i, v := range values {
		s.Samples = append(s.Samples, counters.Sample{T: start.Add(time.Duration(i) * dt), V: v, Index: 2, Epoch: 1})
	}
	return s
}

func TestJudge(t *testing.T) {
	const gig = 1 << 32
	told32 := counters.Facts{Width: 32, Trusted: true, Queues: 1, Told: true, MaxRate: 1e9}
	for _, c := range []struct {
		name   string
		series counters.Series
		events []counters.Event
		marks  []counters.Mark
		octets []uint64
	}{
		{"a 32-bit counter at 1 Gbit/s, polled every 10 s: one wrap is all there can be",
			poll(10*time.Second, told32, gig-500e6, 200e6, 900e6),
			[]counters.Event{counters.Wrap, counters.Rise}, []counters.Mark{counters.Certain, counters.Certain}, []uint64{700e6, 700e6}},
		{"the same every 5 minutes: up to eight wraps fit",
			poll(5*time.Minute, told32, 0, 1000e6, 2000e6, 3000e6, 4000e6, 5000e6-gig),
			[]counters.Event{counters.Rise, counters.Rise, counters.Rise, counters.Rise, counters.Wrap},
			[]counters.Mark{counters.NoWrap, counters.NoWrap, counters.NoWrap, counters.NoWrap, counters.OneWrap},
			[]uint64{1000e6, 1000e6, 1000e6, 1000e6, 1000e6}},
		{"most of the range between polls: nothing is assumed",
			poll(5*time.Minute, told32, 0, 3000e6, 6000e6-gig, 9000e6-2*gig, 12000e6-2*gig),
			[]counters.Event{counters.Rise, counters.Wrap, counters.Wrap, counters.Rise},
			[]counters.Mark{counters.Ambiguous, counters.Ambiguous, counters.Ambiguous, counters.Ambiguous},
			[]uint64{3000e6, 3000e6, 3000e6, 3000e6}},
		{"two queues of 32 bits behind a 64-bit file, as xen-netback had it: the sum exceeds 2^32 and drops by 2^32",
			poll(10*time.Second, counters.Facts{Width: 64, Queues: 2, MaxRate: 1e9}, 8_000_000_000, 8_469_862_875, 8_900_000_000-gig,
				9_350_000_000-gig, 9_800_000_000-gig),
			[]counters.Event{counters.Rise, counters.PartialWrap, counters.Rise, counters.Rise},
			[]counters.Mark{counters.Certain, counters.Certain, counters.Certain, counters.Certain},
			[]uint64{469862875, 430137125, 450e6, 450e6}},
		{"a 64-bit counter that fell to nearly nothing was reset",
			poll(time.Minute, counters.Facts{Width: 64, Trusted: true}, 5e12, 5.001e12, 1e6, 2e9),
			[]counters.Event{counters.Rise, counters.Reset, counters.Rise},
			[]counters.Mark{counters.NoWrap, counters.Lost, counters.NoWrap}, []uint64{1e9, 0, 2e9 - 1e6}},
		{"a 64-bit counter whose resets are told cannot fall",
			poll(time.Minute, counters.Facts{Width: 64, Trusted: true, Told: true}, 5e12, 1e6),
			[]counters.Event{counters.Conflict}, []counters.Mark{counters.Lost}, []uint64{0}},
		{"faster than the link: a fact is wrong",
			poll(time.Second, counters.Facts{Width: 64, Trusted: true, Told: true, MaxRate: 1e8}, 0, 1e9),
			[]counters.Event{counters.Conflict}, []counters.Mark{counters.Lost}, []uint64{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := counters.Judge(c.series)
			if len(v.Intervals) != len(c.events) {
				t.Fatalf("%d intervals, want %d", len(v.Intervals), len(c.events))
			}
			conflicts := 0
			for _, e := range c.events {
				if e == counters.Conflict {
					conflicts++
				}
			}
			if v.Conflicts != conflicts {
				t.Errorf("%d conflicts, want %d", v.Conflicts, conflicts)
			}
			for i, iv := range v.Intervals {
				if iv.Event != c.events[i] || iv.Mark != c.marks[i] || iv.Octets != c.octets[i] {
					t.Errorf("interval %d: %v %q %d octets, want %v %q %d", i, iv.Event, iv.Mark, iv.Octets, c.events[i], c.marks[i], c.octets[i])
				}
				if iv.Mark != counters.Lost && (iv.Least > iv.Rate || iv.Most < iv.Rate) {
					t.Errorf("interval %d: %v is not within its bounds", i, iv)
				}
			}
		})
	}
}

func TestRecreatedAndTold(t *testing.T) {
	s := poll(time.Second, counters.Facts{Width: 64, Trusted: true, Told: true}, 100, 200, 300, 400, 500)
	s.Samples[2].Index, s.Samples[3].Index, s.Samples[4].Index = 7, 7, 7
	s.Samples[4].Epoch = 2
	v := counters.Judge(s)
	for i, want := range []counters.Event{counters.Rise, counters.Recreated, counters.Rise, counters.Reset} {
		if v.Intervals[i].Event != want {
			t.Errorf("interval %d: %s, want %s", i, v.Intervals[i].Event, want)
		}
	}
}

func TestMissed(t *testing.T) {
	s := poll(10*time.Second, counters.Facts{Width: 64, Trusted: true, Told: true, MaxRate: 1e9}, 0, 1e6, 0, 0, 4e6)
	s.Samples[2].Gone, s.Samples[3].Gone = true, true
	v := counters.Judge(s)
	if len(v.Intervals) != 2 || v.Intervals[1].Polls != 2 || v.Intervals[1].Rate != 8*3e6/30 || v.Intervals[1].Mark != counters.Certain {
		t.Errorf("%+v", v.Intervals)
	}
}

// TestWidth: the width is read off the drops.
func TestWidth(t *testing.T) {
	for _, w := range []int{31, 32, 33, 36, 40} {
		v, step := uint64(0), uint64(1)<<w/10
		var values []uint64
		for range 60 {
			values = append(values, v)
			v = (v + step + step/13) & (1<<w - 1)
		}
		got := counters.Judge(poll(30*time.Second, counters.Facts{Width: 64}, values...)).Width
		if got.Bits != w || got.Confidence < 0.99 || got.Known {
			t.Errorf("a counter of %d bits: %+v", w, got)
		}
	}
	got := counters.Judge(poll(30*time.Second, counters.Facts{Width: 64, Queues: 1}, 5<<32, 6<<32, 7<<32)).Width
	if got.Bits != 0 || got.Least != 35 {
		t.Errorf("no wrap was seen, and the readings need 35 bits: %+v", got)
	}
}

// TestWrapTime: the figures everybody quotes.
func TestWrapTime(t *testing.T) {
	for _, c := range []struct {
		width int
		rate  float64
		want  time.Duration
	}{{32, 114.53e6, 5 * time.Minute}, {32, 572.6e6, time.Minute}, {32, 1e9, 34 * time.Second}, {32, 100e9, 344 * time.Millisecond}} {
		if got := counters.WrapTime(c.width, c.rate); math.Abs(got.Seconds()/c.want.Seconds()-1) > 0.02 {
			t.Errorf("%d bits at %g bit/s: %s, want %s", c.width, c.rate, got, c.want)
		}
	}
	if counters.WrapTime(64, 1) != math.MaxInt64 || counters.WrapTime(32, 0) != 0 {
		t.Error("the ends")
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzJudge(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, uint8(32), uint8(2), true, 1e9, int64(1e9))
	f.Fuzz(func(t *testing.T, b []byte, width, queues uint8, yes bool, rate float64, dt int64) {
		s := counters.Series{
			Rates: len(b)%7 == 3,
			Facts: counters.Facts{Width: int(width), Queues: int(queues), Trusted: yes, Told: len(b)%2 == 0, MaxRate: rate},
		}
		for i := 0; i+8 <= len(b); i += 8 {
			var v uint64
			for _, x := range b[i : i+8] {
				v = v<<8 | uint64(x)
			}
			s.Samples = append(
				s.Samples,
				counters.Sample{
					T:     start.Add(time.Duration(i) * time.Duration(dt%1e12)),
					V:     v >> (b[i] % 64),
					Gone:  b[i] == 77,
					Index: int(b[i+1] % 2),
				},
			)
		}
		for _, iv := range counters.Judge(s).Intervals {
			if math.IsNaN(iv.Rate) || math.IsInf(iv.Rate, 0) || iv.Rate < 0 {
				t.Errorf("%+v", iv)
			}
		}
	})
}

// TestSafePoll: with one poll lost the counter must not come round between two
// that are answered; 2^32 octets at 1 Gbit/s are 34.36 s.
func TestSafePoll(t *testing.T) {
	const octets, rate = 1 << 32, 1e9
	poll := counters.SafePoll(32, rate)
	if gap := 2 * poll.Seconds() * rate / 8; gap > octets || gap < octets*0.99 {
		t.Errorf("%s: between two polls with a lost one %.0f octets pass, of %d", poll, gap, octets)
	}
}
