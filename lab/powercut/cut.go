package powercut

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kind is what a power cut left of the writes that were not durable yet.
type Kind int

const (
	Durable Kind = iota // none of them
	Torn                // none, and of the one that was to be durable at once its first sectors
	Subset              // some of them, in any order, and of some the first sectors
)

func (k Kind) String() string { return [...]string{"durable only", "torn", "some lost"}[k] }

// Cut is one state that a power cut can leave a disk in.
type Cut struct {
	Kind   Kind
	At     int // the flush, or the write with FUA, at which it comes
	Prefix int // entries before this one are on the disk
	Some   []Piece
	Class  string // what was being written, as the caller names it
}

// Piece is an entry of which the first sectors are on the disk.
type Piece struct {
	Entry   int
	Sectors uint64
}

func (c Cut) String() string {
	return fmt.Sprintf("at entry %d (%s; %d entries before, %d parts of later ones, %s)", c.At, c.Class, c.Prefix, len(c.Some), c.Kind)
}

// Write puts the cut's parts on a disk that has the entries before Prefix.
func (c Cut) Write(l *Log, disk io.WriterAt) error {
	for _, p := range c.Some {
		if err := l.Apply(disk, p.Entry, p.Sectors); err != nil {
			return err
		}
	}
	return nil
}

// Cuts lists the states that a power cut can leave between the entries from
// and to, in the order of the log, and counts the flushes and FUA writes there.
//
// dm-log-writes logs a write when it is durable: with its own end if it has
// FUA, else with the next flush. So what is before a point in the log is what
// surely is on the disk. The writes right before a flush had all ended when
// that flush began; each may or may not be on the disk until it ends. A write
// may be cut off between two sectors, never within one. class names what a
// region of the disk holds. A flush with nothing to write leaves the state of
// the point before it, and is counted only.
//
// At a mark, too, the power may go: what is durable then is all that what was
// said there can rest on. The writer's marks are too many, and say what the next
// flush shows as well.
func Cuts(l *Log, from, to int, class func(sector uint64) string, rnd *rand.Rand) (cuts []Cut, points int) {
	run := from // where the plain writes before the next flush begin
	for i := from; i < to; i++ {
		e := l.Entries[i]
		switch {
		case e.Flags&FUA != 0 && e.Sectors > 0: // the flush before a write with FUA has the flag too, and nothing to write
			points++
			c := class(e.Sector)
			if e.Sectors > 1 {
				first := 1 + rnd.Uint64N(e.Sectors-1)
				cuts = append(cuts, Cut{Torn, i, i, []Piece{{i, first}}, c})
			}
			cuts = append(cuts, Cut{Kind: Durable, At: i, Prefix: i + 1, Class: c})
		case e.Flags&Flush != 0:
			points++
			if run == i && e.Sectors == 0 {
				break
			}
			c := class(l.Entries[i-1].Sector)
			if some := subset(l, run, i, rnd); len(some) > 0 {
				cuts = append(cuts, Cut{Subset, i, run, some, c})
			}
			cuts = append(cuts, Cut{Kind: Durable, At: i, Prefix: i + 1, Class: c})
		case e.Flags&Mark == 0:
			continue // a plain write or a discard: part of the run
		case said(e):
			cuts = append(cuts, Cut{Kind: Durable, At: i, Prefix: i + 1, Class: classSaid})
		}
		run = i + 1
	}
	return cuts, points
}

// classSaid is the class of cuts at a mark.
const classSaid = "said"

// said tells a mark of what somebody was told from those of the writer.
func said(e Entry) bool { return e.Flags&Mark != 0 && !strings.HasPrefix(e.Mark, writerMark) }

// subset draws from the entries [from, to): a half is left out, and an eighth cut off.
func subset(l *Log, from, to int, rnd *rand.Rand) []Piece {
	var some []Piece
	for i := from; i < to; i++ {
		n := uint64(math.MaxUint64)
		if s := l.Entries[i].Sectors; s > 1 && rnd.IntN(8) == 0 {
			n = 1 + rnd.Uint64N(s-1)
		}
		if rnd.IntN(2) == 0 {
			some = append(some, Piece{i, n})
		}
	}
	rnd.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some
}

// PerDisk reorders a log for disks that have caches of their own. The one
// that recorded it is a single disk, whose every flush made durable all that
// had been written; of the partitions that stand for disks, only the one that
// was flushed has that promise. The writes of the others go to where their
// own next flush is. disk tells them apart: a flush has the sector of the
// partition that it was sent to, from its start on.
//
// What drivers/md/dm-log-writes.c guarantees (read as of Linux 6.1): a plain write
// waits in a list from its end on; whichever flush is mapped next takes the list,
// and logs it, then itself, when it ends. A write with FUA and a mark are logged
// when they end. So what is logged before an entry had ended by then; but of two
// flushes under way at once, the second to be mapped may end first, and be logged
// before the writes that the first took: then they are durable where the second is,
// and this would keep them for a flush that comes later. record sees to it that
// no two are. undecided tells of the other thing that the log cannot: a plain write
// that had ended before one with FUA to the same sectors is logged after it.
func (l *Log) PerDisk(disk func(sector uint64) int) *Log {
	out := &Log{SectorSize: l.SectorSize, r: l.r}
	cached := map[int][]Entry{}
	flush := func(d int) {
		out.Entries = append(out.Entries, cached[d]...)
		delete(cached, d)
	}
	for _, e := range l.Entries {
		d := disk(e.Sector)
		switch {
		case e.Flags&(FUA|Flush|Mark) == 0:
			cached[d] = append(cached[d], e)
			continue
		case e.Flags&Flush != 0:
			flush(d)
		}
		out.Entries = append(out.Entries, e)
	}
	for _, d := range slices.Sorted(maps.Keys(cached)) {
		flush(d)
	}
	return out
}

// Sample takes at most n of the cuts, the same share of every class and kind as far as
// it has that many, evenly spread over the log. Those at marks it takes besides: they are few.
func Sample(cuts []Cut, n int) []Cut {
	if len(cuts) <= n {
		return cuts
	}
	type stratum struct {
		class string
		kind  Kind
	}
	count := map[stratum]int{}
	for _, c := range cuts {
		if c.Class != classSaid {
			count[stratum{c.Class, c.Kind}]++
		}
	}
	// The small strata are taken whole; what they leave goes to the others.
	quota, left, strata := map[stratum]int{}, n, len(count)
	for strata > 0 {
		share, settled := left/strata, false
		for s, c := range count {
			if _, ok := quota[s]; !ok && c <= share {
				quota[s], left, strata, settled = c, left-c, strata-1, true
			}
		}
		if settled {
			continue
		}
		for s := range count {
			if _, ok := quota[s]; !ok {
				quota[s] = share
			}
		}
		break
	}
	var out []Cut
	seen := map[stratum]int{}
	for _, c := range cuts {
		s := stratum{c.Class, c.Kind}
		q, all, i := quota[s], count[s], seen[s]
		if c.Class == classSaid {
			out = append(out, c)
			continue
		}
		seen[s]++
		if (i+1)*q/all > i*q/all {
			out = append(out, c)
		}
	}
	return out
}
