package cachesim

// twoQ is the full version of 2Q (Johnson and Shasha, "2Q: a low overhead high
// performance buffer management replacement algorithm", VLDB 1994): A1in of a
// quarter of the cache, first in first out; A1out, which remembers as many
// blocks as half of the cache; Am, the rest, least recently used.
type twoQ struct {
	nodes         []node
	in            []uint8
	used          int32
	free          list
	lists         [3]list // the head came last
	size          int32
	kin, kout, km int32
	table         table
}

const (
	a1in = iota
	am
	a1out
)

func newTwoQ(size int) *twoQ {
	kin, kout := int32(float64(size)*0.25), int32(float64(size)*0.5)
	n := size + int(kout) + 1
	return &twoQ{nodes: make([]node, n), in: make([]uint8, n), free: newList(), lists: [3]list{newList(), newList(), newList()},
		size: int32(size), kin: kin, kout: kout, km: int32(size) - kin, table: newTable(n, 2, 1)}
}

func (p *twoQ) Access(block uint32, _ bool) bool {
	l := &p.lists
	e := p.table.find(p.nodes, block)
	if e != none && p.in[e] != a1out {
		if p.in[e] == am && e != l[am].head {
			l[am].remove(p.nodes, e)
			l[am].pushHead(p.nodes, e)
		}
		return true
	}
	to := uint8(a1in)
	if e != none { // asked for again: it has earned a place in Am
		to = am
		l[a1out].remove(p.nodes, e)
	}
	if l[a1in].n+l[am].n >= p.size {
		p.evict()
	}
	if to == am {
		for l[am].n >= p.km {
			p.forget(am)
		}
	} else {
		if e = p.free.head; e != none {
			p.free.remove(p.nodes, e)
		} else {
			e = p.used
			p.used++
		}
		p.nodes[e].key = block
		p.table.insert(block, e)
	}
	p.in[e] = to
	l[to].pushHead(p.nodes, e)
	return false
}

func (p *twoQ) evict() {
	l := &p.lists
	if l[a1in].n <= p.kin && l[am].n > 0 {
		p.forget(am)
		return
	}
	if p.kout == 0 {
		p.forget(a1in)
		return
	}
	if l[a1out].n >= p.kout {
		p.forget(a1out)
	}
	e := l[a1in].tail
	l[a1in].remove(p.nodes, e)
	p.in[e] = a1out
	l[a1out].pushHead(p.nodes, e)
}

func (p *twoQ) forget(from int) {
	e := p.lists[from].tail
	p.lists[from].remove(p.nodes, e)
	p.table.remove(p.nodes, e)
	p.free.pushHead(p.nodes, e)
}

func (p *twoQ) Bytes() int64 { return int64(len(p.nodes))*13 + p.table.bytes() }
