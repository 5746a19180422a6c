// Package disks finds the disk that slows its siblings down: members of one
// array, stripe or pool do similar work, so one that takes several times as
// long is the cause, and the others wait for it.
package disks

import (
	"math"
	"slices"
	"time"
)

// Load is what one disk did over a time.
type Load struct {
	Name          string
	Time          time.Duration // how long was looked; 0 when the source does not tell
	Assumed       bool          // Time is Assumed, and so are the counts
	Reads, Writes float64       // requests completed
	ReadBytes     float64
	WriteBytes    float64
	// ReadWait and WriteWait are the mean times from a request's arrival to its
	// completion (await of iostat(1), disk_wait of zpool-iostat(8)).
	ReadWait, WriteWait time.Duration
	// Busy is the share of the time in which a request was under way (%util), 0
	// to 1; negative when the source does not tell.
	Busy float64
}

// Group is disks that do like work for one thing: an MD array, a RAID of LVM,
// a file system over several devices, a vdev or pool of ZFS.
type Group struct {
	Name    string
	Kind    string // "md raid1", "dm", "btrfs", "zfs mirror", "given"
	Members []Load
	// Unsure is why nobody knows whether they do like work.
	Unsure error
}

// VdevKind is the kind of a group of the disks of one vdev of ZFS.
const VdevKind = "zfs vdev"

// poolKind is the kind of a group of top-level vdevs.
const poolKind = "zfs pool"

// Direction is reading or writing.
type Direction string

const (
	Reading Direction = "read"
	Writing Direction = "write"
)

// Slow is a member that holds its siblings back.
type Slow struct {
	Group, Member string
	Direction     Direction
	Wait          time.Duration // its mean
	Others        time.Duration // the median of its siblings'
	Ratio         float64       // Wait by Others
	// Gain is by how many times the group would complete more requests that
	// wait for all members, were its slow ones like the slowest of the rest:
	// with as many requests under way, throughput is inverse to the time each
	// takes (Little's law). 0 where no request waits for all, and so none is
	// known: the vdevs of a pool of ZFS hold different data.
	Gain     float64
	Requests float64 // its requests that Wait is the mean of
}

const (
	// enough is how many requests a mean must be of before it counts.
	enough = 50
	// floor is the least difference that counts: schedulers and interrupts
	// make siblings differ by less.
	floor = 2 * time.Millisecond
	// ratioMany and ratioTwo are how many times the siblings' median is too
	// much. With one sibling only, it may be that one which is odd.
	ratioMany, ratioTwo = 2.5, 3.5
	// fence is Tukey's, over the siblings: OpenZFS takes 2 for its own slow
	// siblings (openzfs/zfs pull request 16900).
	fence = 2.0
)

// Verdict is what is known of a group.
type Verdict struct {
	Slow []Slow
	// Compared tells whether two members at least did enough to be compared.
	Compared bool
}

// Judge compares the members of a group.
func (g Group) Judge() Verdict {
	var v Verdict
	if g.Unsure != nil {
		return v
	}
	for _, d := range []Direction{Reading, Writing} {
		var in []Load
		for _, m := range g.Members {
			if n, _ := m.of(d); n >= enough {
				in = append(in, m)
			}
		}
		if len(in) < 2 {
			continue
		}
		v.Compared = true
		var found []Slow
		var worst, rest time.Duration
		for i, m := range in {
			s, ok := slow(g, d, m, slices.Delete(slices.Clone(in), i, i+1))
			if ok {
				found = append(found, s)
				worst = max(worst, s.Wait)
				continue
			}
			_, wait := m.of(d)
			rest = max(rest, wait)
		}
		for i := range found {
			if g.Kind != poolKind {
				found[i].Gain = by(worst, rest)
			}
		}
		v.Slow = append(v.Slow, found...)
	}
	return v
}

func (l Load) of(d Direction) (requests float64, wait time.Duration) {
	if d == Reading {
		return l.Reads, l.ReadWait
	}
	return l.Writes, l.WriteWait
}

// slow compares m with its siblings: it must be beyond their fence, beyond a
// multiple of their median, and beyond it by more than noise makes.
func slow(g Group, d Direction, m Load, siblings []Load) (Slow, bool) {
	n, wait := m.of(d)
	var waits []time.Duration
	for _, s := range siblings {
		_, w := s.of(d)
		waits = append(waits, w)
	}
	slices.Sort(waits)
	median := quantile(waits, 0.5)
	ratio := ratioMany
	if len(waits) == 1 {
		ratio = ratioTwo
	}
	limit := max(time.Duration(float64(median)*ratio), median+floor)
	if len(waits) >= 4 {
		q1, q3 := quantile(waits, 0.25), quantile(waits, 0.75)
		limit = max(limit, q3+time.Duration(fence*float64(q3-q1)))
	}
	if wait <= limit {
		return Slow{}, false
	}
	return Slow{Group: g.Name, Member: m.Name, Direction: d, Wait: wait, Others: median, Requests: n, Ratio: by(wait, median)}, true
}

// by divides; what takes no time at all counts as a microsecond.
func by(a, b time.Duration) float64 { return float64(a) / float64(max(b, time.Microsecond)) }

// quantile of sorted values, interpolated.
func quantile(sorted []time.Duration, q float64) time.Duration {
	at := q * float64(len(sorted)-1)
	lo := int(math.Floor(at))
	if lo+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[lo] + time.Duration((at-float64(lo))*float64(sorted[lo+1]-sorted[lo]))
}

// Wait writes a time for people.
func Wait(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
