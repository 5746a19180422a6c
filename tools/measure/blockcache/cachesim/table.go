package cachesim

import "math/bits"

// node is an entry of a cache or of its memory of evicted blocks. Entries live
// in one slice and know each other by index: no pointers for the garbage
// collector to follow, and 12 bytes each.
type node struct {
	key        uint32
	prev, next int32
}

// none is no entry.
const none = int32(-1)

// table finds the entry of a block: open addressing with linear probing, 4
// bytes a slot. The low bits of a slot hold the entry's index and one, the bits
// above them, which the index does not need, a part of the key's hash: few
// entries are looked at without success.
type table struct {
	slots []uint32
	index uint32 // mask of the bits that hold the index
}

// newTable makes a table for n entries with slots for each of them times
// num/den.
func newTable(n, num, den int) table {
	return table{
		slots: make([]uint32, max(int(int64(n)*int64(num)/int64(den)), n+1, 2)),
		index: uint32(1)<<bits.Len32(uint32(n)) - 1,
	}
}

func (t *table) bytes() int64 { return int64(len(t.slots)) * 4 }

// hash spreads block numbers, which follow each other, over 64 bits.
func hash(key uint32) uint64 {
	h := uint64(key) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// home is the slot where the search for a hash starts.
func (t *table) home(h uint64) uint32 {
	return uint32((h & 0xffffffff) * uint64(len(t.slots)) >> 32)
}

// tag is the part of a hash that a slot holds.
func (t *table) tag(h uint64) uint32 { return uint32(h>>32) &^ t.index }

// find returns the entry of a key, or none.
func (t *table) find(nodes []node, key uint32) int32 {
	h := hash(key)
	slots, index := t.slots, t.index
	tag := uint32(h>>32) &^ index
	for i := t.home(h); ; {
		if i >= uint32(len(slots)) {
			i = 0
		}
		s := slots[i]
		if s == 0 {
			return none
		}
		if s&^index == tag {
			if e := s&index - 1; nodes[e].key == key {
				return int32(e)
			}
		}
		i++
	}
}

// insert adds entry e, whose key is in no entry of the table.
func (t *table) insert(key uint32, e int32) {
	h := hash(key)
	i := t.home(h)
	for t.slots[i] != 0 {
		if i++; i == uint32(len(t.slots)) {
			i = 0
		}
	}
	t.slots[i] = t.tag(h) | (uint32(e) + 1)
}

// remove takes entry e out, and moves back those that its slot kept from
// their homes: no gravestones, searches stay short.
func (t *table) remove(nodes []node, e int32) {
	n := uint32(len(t.slots))
	h := hash(nodes[e].key)
	want := t.tag(h) | (uint32(e) + 1)
	i := t.home(h)
	for t.slots[i] != want {
		if i++; i == n {
			i = 0
		}
	}
	for j := i; ; {
		if j++; j == n {
			j = 0
		}
		s := t.slots[j]
		if s == 0 {
			break
		}
		home := t.home(hash(nodes[s&t.index-1].key))
		// s may move to i when its home is not between i (excluded) and j.
		between := i < home && home <= j
		if i > j {
			between = i < home || home <= j
		}
		if !between {
			t.slots[i] = s
			i = j
		}
	}
	t.slots[i] = 0
}

// list is a queue of entries, linked through their prev and next.
type list struct {
	head, tail int32
	n          int32
}

func newList() list { return list{none, none, 0} }

func (l *list) pushHead(nodes []node, e int32) {
	nodes[e].prev, nodes[e].next = none, l.head
	if l.head == none {
		l.tail = e
	} else {
		nodes[l.head].prev = e
	}
	l.head = e
	l.n++
}

func (l *list) pushTail(nodes []node, e int32) {
	nodes[e].prev, nodes[e].next = l.tail, none
	if l.tail == none {
		l.head = e
	} else {
		nodes[l.tail].next = e
	}
	l.tail = e
	l.n++
}

// pushBefore puts e before old.
func (l *list) pushBefore(nodes []node, old, e int32) {
	p := nodes[old].prev
	if p == none {
		l.pushHead(nodes, e)
		return
	}
	nodes[e].prev, nodes[e].next = p, old
	nodes[p].next, nodes[old].prev = e, e
	l.n++
}

func (l *list) remove(nodes []node, e int32) {
	p, n := nodes[e].prev, nodes[e].next
	if p == none {
		l.head = n
	} else {
		nodes[p].next = n
	}
	if n == none {
		l.tail = p
	} else {
		nodes[n].prev = p
	}
	l.n--
}
