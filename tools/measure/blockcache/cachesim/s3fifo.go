package cachesim

// s3fifo is S3-FIFO (Yang et al., "FIFO queues are all you need for cache
// eviction", SOSP 2023): a small queue of a tenth of the cache, a main queue
// with a second chance, and a ghost queue of the blocks that left the small one
// unused. As its authors' libCacheSim does since 2024, blocks go to the main
// queue while the cache fills and the small one is full; and a block that was
// used twice or more leaves the small queue for the main one.
type s3fifo struct {
	nodes       []node
	in          []uint8
	freq        []uint8 // accesses since it came to its queue, 3 at most
	used        int32
	free        list
	lists       [3]list // the head came last
	size        int32
	small, main int32
	ghost       int32
	evicted     bool // an eviction has happened: the cache was full once
	table       table
}

const (
	qSmall = iota
	qMain
	qGhost
)

func newS3FIFO(size int) *s3fifo {
	small := max(1, int32(float64(size)*0.1))
	ghost := int32(float64(size) * 0.9)
	n := size + int(ghost) + 1
	return &s3fifo{nodes: make([]node, n), in: make([]uint8, n), freq: make([]uint8, n), free: newList(),
		lists: [3]list{newList(), newList(), newList()}, size: int32(size), small: small, main: int32(size) - small,
		ghost: ghost, table: newTable(n, 5, 3)}
}

func (p *s3fifo) Access(block uint32, _ bool) bool {
	l := &p.lists
	e := p.table.find(p.nodes, block)
	if e != none && p.in[e] != qGhost {
		p.freq[e] = min(p.freq[e]+1, 3)
		return true
	}
	to := uint8(qSmall)
	if e != none {
		to = qMain
		l[qGhost].remove(p.nodes, e)
	}
	for l[qSmall].n+l[qMain].n >= p.size {
		p.evict()
	}
	if e == none {
		if !p.evicted && l[qSmall].n >= p.small {
			to = qMain
		}
		if e = p.free.head; e != none {
			p.free.remove(p.nodes, e)
		} else {
			e = p.used
			p.used++
		}
		p.nodes[e].key = block
		p.table.insert(block, e)
	}
	p.push(to, e)
	return false
}

func (p *s3fifo) push(to uint8, e int32) {
	p.in[e], p.freq[e] = to, 0
	p.lists[to].pushHead(p.nodes, e)
}

// evict makes room for one block, if it can: when every block of the small
// queue moves to the main one, none is evicted.
func (p *s3fifo) evict() {
	l := &p.lists
	p.evicted = true
	if l[qMain].n > p.main || l[qSmall].n == 0 {
		for e := l[qMain].tail; e != none; e = l[qMain].tail {
			l[qMain].remove(p.nodes, e)
			if p.freq[e] == 0 {
				p.drop(e)
				return
			}
			f := p.freq[e] - 1
			p.push(qMain, e)
			p.freq[e] = f
		}
	}
	for e := l[qSmall].tail; e != none; e = l[qSmall].tail {
		l[qSmall].remove(p.nodes, e)
		if p.freq[e] >= 2 {
			p.push(qMain, e)
			continue
		}
		if p.ghost == 0 {
			p.drop(e)
			return
		}
		if l[qGhost].n >= p.ghost {
			g := l[qGhost].tail
			l[qGhost].remove(p.nodes, g)
			p.drop(g)
		}
		p.push(qGhost, e)
		return
	}
}

func (p *s3fifo) drop(e int32) {
	p.table.remove(p.nodes, e)
	p.free.pushHead(p.nodes, e)
}

func (p *s3fifo) Bytes() int64 { return int64(len(p.nodes))*14 + p.table.bytes() }
