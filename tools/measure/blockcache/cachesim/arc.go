package cachesim

// arc is ARC of Megiddo and Modha ("ARC: a self-tuning, low overhead
// replacement cache", FAST 2003, figure 4), with the target p as a real number.
type arc struct {
	nodes  []node
	in     []uint8 // which of lists an entry is in
	used   int32   // entries that were ever handed out
	free   list
	lists  [4]list // T1, T2, B1, B2; the head was used last
	target float64 // p: how large T1 should be
	size   int32
	table  table
}

const (
	t1 = iota
	t2
	b1
	b2
)

func newARC(size int) *arc {
	n := 2 * size
	p := &arc{nodes: make([]node, n), in: make([]uint8, n), free: newList(), size: int32(size), table: newTable(n, 8, 5)}
	for i := range p.lists {
		p.lists[i] = newList()
	}
	return p
}

func (p *arc) Access(block uint32, _ bool) bool {
	c, l := p.size, &p.lists
	e := p.table.find(p.nodes, block)
	if e != none {
		from := p.in[e]
		if from == t2 && e == l[t2].head {
			return true
		}
		switch from {
		case b1:
			p.target = min(p.target+max(float64(l[b2].n)/float64(l[b1].n), 1), float64(c))
		case b2:
			p.target = max(p.target-max(float64(l[b1].n)/float64(l[b2].n), 1), 0)
		}
		l[from].remove(p.nodes, e)
		if from >= b1 {
			p.replace(from == b2)
		}
		p.push(t2, e)
		return from < b1
	}
	switch {
	case l[t1].n+l[b1].n == c:
		if l[t1].n < c {
			p.forget(b1)
			p.replace(false)
		} else {
			p.forget(t1)
		}
	case l[t1].n+l[t2].n+l[b1].n+l[b2].n >= c:
		if l[t1].n+l[t2].n+l[b1].n+l[b2].n == 2*c {
			p.forget(b2)
		}
		p.replace(false)
	}
	if e = p.free.head; e != none {
		p.free.remove(p.nodes, e)
	} else {
		e = p.used
		p.used++
	}
	p.nodes[e].key = block
	p.table.insert(block, e)
	p.push(t1, e)
	return false
}

func (p *arc) push(to uint8, e int32) {
	p.in[e] = to
	p.lists[to].pushHead(p.nodes, e)
}

// replace evicts a block of T1 or T2 and remembers it in B1 or B2.
func (p *arc) replace(wasInB2 bool) {
	l := &p.lists
	if l[t1].n+l[t2].n < p.size {
		return
	}
	n := float64(l[t1].n)
	from := uint8(t2)
	if l[t1].n > 0 && (n > p.target || wasInB2 && n == p.target) || l[t2].n == 0 {
		from = t1
	}
	e := l[from].tail
	l[from].remove(p.nodes, e)
	p.push(from+b1, e)
}

// forget drops the last entry of a list.
func (p *arc) forget(from uint8) {
	e := p.lists[from].tail
	p.lists[from].remove(p.nodes, e)
	p.table.remove(p.nodes, e)
	p.free.pushHead(p.nodes, e)
}

func (p *arc) Bytes() int64 { return int64(len(p.nodes))*13 + p.table.bytes() }
