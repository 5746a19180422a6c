package cachesim

// index finds the entry of a block. Where the cache has room for a good part of
// the blocks there are, it is an array of all blocks, elsewhere a table.
type index struct {
	dense []int32 // an entry and one
	table keyed
}

// newIndex is for n entries, of blocks below span. It takes no more than 16
// bytes an entry.
func newIndex(n int, span int64) index {
	if span <= 4*int64(n) {
		return index{dense: make([]int32, span)}
	}
	return index{table: make(keyed, 7*n/4+2)}
}

// find returns the entry of a block, or none.
func (x *index) find(block uint32) int32 {
	if x.dense != nil {
		return x.dense[block] - 1
	}
	_, entry := x.table.find(block)
	return int32(uint32(entry)) - 1
}

// insert adds entry e for a block that has none.
func (x *index) insert(block uint32, e int32) {
	if x.dense != nil {
		x.dense[block] = e + 1
		return
	}
	slot, _ := x.table.find(block)
	x.table.set(slot, block, uint(e))
}

// remove takes out the entry of a block that has one.
func (x *index) remove(block uint32) {
	if x.dense != nil {
		x.dense[block] = 0
		return
	}
	slot, _ := x.table.find(block)
	x.table.remove(slot)
}

func (x *index) bytes() int64 { return int64(len(x.dense))*4 + x.table.bytes() }
