package cachesim

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"fettle/internal/means"
	"fettle/tools/measure/blockcache/trace"
)

// TestTable adds and removes at random, full most of the time, beside a map.
func TestTable(t *testing.T) {
	means.Ends(t)
	for _, size := range []int{1, 2, 3, 7, 64, 1000} {
		for _, load := range [][2]int{{2, 1}, {8, 5}, {1, 1}} {
			r := rand.New(rand.NewPCG(uint64(size), 1))
			tab, nodes, want := newTable(size, load[0], load[1]), make([]node, size), map[uint32]int32{}
			var free []int32
			for i := range int32(size) {
				free = append(free, i)
			}
			for range 4_000 {
				key := r.Uint32N(uint32(3 * size))
				e, ok := want[key]
				if !ok {
					e = none
				}
				if got := tab.find(nodes, key); got != e {
					t.Fatalf("size %d, load %v: key %d is entry %d, want %d", size, load, key, got, e)
				}
				switch {
				case ok:
					tab.remove(nodes, e)
					delete(want, key)
					free = append(free, e)
				case len(free) > 0:
					e = free[len(free)-1]
					free = free[:len(free)-1]
					nodes[e].key = key
					tab.insert(key, e)
					want[key] = e
				}
			}
		}
	}
}

// TestMemory: below 40 bytes a cached block, and Bytes tells what is really
// taken from the heap.
func TestMemory(t *testing.T) {
	tr, err := trace.Workload{Pattern: "uniform", Blocks: 1 << 21, Requests: 1 << 17, Seed: 1, BlockSize: 65536, WritePct: 10}.Make()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds {
		for _, size := range []int{40_000, 50_000} {
			in, err := newInput(tr, SMQ{Rate: 10_000}, []Kind{k})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p := k.make(size, in)
			replay(p, tr.Blocks, tr.Writes)
			runtime.GC()
			runtime.ReadMemStats(&after)
			// The runtime and the test itself may take some KiB meanwhile.
			slack := 64 << 10 / float64(size)
			heap := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(size)
			said := float64(p.Bytes()) / float64(size)
			if said >= 40 {
				t.Errorf("%s of %d blocks: %.1f bytes a block", k.Name, size, said)
			}
			if heap > said*1.06+slack || heap < said*0.94-slack {
				t.Errorf("%s of %d blocks says %.1f bytes a block, the heap %.1f", k.Name, size, said, heap)
			}
			runtime.KeepAlive(p)
		}
	}
}

// queueModel is mqueue with slices: slow, and plain to see.
type queueModel struct {
	levels [levels][]int32
	real   int32
}

func (m *queueModel) remove(e int32) (level, at int) {
	for l := range m.levels {
		for i, x := range m.levels[l] {
			if x == e {
				m.levels[l] = append(m.levels[l][:i:i], m.levels[l][i+1:]...)
				return l, i
			}
		}
	}
	panic("not there")
}

func (m *queueModel) peek(max int, cross bool) int32 {
	for l := range max {
		for _, e := range m.levels[l] {
			if e < m.real {
				return e
			}
			if !cross {
				break
			}
		}
	}
	return none
}

func (m *queueModel) raise(e int32, by int) {
	from, _ := m.remove(e)
	to := min(from+by, levels-1)
	if to > from {
		for _, x := range m.levels[to] {
			if x < m.real {
				m.remove(x)
				m.levels[from] = append(m.levels[from], x)
				break
			}
		}
	}
	m.levels[to] = append(m.levels[to], e)
}

func (m *queueModel) redistribute(target [levels]int32, toHead bool) {
	count := func(l int) (n int32) {
		for _, e := range m.levels[l] {
			if e < m.real {
				n++
			}
		}
		return n
	}
	for l := 0; l < levels-1; l++ {
		for count(l) < target[l] {
			e := none
			for up := l + 1; up < levels && e == none; up++ {
				for _, x := range m.levels[up] {
					if x < m.real {
						e = x
						break
					}
				}
			}
			if e == none {
				break
			}
			m.remove(e)
			m.levels[l] = append(m.levels[l], e)
		}
		for count(l) > target[l] {
			e := none
			for _, x := range m.levels[l] {
				if x < m.real {
					e = x
				}
			}
			m.remove(e)
			if toHead {
				m.levels[l+1] = append([]int32{e}, m.levels[l+1]...)
			} else {
				m.levels[l+1] = append(m.levels[l+1], e)
			}
		}
	}
}

// TestMultiQueue does the same at random to smq's queue and to the plain one.
func TestMultiQueue(t *testing.T) {
	const real, marks = 300, 64
	r := rand.New(rand.NewPCG(3, 4))
	var q mqueue
	q.init(make([]node, real+marks), make([]uint8, real+marks), real)
	q.topLevels, q.inTop = 8, 20
	m := queueModel{real: real}
	for l := range int32(marks) {
		q.level[real+l] = uint8(l)
		q.push(real + l)
		m.levels[l] = append(m.levels[l], real+l)
	}
	in := map[int32]bool{}
	for step := range 5_000 {
		e := r.Int32N(real)
		switch {
		case !in[e]:
			l := r.IntN(levels)
			q.level[e] = uint8(l)
			q.push(e)
			m.levels[l] = append(m.levels[l], e)
			in[e] = true
		case r.IntN(4) == 0:
			q.remove(e)
			m.remove(e)
			in[e] = false
		default:
			by := r.IntN(5)
			q.raise(e, uint8(by), nil)
			m.raise(e, by)
		}
		if step%50 == 0 {
			l := r.Int32N(marks)
			q.remove(real + l)
			q.push(real + l)
			m.remove(real + l)
			m.levels[l] = append(m.levels[l], real+l)
		}
		if step%500 == 0 {
			toHead := step%1000 == 0
			q.redistribute(toHead)
			m.redistribute(q.target, toHead)
			sum := int32(0)
			for _, n := range q.target {
				sum += n
			}
			if sum != max(q.n, q.inTop) {
				t.Fatalf("step %d: targets for %d entries, of %d", step, sum, q.n)
			}
		}
		for _, cross := range []bool{true, false} {
			if a, b := q.peek(32, cross), m.peek(32, cross); a != b {
				t.Fatalf("step %d: peek is %d, want %d", step, a, b)
			}
		}
		for l := range m.levels {
			if step%20 != 0 {
				break
			}
			got := []int32{}
			for e := q.lists[l].head; e != none; e = q.nodes[e].next {
				got = append(got, e)
			}
			if len(got) != len(m.levels[l]) {
				t.Fatalf("step %d: level %d has %v, want %v", step, l, got, m.levels[l])
			}
			for i := range got {
				if got[i] != m.levels[l][i] {
					t.Fatalf("step %d: level %d has %v, want %v", step, l, got, m.levels[l])
				}
			}
		}
	}
}
