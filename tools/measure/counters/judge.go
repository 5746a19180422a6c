package counters

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Mark says how sure a rate is.
type Mark string

const (
	// Certain: every explanation that the facts leave gives this number.
	Certain Mark = "certain"
	// NoWrap: the counter rose, and nothing points to a wrap; one is possible.
	NoWrap Mark = "no wrap assumed"
	// OneWrap: the counter wrapped, and once is the simplest explanation.
	OneWrap Mark = "one wrap assumed"
	// Ambiguous: several explanations are about as good. The rate is the lowest of them.
	Ambiguous Mark = "ambiguous"
	// Lost: nothing can be said of the rate.
	Lost Mark = "not known"
)

// Event is what happened between two readings.
type Event string

const (
	Rise        Event = "rise"
	Wrap        Event = "wrap"
	PartialWrap Event = "partial wrap" // one of several queues' counters: the sum drops by about 2^width
	Reset       Event = "reset"        // of the counter, or a restart of its agent
	Recreated   Event = "re-created"   // another interface has the name now
	Conflict    Event = "conflict"     // no explanation fits the facts
)

// Interval is what Judge makes of two readings that follow each other.
type Interval struct {
	From, To time.Time
	Event    Event
	Mark     Mark
	// Octets that passed, and their rate in bits a second: the best
	// explanation. Zero where Mark is Lost.
	Octets uint64
	Rate   float64
	// Least and Most bound the rate over all explanations that the facts
	// leave, in bits a second.
	Least, Most float64
	Drop        uint64 // by how much the reading fell; 0 when it did not
	Polls       int    // readings that are missing in between
}

// Verdict is what Judge makes of a series.
type Verdict struct {
	Width     Width
	Intervals []Interval
	// Drops that the facts cannot explain, so that one of the facts is wrong.
	Conflicts int
	// Crowded says that the counter moves by more than half of its range
	// between readings: further wraps would go unseen.
	Crowded bool
}

// Judge tells for each interval what happened and how sure that is.
func Judge(s Series) Verdict {
	j := &judge{facts: s.Facts, least: leastWidth(s)}
	j.split(s)
	v := Verdict{Width: j.infer()}
	j.width = v.Width
	if v.Crowded = j.crowded(); v.Crowded && !v.Width.Known {
		v.Width = j.calmWidth(v.Width)
		j.width = v.Width
	}
	for k, p := range j.pairs {
		var i Interval
		if s.Rates {
			i = j.rate(p, j.near(k))
		} else {
			i = j.interval(p, j.near(k))
		}
		if i.Event == Conflict {
			v.Conflicts++
		}
		v.Intervals = append(v.Intervals, i)
	}
	return v
}

// pair is two readings that follow each other.
type pair struct {
	a, b    Sample
	dt      time.Duration
	most    uint64 // octets that can have passed
	skipped int
}

type judge struct {
	facts Facts
	least int // the narrowest width that the readings leave
	pairs []pair
	width Width
	ref   reference
	over  []int     // how many intervals before each need more than half of the range
	rises reference // of the intervals without a drop, where these are enough
}

// leastWidth is the narrowest that the counter can be: what adds it up cannot
// show more than all its queues hold.
func leastWidth(s Series) int {
	if s.Facts.Trusted {
		return s.Facts.width()
	}
	if s.Rates {
		return min(32, s.Facts.width())
	}
	var most uint64
	for _, x := range s.Samples {
		if !x.Gone {
			most = max(most, x.V)
		}
	}
	w := MinWidth
	for w < MaxWidth {
		hi, lo := bits.Mul64(mask(w), s.Facts.queues())
		if hi > 0 || lo >= most {
			break
		}
		w++
	}
	return min(w, s.Facts.width())
}

// split makes pairs of the readings that are there.
func (j *judge) split(s Series) {
	last, skipped := -1, 0
	for i, x := range s.Samples {
		if s.Rates && i > 0 { // what passed since the row before, be that known or not
			last = i - 1
		}
		if x.Gone {
			skipped++
			continue
		}
		if last >= 0 && x.T.After(s.Samples[last].T) {
			p := pair{a: s.Samples[last], b: x, dt: x.T.Sub(s.Samples[last].T), skipped: skipped}
			p.most = s.Facts.most(p.dt)
			j.pairs = append(j.pairs, p)
		}
		last, skipped = i, 0
	}
}

