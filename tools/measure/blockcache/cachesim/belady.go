package cachesim

import "fettle/tools/measure/blockcache/trace"

// belady evicts what is asked for again furthest in the future (Belady, "A
// study of replacement algorithms for a virtual-storage computer", 1966): no
// policy has fewer misses. With bypass, a block that would be evicted next is
// not taken in.
type belady struct {
	next   []uint32 // of each request of the trace
	at     int      // the request that comes
	bypass bool
	nodes  []node   // next is where an entry is in heap, prev is not used
	heap   []int32  // entries, the furthest first
	when   []uint32 // of each entry: its next access
	table  table
	used   int32
}

func newBelady(size int, next []uint32, bypass bool) *belady {
	return &belady{next: next, bypass: bypass, nodes: make([]node, size), heap: make([]int32, 0, size),
		when: make([]uint32, size), table: newTable(size, 2, 1)}
}

func (p *belady) Access(block uint32, _ bool) bool {
	next := p.next[p.at]
	p.at++
	e := p.table.find(p.nodes, block)
	if e != none {
		// Its next access is later than this one, so it can only rise.
		p.when[e] = next
		p.up(int(p.nodes[e].next))
		return true
	}
	if int(p.used) < len(p.nodes) {
		if p.bypass && next == trace.Never {
			return false
		}
		e = p.used
		p.used++
		p.heap = append(p.heap, e)
		p.set(block, e, next)
		p.nodes[e].next = int32(len(p.heap) - 1)
		p.up(len(p.heap) - 1)
		return false
	}
	e = p.heap[0]
	if p.bypass && next >= p.when[e] {
		return false
	}
	p.table.remove(p.nodes, e)
	p.set(block, e, next)
	p.down(0)
	return false
}

func (p *belady) set(block uint32, e int32, next uint32) {
	p.nodes[e].key = block
	p.when[e] = next
	p.table.insert(block, e)
}

func (p *belady) up(i int) {
	e := p.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if p.when[p.heap[parent]] >= p.when[e] {
			break
		}
		p.heap[i] = p.heap[parent]
		p.nodes[p.heap[i]].next = int32(i)
		i = parent
	}
	p.heap[i] = e
	p.nodes[e].next = int32(i)
}

func (p *belady) down(i int) {
	e := p.heap[i]
	for {
		c := 2*i + 1
		if c >= len(p.heap) {
			break
		}
		if c+1 < len(p.heap) && p.when[p.heap[c+1]] > p.when[p.heap[c]] {
			c++
		}
		if p.when[p.heap[c]] <= p.when[e] {
			break
		}
		p.heap[i] = p.heap[c]
		p.nodes[p.heap[i]].next = int32(i)
		i = c
	}
	p.heap[i] = e
	p.nodes[e].next = int32(i)
}

// Bytes leaves out the trace's own future, 4 bytes a request.
func (p *belady) Bytes() int64 { return int64(len(p.nodes))*20 + p.table.bytes() }
