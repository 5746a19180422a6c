package cachesim

import "math/bits"

// order is a queue of cached blocks in which a block stands where it came, or
// was put last. Places are numbers in a ring, given out one after the other; a
// table tells a block's place, and a bit for each place whether its block has
// left it. So a block goes to the end, or out, without a look at its
// neighbours: a hit touches one cache line of the table, where linked lists
// touch four. When all places are given out, the blocks close up.
type order struct {
	slots keyed    // the place of each block
	ring  []uint32 // the block of each place
	left  []uint64 // a bit a place; meaningless from next to the end of its word
	first uint     // the places before it, back to next, were left
	next  uint     // the place given out next
	// moved, where not nil, is told of each block that closes up.
	moved func(from, to uint)
}

// ringFactor is how many places there are for a block. The more, the rarer
// blocks close up, which costs a look at each of them.
const ringFactor = 3

// newOrder makes a queue for one block more than size.
func newOrder(size int) order {
	words := (size*ringFactor + 64) / 64
	return order{
		slots: make(keyed, 2*size+2),
		ring:  make([]uint32, words*64),
		left:  make([]uint64, words),
	}
}

func (o *order) bytes() int64 {
	return o.slots.bytes() + int64(len(o.ring))*4 + int64(len(o.left))*8
}

// put gives the block of a slot the last place.
func (o *order) put(block uint32, slot uint) {
	at := o.next
	o.ring[at] = block
	o.slots.set(slot, block, at)
	if o.next = at + 1; o.next%64 == 0 {
		o.nextWord()
	}
}

// toEnd moves the block of a slot to the last place.
func (o *order) toEnd(slot uint, entry uint64) {
	at := number(entry)
	if at+1 != o.next {
		o.left[at/64] |= 1 << (at % 64)
		o.put(uint32(entry>>32), slot)
	}
}

// nextWord prepares the next 64 places to be given out.
func (o *order) nextWord() {
	if o.next == uint(len(o.ring)) {
		o.next = 0
	}
	if o.next/64 == o.first/64 {
		o.closeUp()
		return
	}
	o.left[o.next/64] = 0
}

// seek returns the first place, from at on, where a block stands; ok tells
// whether there is one.
func (o *order) seek(at uint) (found uint, ok bool) {
	i, end := at/64, o.next/64
	w := ^o.left[i] >> (at % 64) << (at % 64)
	for w == 0 && i != end {
		if i++; i == uint(len(o.left)) {
			i = 0
		}
		w = ^o.left[i]
	}
	found = i*64 + uint(bits.TrailingZeros64(w))
	return found, w != 0 && (i != end || found < o.next)
}

// oldest is the place of the block that stands where it does for longest. There
// is one.
func (o *order) oldest() uint {
	o.first, _ = o.seek(o.first)
	return o.first
}

// remove takes out the block at a place.
func (o *order) remove(at uint) {
	o.left[at/64] |= 1 << (at % 64)
	slot, _ := o.slots.find(o.ring[at])
	o.slots.remove(slot)
}

// closeUp moves all blocks, in their order, to the first places of the ring's
// oldest word and those behind it. All places are given out then: next is
// where the oldest word begins.
func (o *order) closeUp() {
	start := o.first / 64
	i, to := start, start*64
	notLeft := ^uint64(0) << (o.first % 64)
	for range o.left {
		notLeft &^= o.left[i]
		o.left[i] = 0
		for ; notLeft != 0; notLeft &= notLeft - 1 {
			from := i*64 + uint(bits.TrailingZeros64(notLeft))
			block := o.ring[from]
			slot, _ := o.slots.find(block)
			o.ring[to] = block
			o.slots.set(slot, block, to)
			if o.moved != nil {
				o.moved(from, to)
			}
			if to++; to == uint(len(o.ring)) {
				to = 0
			}
		}
		notLeft = ^uint64(0)
		if i++; i == uint(len(o.left)) {
			i = 0
		}
	}
	o.first, o.next = start*64, to
}
