package cachesim

import "math/bits"

// keyed finds what belongs to a block: open addressing with linear probing, 8
// bytes a slot. A slot holds the block in its upper half and in its lower half
// the number that belongs to it and one; 0 is free. Nothing else is looked at,
// so that a search costs one cache line.
type keyed []uint64

// home is the slot where the search for a block starts: the upper bits of a
// product, which spread well what are often numbers in a row.
func (k keyed) home(block uint32) uint {
	hi, _ := bits.Mul64(uint64(block)*0x9E3779B97F4A7C15, uint64(len(k)))
	return uint(hi)
}

// find returns the slot of a block and what is in it, or the free one where
// the block belongs.
func (k keyed) find(block uint32) (slot uint, entry uint64) {
	i := k.home(block)
	for {
		if i >= uint(len(k)) {
			i = 0
		}
		if s := k[i]; s == 0 || uint32(s>>32) == block {
			return i, s
		}
		i++
	}
}

// number is what an entry holds beside its block.
func number(entry uint64) uint { return uint(uint32(entry)) - 1 }

func (k keyed) set(slot uint, block uint32, number uint) {
	k[slot] = uint64(block)<<32 | uint64(number+1)
}

// remove frees a slot and moves back the entries that it kept from their
// homes: no gravestones, searches stay short.
func (k keyed) remove(slot uint) {
	n := uint(len(k))
	for j := slot; ; {
		if j++; j == n {
			j = 0
		}
		s := k[j]
		if s == 0 {
			break
		}
		h := k.home(uint32(s >> 32))
		// s may move to slot when its home is not between it (excluded) and j.
		between := slot < h && h <= j
		if slot > j {
			between = slot < h || h <= j
		}
		if !between {
			k[slot] = s
			slot = j
		}
	}
	k[slot] = 0
}

func (k keyed) bytes() int64 { return int64(len(k)) * 8 }
