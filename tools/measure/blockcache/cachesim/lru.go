package cachesim

// lru evicts the least recently used.
type lru struct {
	queue order // the last was used last
	free  int
}

func newLRU(size int) *lru { return &lru{queue: newOrder(size), free: size} }

func (p *lru) Access(block uint32, _ bool) bool {
	q := &p.queue
	slot, entry := q.slots.find(block)
	if entry != 0 {
		q.toEnd(slot, entry)
		return true
	}
	q.put(block, slot)
	if p.free > 0 {
		p.free--
	} else {
		q.remove(q.oldest())
	}
	return false
}

// replay is Access without a call through an interface for each request.
func (p *lru) replay(blocks []uint32, _ []bool) (hits int) {
	for _, b := range blocks {
		if p.Access(b, false) {
			hits++
		}
	}
	return hits
}

func (p *lru) Bytes() int64 { return p.queue.bytes() }
