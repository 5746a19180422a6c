package cachesim

// lfu evicts the block with the fewest accesses since it was cached; of equals
// the one that got that count first. An evicted block's count is forgotten.
// Constant time: a bucket for each count that occurs, in ascending order.
type lfu struct {
	nodes   []node
	bucket  []int32 // of each entry
	buckets []bucket
	free    int32 // buckets linked by next
	first   int32 // the bucket of the lowest count
	used    int32
	table   table
}

type bucket struct {
	count      uint32
	prev, next int32
	entries    list // the head came first
}

func newLFU(size int) *lfu {
	return &lfu{nodes: make([]node, size), bucket: make([]int32, size), free: none, first: none, table: newTable(size, 2, 1)}
}

func (p *lfu) Access(block uint32, _ bool) bool {
	e := p.table.find(p.nodes, block)
	if e != none {
		p.count(e)
		return true
	}
	if int(p.used) < len(p.nodes) {
		e = p.used
		p.used++
	} else {
		e = p.buckets[p.first].entries.head
		p.leave(e)
		p.table.remove(p.nodes, e)
	}
	p.nodes[e].key = block
	p.table.insert(block, e)
	b := p.first
	if b == none || p.buckets[b].count != 1 {
		b = p.newBucket(1, none)
	}
	p.enter(e, b)
	return false
}

// count moves e to the bucket of one access more.
func (p *lfu) count(e int32) {
	b := p.bucket[e]
	next := p.buckets[b].next
	more := p.buckets[b].count + 1
	if next == none || p.buckets[next].count != more {
		if p.buckets[b].entries.n == 1 {
			p.buckets[b].count = more // alone in it: the bucket itself moves
			return
		}
		next = p.newBucket(more, b)
	}
	p.leave(e)
	p.enter(e, next)
}

func (p *lfu) enter(e, b int32) {
	p.buckets[b].entries.pushTail(p.nodes, e)
	p.bucket[e] = b
}

// leave takes e out of its bucket, and the bucket away when it was the last.
func (p *lfu) leave(e int32) {
	i := p.bucket[e]
	b := &p.buckets[i]
	b.entries.remove(p.nodes, e)
	if b.entries.n > 0 {
		return
	}
	if b.prev == none {
		p.first = b.next
	} else {
		p.buckets[b.prev].next = b.next
	}
	if b.next != none {
		p.buckets[b.next].prev = b.prev
	}
	b.next, p.free = p.free, i
}

// newBucket makes a bucket behind another one, or first behind none.
func (p *lfu) newBucket(count uint32, after int32) int32 {
	i := p.free
	if i == none {
		i = int32(len(p.buckets))
		p.buckets = append(p.buckets, bucket{})
	} else {
		p.free = p.buckets[i].next
	}
	next := p.first
	if after != none {
		next = p.buckets[after].next
		p.buckets[after].next = i
	} else {
		p.first = i
	}
	if next != none {
		p.buckets[next].prev = i
	}
	p.buckets[i] = bucket{count: count, prev: after, next: next, entries: newList()}
	return i
}

func (p *lfu) Bytes() int64 {
	return int64(len(p.nodes))*16 + int64(cap(p.buckets))*24 + p.table.bytes()
}
