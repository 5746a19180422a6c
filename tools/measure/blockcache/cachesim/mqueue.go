package cachesim

import "math/bits"

// levels of each of smq's queues: NR_HOTSPOT_LEVELS and NR_CACHE_LEVELS of
// drivers/md/dm-cache-policy-smq.c (6.1).
const levels = 64

// mqueue is a queue of smq: a least-recently-used list for each level. Entries
// with an index of real or more are sentinels: marks in the lists that tell
// how long an entry has stood there.
type mqueue struct {
	nodes []node
	level []uint8
	real  int32

	lists [levels]list
	count [levels]int32 // entries without sentinels
	mask  uint64        // levels that have any
	n     int32

	// The upper topLevels hold inTop entries in all, the others the rest.
	topLevels, inTop int32
	targetsFor       int32 // n when targets were set
	target           [levels]int32
}

func (q *mqueue) init(nodes []node, level []uint8, real int) {
	q.nodes, q.level, q.real = nodes, level, int32(real)
	for i := range q.lists {
		q.lists[i] = newList()
	}
}

func (q *mqueue) added(e int32) {
	if e < q.real {
		l := q.level[e]
		q.count[l]++
		q.mask |= 1 << l
		q.n++
	}
}

func (q *mqueue) push(e int32) {
	q.lists[q.level[e]].pushTail(q.nodes, e)
	q.added(e)
}

func (q *mqueue) pushBefore(old, e int32) {
	q.lists[q.level[e]].pushBefore(q.nodes, old, e)
	q.added(e)
}

func (q *mqueue) remove(e int32) {
	l := q.level[e]
	q.lists[l].remove(q.nodes, e)
	if e < q.real {
		q.n--
		if q.count[l]--; q.count[l] == 0 {
			q.mask &^= 1 << l
		}
	}
}

// peek is the oldest entry of the lowest level below max that has any. Without
// cross, entries behind a level's first sentinel do not count.
func (q *mqueue) peek(max uint, cross bool) int32 {
	for m := q.mask & (1<<max - 1); m != 0; m &= m - 1 {
		for e := q.lists[bits.TrailingZeros64(m)].head; e != none; e = q.nodes[e].next {
			if e < q.real {
				return e
			}
			if !cross {
				break
			}
		}
	}
	return none
}

// raise moves e up by some levels, to the tail, and gives its place to the oldest entry
// of the level that it comes to: levels keep their sizes. The other entry goes
// before the sentinel that mark chooses of how many it stood behind, or to
// the tail when mark is nil or returns none.
func (q *mqueue) raise(e int32, by uint8, mark func(level uint8, passed int) int32) {
	from := q.level[e]
	to := min(from+by, levels-1)
	if to == from {
		l := &q.lists[from]
		if l.tail != e {
			l.remove(q.nodes, e)
			l.pushTail(q.nodes, e)
		}
		return
	}
	passed := 0
	other := q.lists[to].head
	for other != none && other >= q.real {
		passed++
		other = q.nodes[other].next
	}
	if other == none {
		q.remove(e)
		q.level[e] = to
		q.push(e)
		return
	}
	// One comes and one goes at both levels: the counts stay.
	q.lists[to].remove(q.nodes, other)
	q.level[other] = from
	before := none
	if mark != nil {
		before = mark(from, passed)
	}
	if before != none {
		q.lists[from].pushBefore(q.nodes, before, other)
	} else {
		q.lists[from].pushTail(q.nodes, other)
	}
	q.lists[from].remove(q.nodes, e)
	q.level[e] = to
	q.lists[to].pushTail(q.nodes, e)
}

// redistribute fills levels up from those above them, and pushes up what is too
// many, to the tail or to the head, until each has its target.
func (q *mqueue) redistribute(toHead bool) {
	q.setTargets()
	for l := uint8(0); l < levels-1; l++ {
		for q.count[l] < q.target[l] {
			above := q.mask &^ (1<<(l+1) - 1)
			if above == 0 {
				break
			}
			e := q.lists[bits.TrailingZeros64(above)].head
			for e >= q.real {
				e = q.nodes[e].next
			}
			q.move(e, l)
		}
		for q.count[l] > q.target[l] {
			e := q.lists[l].tail
			for e >= q.real {
				e = q.nodes[e].prev
			}
			if !toHead {
				q.move(e, l+1)
				continue
			}
			q.remove(e)
			q.level[e] = l + 1
			q.lists[l+1].pushHead(q.nodes, e)
			q.added(e)
		}
	}
}

func (q *mqueue) move(e int32, to uint8) {
	q.remove(e)
	q.level[e] = to
	q.push(e)
}

func (q *mqueue) setTargets() {
	if q.targetsFor == q.n {
		return
	}
	q.targetsFor = q.n
	low := levels - q.topLevels
	spread(q.target[low:], q.inTop)
	spread(q.target[:low], max(0, q.n-q.inTop))
}

// spread divides n evenly; the first ones get what is left over.
func spread(target []int32, n int32) {
	if len(target) == 0 {
		return
	}
	each, rest := n/int32(len(target)), n%int32(len(target))
	for i := range target {
		target[i] = each
		if int32(i) < rest {
			target[i]++
		}
	}
}

// accesses are counted by whether they hit the upper quarter of the levels.
type accesses struct{ hits, misses uint32 }

func (s *accesses) at(level uint8) {
	if level >= levels*3/4 {
		s.hits++
	} else {
		s.misses++
	}
}

// confidence is what smq makes of the hotspot queue's accesses.
type confidence uint8

const (
	poor confidence = iota
	fair
	well
)

func (s *accesses) confidence() confidence {
	// hits/all below 1/16 and 1/8, in the kernel's fixed point of 8 bits.
	all := s.hits + s.misses
	if all == 0 {
		return poor
	}
	switch c := uint64(s.hits) << 8 / uint64(all); {
	case c < 16:
		return poor
	case c < 32:
		return fair
	}
	return well
}
