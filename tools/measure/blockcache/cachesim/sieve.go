package cachesim

import "math/bits"

// sieve keeps blocks in the order in which they came. A hand goes from the
// oldest to the newest and evicts the first that was not used since it passed
// (Zhang et al., "SIEVE is simpler than LRU", NSDI 2024).
type sieve struct {
	queue   order
	visited []uint64 // a bit for each place of the queue; 0 where no block stands
	hand    uint     // a block's place, or atOldest
	free    int
}

// atOldest is where the hand is before its first round and after each.
const atOldest = ^uint(0)

func newSieve(size int) *sieve {
	p := &sieve{queue: newOrder(size), hand: atOldest, free: size}
	p.visited = make([]uint64, len(p.queue.left))
	p.queue.moved = p.moved
	return p
}

func (p *sieve) Access(block uint32, _ bool) bool {
	q := &p.queue
	slot, entry := q.slots.find(block)
	if entry != 0 {
		at := number(entry)
		p.visited[at/64] |= 1 << (at % 64)
		return true
	}
	if p.free > 0 {
		p.free--
	} else {
		p.evict()
		slot, _ = q.slots.find(block)
	}
	q.put(block, slot)
	return false
}

// replay is Access without a call through an interface for each request.
func (p *sieve) replay(blocks []uint32, _ []bool) (hits int) {
	for _, b := range blocks {
		if p.Access(b, false) {
			hits++
		}
	}
	return hits
}

func (p *sieve) evict() {
	at, ok := p.hand, false
	for {
		if at == atOldest {
			at = p.queue.oldest()
		}
		if at, ok = p.pass(at); ok {
			break
		}
		at = atOldest
	}
	p.queue.remove(at)
	if p.hand, ok = p.queue.seek(at); !ok {
		p.hand = atOldest
	}
}

// pass moves the hand on to a block that was not used, over those that were; ok
// tells whether there is one before the end. 64 places at a time.
func (p *sieve) pass(from uint) (at uint, ok bool) {
	q := &p.queue
	i, end := from/64, q.next/64
	ahead := ^uint64(0) << (from % 64)
	for {
		if i == end {
			ahead &= 1<<(q.next%64) - 1
		}
		if w := ahead &^ q.left[i] &^ p.visited[i]; w != 0 {
			at := uint(bits.TrailingZeros64(w))
			p.visited[i] &^= ahead & (1<<at - 1)
			return i*64 + at, true
		}
		p.visited[i] &^= ahead
		if i == end {
			return 0, false
		}
		ahead = ^uint64(0)
		if i++; i == uint(len(q.left)) {
			i = 0
		}
	}
}

// moved follows a block that closes up.
func (p *sieve) moved(from, to uint) {
	bit := p.visited[from/64] >> (from % 64) & 1
	p.visited[from/64] &^= 1 << (from % 64)
	p.visited[to/64] |= bit << (to % 64)
	if p.hand == from {
		p.hand = to
	}
}

func (p *sieve) Bytes() int64 { return p.queue.bytes() + int64(len(p.visited))*8 }
