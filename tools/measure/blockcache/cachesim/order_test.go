package cachesim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fettle/internal/means"
)

// plainLRU and plainSieve are the policies with slices: slow, and plain to see.
type plainLRU struct {
	size  int
	queue []uint32
}

func (p *plainLRU) access(b uint32) bool {
	i := slices.Index(p.queue, b)
	if i >= 0 {
		p.queue = append(slices.Delete(p.queue, i, i+1), b)
		return true
	}
	if p.queue = append(p.queue, b); len(p.queue) > p.size {
		p.queue = p.queue[1:]
	}
	return false
}

type plainSieve struct {
	size    int
	queue   []uint32 // the oldest first
	visited map[uint32]bool
	hand    int
}

func (p *plainSieve) access(b uint32) bool {
	if slices.Contains(p.queue, b) {
		p.visited[b] = true
		return true
	}
	if len(p.queue) == p.size {
		for {
			if p.hand == len(p.queue) {
				p.hand = 0
			}
			old := p.queue[p.hand]
			if !p.visited[old] {
				p.queue = slices.Delete(p.queue, p.hand, p.hand+1)
				break
			}
			p.visited[old] = false
			p.hand++
		}
		if p.hand == len(p.queue) { // it was the newest: the hand starts anew
			p.hand = 0
		}
	}
	p.queue = append(p.queue, b)
	return false
}

// blocksOf lists what an order holds, the first first, as its table and its
// places have it.
func blocksOf(t *testing.T, o *order) []uint32 {
	t.Helper()
	var out []uint32
	for at, ok := o.seek(o.first); ok; at, ok = o.seek(at) {
		b := o.ring[at]
		out = append(out, b)
		if _, entry := o.slots.find(b); entry == 0 || number(entry) != at {
			t.Fatalf("block %d stands at place %d, its entry says %#x", b, at, entry)
		}
		if at++; at == uint(len(o.ring)) {
			at = 0
		}
		if at == o.next {
			break
		}
	}
	inTable := 0
	for _, s := range o.slots {
		if s != 0 {
			inTable++
		}
	}
	if inTable != len(out) {
		t.Fatalf("the table has %d blocks, the queue %d", inTable, len(out))
	}
	return out
}

// TestOrder has LRU and SIEVE do at random what their plain forms do, with
// rings so small that they close up all the time.
func TestOrder(t *testing.T) {
	means.Ends(t)
	for _, size := range []int{1, 2, 3, 5, 20, 21, 22, 63, 64, 65, 200} {
		for _, span := range []int{2, 2 * size, 10 * size} {
			r := rand.New(rand.NewPCG(uint64(size), uint64(span)))
			lru, sieve := newLRU(size), newSieve(size)
			wantLRU, wantSieve := &plainLRU{size: size}, &plainSieve{size: size, visited: map[uint32]bool{}}
			for i := range 3_000 {
				b := uint32(r.IntN(span))
				if r.IntN(3) > 0 {
					b = uint32(r.IntN(1 + span/8)) // some are asked for more often
				}
				b *= 0x01000193 // not in a row
				if got, want := lru.Access(b, false), wantLRU.access(b); got != want {
					t.Fatalf("LRU of %d, request %d: hit %v, want %v", size, i, got, want)
				}
				if got, want := sieve.Access(b, false), wantSieve.access(b); got != want {
					t.Fatalf("SIEVE of %d, request %d: hit %v, want %v", size, i, got, want)
				}
				if i%50 != 0 {
					continue
				}
				if got := blocksOf(t, &lru.queue); !slices.Equal(got, wantLRU.queue) {
					t.Fatalf("LRU of %d, request %d: %v, want %v", size, i, got, wantLRU.queue)
				}
				if got := blocksOf(t, &sieve.queue); !slices.Equal(got, wantSieve.queue) {
					t.Fatalf("SIEVE of %d, request %d: %v, want %v", size, i, got, wantSieve.queue)
				}
			}
		}
	}
}
