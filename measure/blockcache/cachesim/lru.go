package cachesim

// lru evicts what was not used for longest.
type lru struct {
	nodes []node
	used  int32
	queue list // the head was used last
	table table
}

func newLRU(size int) *lru {
	return &lru{nodes: make([]node, size), queue: newList(), table: newTable(size, 2, 1)}
}

func (p *lru) Access(block uint32, _ bool) bool {
	e := p.table.find(p.nodes, block)
	if e != none {
		if e != p.queue.head {
			p.queue.remove(p.nodes, e)
			p.queue.pushHead(p.nodes, e)
		}
		return true
	}
	if int(p.used) < len(p.nodes) {
		e = p.used
		p.used++
	} else {
		e = p.queue.tail
		p.queue.remove(p.nodes, e)
		p.table.remove(p.nodes, e)
	}
	p.nodes[e].key = block
	p.table.insert(block, e)
	p.queue.pushHead(p.nodes, e)
	return false
}

func (p *lru) Bytes() int64 { return int64(len(p.nodes))*12 + p.table.bytes() }
