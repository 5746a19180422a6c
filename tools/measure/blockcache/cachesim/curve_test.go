package cachesim

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"fettle/internal/means"
	"fettle/tools/measure/blockcache/trace"
)

// TestLRUByStackDistance: Mattson's stack says for every size at once which
// requests hit.
func TestLRUByStackDistance(t *testing.T) {
	means.Ends(t)
	tr, err := trace.Workload{Pattern: "zipf:0.9", Blocks: 500, Requests: 20_000, Seed: 9, BlockSize: 65536}.Make()
	if err != nil {
		t.Fatal(err)
	}
	var stack []uint32
	hits := make([]int, 502) // by distance
	for _, b := range tr.Blocks {
		i := slices.Index(stack, b)
		if i >= 0 {
			hits[i+1]++
			stack = slices.Delete(stack, i, i+1)
		}
		stack = slices.Insert(stack, 0, b)
	}
	sizes := []int{1, 2, 3, 10, 50, 100, 499, 500, 600}
	k, _ := Find("lru")
	curves, took, err := Sweep{Kinds: []Kind{k}, Sizes: sizes}.Run(context.Background(), tr)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range sizes {
		want := 0
		for d := 1; d <= min(n, 501); d++ {
			want += hits[d]
		}
		if got := curves[0].Points[i]; got.Hits != want || got.Blocks != n {
			t.Errorf("LRU of %d blocks: %d hits, its stack says %d", n, got.Hits, want)
		}
	}
	if took.Requests != int64(len(sizes)*tr.Len()) {
		t.Errorf("%d requests were simulated", took.Requests)
	}
}

// optimum tries everything: the most hits that any cache can have from request
// i on, with these blocks cached.
func optimum(blocks []uint32, size int, bypass bool) int {
	type state struct {
		i      int
		cached [8]uint32
	}
	known := map[state]int{}
	var best func(i int, cached []uint32) int
	best = func(i int, cached []uint32) int {
		if i == len(blocks) {
			return 0
		}
		s := state{i: i}
		slices.Sort(cached)
		copy(s.cached[:], cached)
		if n, ok := known[s]; ok {
			return n
		}
		n := 0
		switch {
		case slices.Contains(cached, blocks[i]):
			n = 1 + best(i+1, slices.Clone(cached))
		case len(cached) < size:
			n = best(i+1, append(slices.Clone(cached), blocks[i]))
			if bypass {
				n = max(n, best(i+1, slices.Clone(cached)))
			}
		default:
			if bypass {
				n = best(i+1, slices.Clone(cached))
			}
			for j := range cached {
				c := slices.Clone(cached)
				c[j] = blocks[i]
				n = max(n, best(i+1, c))
			}
		}
		known[s] = n
		return n
	}
	return best(0, nil)
}

// TestBeladyIsOptimal beside an exhaustive search.
func TestBeladyIsOptimal(t *testing.T) {
	means.Ends(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		blocks := make([]uint32, 14)
		for i := range blocks {
			blocks[i] = 1 + r.Uint32N(6)
		}
		tr := &trace.Trace{BlockSize: 65536, Blocks: blocks, Span: 8}
		for _, name := range []string{"belady", "belady-bypass"} {
			k, _ := Find(name)
			for size := 1; size <= 4; size++ {
				p, err := k.New(size, tr, SMQ{})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := replay(p, blocks, nil), optimum(blocks, size, name == "belady-bypass"); got != want {
					t.Fatalf("%s of %d over %v: %d hits, %d are possible", name, size, blocks, got, want)
				}
			}
		}
	}
}

// TestNobodyBeatsBelady, and every cache as large as the device misses each
// block once, but for smq, which takes its time.
func TestNobodyBeatsBelady(t *testing.T) {
	means.Ends(t)
	for _, w := range []string{"zipf:1.2", "hot:10:90", "uniform"} {
		tr, err := trace.Workload{Pattern: w, Blocks: 3000, Requests: 15_000, Seed: 4, BlockSize: 65536}.Make()
		if err != nil {
			t.Fatal(err)
		}
		sizes := []int{1, 2, 3, 5, 10, 30, 100, 300, 1000, 2999, 3000, 5000}
		curves, _, err := Sweep{Kinds: Kinds, Sizes: sizes, Cores: 2}.Run(context.Background(), tr)
		if err != nil {
			t.Fatal(err)
		}
		bound := curves[len(curves)-1]
		if bound.Policy != "belady-bypass" {
			t.Fatal("the last policy is the bound")
		}
		for _, c := range curves {
			for i, p := range c.Points {
				if p.Hits > bound.Points[i].Hits || p.Requests != tr.Len() {
					t.Errorf("%s, %s of %d blocks has %d hits; the optimum has %d", w, c.Policy, p.Blocks, p.Hits, bound.Points[i].Hits)
				}
				if cold := tr.Len() - tr.Distinct(); p.Blocks >= 3000 && p.Counts == nil && p.Hits != cold {
					t.Errorf("%s, %s as large as the device: %d hits of %d", w, c.Policy, p.Hits, cold)
				}
			}
		}
	}
}

// TestSweepIsTheSameOnManyCores, and a warm-up does not count.
func TestSweepIsTheSameOnManyCores(t *testing.T) {
	means.Ends(t)
	tr, err := trace.Workload{Pattern: "zipf:1.0001", Blocks: 2000, Requests: 9_000, Seed: 4, BlockSize: 65536, WritePct: 20}.Make()
	if err != nil {
		t.Fatal(err)
	}
	var results [][]Curve
	for _, cores := range []int{1, 3} {
		done := int64(0)
		c, _, err := Sweep{
			Kinds:    Kinds,
			Sizes:    Sizes(2000, 6),
			Cores:    cores,
			Warmup:   3_000,
			Progress: func(d, all int64) { done = d },
		}.Run(
			context.Background(),
			tr,
		)
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(len(Kinds) * len(Sizes(2000, 6)) * tr.Len()); done != want {
			t.Errorf("progress ends at %d of %d", done, want)
		}
		results = append(results, c)
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Error("one core and three differ")
	}
	if n := results[0][0].Points[0].Requests; n != 6_000 {
		t.Errorf("%d requests count", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := (Sweep{Kinds: Kinds, Sizes: []int{10}}).Run(ctx, tr); err == nil {
		t.Error("a sweep that was stopped has no error")
	}
	for _, s := range []Sweep{{Kinds: Kinds, Sizes: []int{0}}, {Kinds: Kinds, Sizes: []int{10}, Warmup: 9_000}} {
		if _, _, err := s.Run(context.Background(), tr); err == nil {
			t.Errorf("sizes %v, warm-up %d were taken", s.Sizes, s.Warmup)
		}
	}
}

func TestSizes(t *testing.T) {
	if got := Sizes(100_000, 3); !slices.Equal(got, []int{100, 3162, 100_000}) {
		t.Error(got)
	}
	if got := Sizes(3, 20); !slices.Equal(got, []int{1, 2, 3}) {
		t.Error(got)
	}
}
