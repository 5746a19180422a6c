// Package trace holds sequences of block requests: generated with fio's
// semantics, or read from what blktrace, fio, libCacheSim and others
// recorded.
package trace

import (
	"fmt"
	"math"
)

// Trace is block requests in the order in which they arrived. A request that
// touches several blocks is several requests.
type Trace struct {
	Name string `json:"name"`
	// BlockSize is that of a cache block, in bytes; 0 when the trace has ids
	// of objects and no addresses.
	BlockSize int64 `json:"block_size,omitempty"`
	// Blocks holds the number of the block of each request.
	Blocks []uint32 `json:"-"`
	// Writes tells which requests write; nil when none does.
	Writes []bool `json:"-"`
	// Times holds when each request arrived, in nanoseconds since the first; nil
	// when the trace has no clock.
	Times []int64 `json:"-"`
	// Span is the highest block number and one: the size of the device, as far
	// as the trace knows it.
	Span int64 `json:"span"`
	// Renumbered: ids did not fit 32 bits and were replaced by numbers in the
	// order in which they first came. Neighbours are no neighbours on the disk.
	Renumbered bool `json:"renumbered,omitempty"`
}

// Len is the number of requests.
func (t *Trace) Len() int { return len(t.Blocks) }

// sparse tells that an array over all blocks would be out of proportion.
func (t *Trace) sparse() bool { return t.Span > 1<<26 && t.Span > 16*int64(len(t.Blocks)) }

// Distinct is the number of different blocks that are asked for.
func (t *Trace) Distinct() int {
	if t.sparse() {
		seen := make(map[uint32]struct{})
		for _, b := range t.Blocks {
			seen[b] = struct{}{}
		}
		return len(seen)
	}
	seen := make([]uint64, (t.Span+63)/64)
	n := 0
	for _, b := range t.Blocks {
		if bit := uint64(1) << (b % 64); seen[b/64]&bit == 0 {
			seen[b/64] |= bit
			n++
		}
	}
	return n
}

// Never is what NextAccess says of a block that is not asked for again.
const Never = math.MaxUint32

// NextAccess tells for each request which one is the next for the same block.
func (t *Trace) NextAccess() []uint32 {
	next := make([]uint32, len(t.Blocks))
	if t.sparse() {
		last := make(map[uint32]uint32)
		for i := len(t.Blocks) - 1; i >= 0; i-- {
			n, ok := last[t.Blocks[i]]
			if !ok {
				n = Never
			}
			next[i], last[t.Blocks[i]] = n, uint32(i)
		}
		return next
	}
	last := make([]uint32, t.Span)
	for i := range last {
		last[i] = Never
	}
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		b := t.Blocks[i]
		next[i], last[b] = last[b], uint32(i)
	}
	return next
}

// Regroup is the same requests for a cache of larger blocks, a multiple of the
// trace's own.
func (t *Trace) Regroup(blockSize int64) (*Trace, error) {
	if t.BlockSize <= 0 || blockSize%t.BlockSize != 0 || blockSize < t.BlockSize {
		return nil, fmt.Errorf("requests in blocks of %d bytes cannot be put into blocks of %d bytes", t.BlockSize, blockSize)
	}
	n := blockSize / t.BlockSize
	out := *t
	out.BlockSize, out.Span = blockSize, (t.Span+n-1)/n
	out.Blocks = make([]uint32, len(t.Blocks))
	for i, b := range t.Blocks {
		out.Blocks[i] = uint32(int64(b) / n)
	}
	return &out, nil
}