// anew tells whether the owner of the counter says that it started again, or
// that another interface has the name.
func (p pair) anew() (Event, bool) {
	if p.a.Index != 0 && p.b.Index != 0 && p.a.Index != p.b.Index {
		return Recreated, true
	}
	return Reset, p.a.Epoch != p.b.Epoch
}

// mayReset: the counter may have started from zero in between unseen, and
// then have come to b within the time.
func (j *judge) mayReset(p pair) bool { return !j.facts.Told && p.b.V <= p.most }

func (p pair) rateOf(octets uint64) float64 { return float64(octets) * 8 / p.dt.Seconds() }

func (j *judge) interval(p pair, crowded bool) Interval {
	i := Interval{From: p.a.T, To: p.b.T, Event: Rise, Polls: p.skipped}
	if p.b.V < p.a.V {
		i.Drop = p.a.V - p.b.V
	}
	if e, anew := p.anew(); anew {
		// What passed before the end of the old counter is lost.
		i.Event, i.Mark = e, Lost
		i.Least, i.Most = p.rateOf(min(p.b.V, p.most)), p.rateOf(p.most)
		return i
	}
	low := j.facts.moved(p.a.V, p.b.V, j.least)
	step := mask(j.least) // one less than a further wrap adds
	reset := j.mayReset(p)
	fits := low <= p.most
	i.Least, i.Most = p.rateOf(low), p.rateOf(p.most)
	if reset {
		i.Least = p.rateOf(min(low, p.b.V))
	}
	switch {
	case !fits && !reset:
		// Either the counter was reset although that should have been told, or
		// it moves faster than it can.
		i.Event, i.Mark, i.Least = Conflict, Lost, 0
		return i
	case !fits:
		i.Event, i.Mark, i.Least = Reset, Lost, p.rateOf(p.b.V)
		return i
	case !reset && (p.most-low <= step):
		i.Mark, i.Octets = Certain, low
		if i.Drop > 0 {
			i.Event = j.wrapEvent(p)
		}
		i.Rate = p.rateOf(low)
		i.Least, i.Most = i.Rate, i.Rate
		return i
	case i.Drop > 0:
		j.drop(p, &i, crowded)
	default:
		i.Mark, i.Octets = NoWrap, low
		if crowded && p.most-low > mask(j.width.Bits) {
			i.Mark = Ambiguous
		}
	}
	i.Rate = p.rateOf(i.Octets)
	return i
}

// wrapEvent tells the wrap of one counter from that of one queue of several.
func (j *judge) wrapEvent(p pair) Event {
	if w := max(j.width.Bits, j.least); w > 0 && p.a.V > mask(w) {
		return PartialWrap
	}
	return Wrap
}

// drop chooses between a wrap, at one width or another, and a reset.
func (j *judge) drop(p pair, i *Interval, crowded bool) {
	octets, share, reset := j.explain(p)
	switch {
	case reset > 0.8:
		i.Event, i.Mark = Reset, Lost
		return
	case share > 0.8 && !crowded:
		i.Mark = OneWrap
	default:
		i.Mark = Ambiguous
	}
	i.Event, i.Octets = j.wrapEvent(p), octets
	if octets == 0 {
		i.Mark = Lost
	}
}

// rate judges an interval of which only a rate is known, as rrdtool keeps it:
// rrdtool has corrected what it took for a wrap, and smoothed.
func (j *judge) rate(p pair, crowded bool) Interval {
	i := Interval{From: p.a.T, To: p.b.T, Event: Rise, Mark: NoWrap, Polls: p.skipped, Octets: p.b.V, Rate: p.rateOf(p.b.V)}
	i.Least, i.Most = i.Rate, p.rateOf(p.most)
	if p.b.V > p.most {
		i.Event, i.Mark, i.Octets, i.Rate, i.Least = Conflict, Lost, 0, 0, 0
	} else if crowded {
		i.Mark = Ambiguous
	}
	return i
}

// WrapTime is how long a counter of this many bits lasts at a rate in bits a
// second; 0 for a rate of nothing.
func WrapTime(width int, rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	s := math.Ldexp(8, width) / rate
	if s > math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}

// SafePoll is the longest time between polls at which no wrap goes unseen at a
// rate, although one poll in a row may get lost.
func SafePoll(width int, rate float64) time.Duration { return WrapTime(width, rate) / 2 }

// String is one line for a log.
func (i Interval) String() string {
	return fmt.Sprintf("%s %s %s %.0f bit/s (%.0f..%.0f)", i.To.UTC().Format(time.RFC3339), i.Event, i.Mark, i.Rate, i.Least, i.Most)
}
