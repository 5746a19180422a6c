package cachesim

// sieve keeps blocks in the order in which they came. A hand goes from the
// oldest to the newest and evicts the first that was not used since it passed
// (Zhang et al., "SIEVE is simpler than LRU", NSDI 2024).
type sieve struct {
	nodes   []node
	visited []bool
	used    int32
	queue   list // the head is the newest
	hand    int32
	table   table
}

func newSieve(size int) *sieve {
	return &sieve{nodes: make([]node, size), visited: make([]bool, size), queue: newList(), hand: none, table: newTable(size, 2, 1)}
}

func (p *sieve) Access(block uint32, _ bool) bool {
	e := p.table.find(p.nodes, block)
	if e != none {
		p.visited[e] = true
		return true
	}
	if int(p.used) < len(p.nodes) {
		e = p.used
		p.used++
	} else {
		e = p.evict()
	}
	p.nodes[e].key = block
	p.visited[e] = false
	p.table.insert(block, e)
	p.queue.pushHead(p.nodes, e)
	return false
}

func (p *sieve) evict() int32 {
	e := p.hand
	if e == none {
		e = p.queue.tail
	}
	for p.visited[e] {
		p.visited[e] = false
		if e = p.nodes[e].prev; e == none {
			e = p.queue.tail
		}
	}
	p.hand = p.nodes[e].prev
	p.queue.remove(p.nodes, e)
	p.table.remove(p.nodes, e)
	return e
}

func (p *sieve) Bytes() int64 { return int64(len(p.nodes))*13 + p.table.bytes() }
