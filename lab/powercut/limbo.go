package powercut

import "math"

// span is a run of sectors of one disk, from its own start.
type span struct{ from, to uint64 }

func (s span) meets(o span) bool { return s.from < o.to && o.from < s.to }

// limbo lists, by disk, the writes that had been issued when the power went
// and were not durable on that disk yet: md promises nothing of what they
// held, on none of the members that they went to. start is where a disk begins.
func limbo(l *Log, c Cut, disk func(sector uint64) int, start func(disk int) uint64) map[int][]span {
	out := map[int][]span{}
	last := 0
	for _, e := range l.Entries[:c.At+1] {
		last = max(last, e.issued)
	}
	// A plain write is logged with the next flush of any disk: it may have been
	// issued before a write with FUA that is logged ahead of it.
	horizon := math.MaxInt
	for _, e := range l.Entries {
		if e.Flags&Flush != 0 && e.issued > last {
			horizon = min(horizon, e.issued)
		}
	}
	for i, e := range l.Entries[c.Prefix:] {
		if e.Flags&Mark != 0 || e.Sectors == 0 || c.Prefix+i > c.At && e.issued > horizon {
			continue
		}
		d := disk(e.Sector)
		from := e.Sector - start(d)
		out[d] = append(out[d], span{from, from + e.Sectors})
	}
	return out
}

// promised are those of the spans that no write in limbo meets: md promises
// that the copies there are equal once the array is in sync. A span and the
// limbo of group count from the start of what the array keeps on a member.
func promised(differ []span, limbo []span) []span {
	var out []span
	for _, s := range differ {
		met := false
		for _, w := range limbo {
			met = met || s.meets(w)
		}
		if !met {
			out = append(out, s)
		}
	}
	return out
}
