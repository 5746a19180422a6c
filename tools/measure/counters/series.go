// Package counters reads octet counters of network interfaces and computes
// rates that can be believed: it tells a counter that wrapped from one that
// was reset or now belongs to another interface, infers how wide the
// counter is, and marks each rate with how certain it is.
//
// Judge is pure: it knows nothing of where a series comes from. The readers
// are this host's netlink, SNMP, and recorded series.
package counters

import (
	"math"
	"slices"
	"time"
)

// Widths that octet counters have. A counter that a signed integer keeps
// wraps at 31 bits.
const (
	MinWidth = 31 // bits
	MaxWidth = 64 // bits
)

// Ceiling is faster than any interface there is, in bits a second: the bound
// where nothing better is known. IEEE 802.3dj's 1.6 Tbit/s is the fastest
// Ethernet; a veth moves some 100 Gbit/s.
const Ceiling = 2e12

// MaxQueues is how many queues of its own counters an interface is taken to
// have at most, where nobody knows.
const MaxQueues = 64

// Sample is one reading of a counter.
type Sample struct {
	T time.Time
	V uint64 // octets
	// Gone says that there was no reading: the poll was lost, the interface
	// was not there. V is then meaningless.
	Gone bool
	// Index is the interface's ifindex; 0 where it is not known.
	Index int
	// Epoch changes when the counter's owner says that it may have started
	// again: ifCounterDiscontinuityTime, or the start of the agent.
	Epoch uint64
}

// Series is the readings of one counter, in the order of time.
type Series struct {
	Name    string // "eth0 rx"
	Samples []Sample
	// Rates says that V is not a counter: rrdtool keeps the rates that it
	// worked out itself. V is then the octets of the time since the sample before.
	Rates bool
	Facts Facts
}

// Facts are what is known of a counter besides its readings. What a fact
// rules out, Judge rules out: a false one makes false certainty.
type Facts struct {
	// Width is the counter's width in bits as declared; 0 is 64. Unless
	// Trusted it is an upper bound only: a 64-bit file may show a 32-bit
	// register.
	Width   int
	Trusted bool
	// MaxRate is what the interface cannot exceed, in bits a second; 0 is Ceiling.
	MaxRate float64
	// Queues is how many counters of that width are added up into the one that
	// is read, at most; 0 is MaxQueues.
	Queues int
	// Lag is how old a reading may be at its time stamp: what an agent caches,
	// how rarely a driver asks the hardware.
	Lag time.Duration
	// Told says that every reset shows in Index or Epoch: ifCounterDiscontinuityTime
	// promises it (RFC 2863, section 3.1.6).
	Told bool
}

func (f Facts) width() int {
	if f.Width <= 0 || f.Width > MaxWidth {
		return MaxWidth
	}
	return f.Width
}

func (f Facts) maxRate() float64 {
	if f.MaxRate <= 0 || f.MaxRate > Ceiling {
		return Ceiling
	}
	return f.MaxRate
}

func (f Facts) queues() uint64 {
	if f.Queues <= 0 {
		return MaxQueues
	}
	return uint64(f.Queues)
}

// most is how many octets can have passed in dt, by the clock of the readings.
func (f Facts) most(dt time.Duration) uint64 {
	octets := f.maxRate()/8*(dt+f.Lag).Seconds()*1.000001 + 65536
	if octets >= math.MaxUint64/4 {
		return math.MaxUint64 / 4
	}
	return uint64(octets)
}

// mask is 2^width - 1.
func mask(width int) uint64 {
	if width >= 64 {
		return math.MaxUint64
	}
	return 1<<width - 1
}

// moved is the fewest octets that take a counter from a to b when it, or each
// of the counters that it adds up, wraps at 2^width. Each wrap takes 2^width
// away, so the true number is this or more by a multiple of 2^width.
func (f Facts) moved(a, b uint64, width int) uint64 {
	// A sum of narrower counters rises by less than was counted, never by more.
	if b >= a && !f.cut(width) {
		return b - a
	}
	return (b - a) & mask(width)
}

// cut: counters of this width may be added up, and the sum itself be cut to
// the declared width.
func (f Facts) cut(width int) bool {
	return f.width() < 64 && width < f.width() && f.queues() > 1
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
