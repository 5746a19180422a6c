package keypath

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fettle/host/format/openpgp"
	"fettle/internal/means"
)

// graph makes a web of claims that all hold, so that searches can be tested
// without keys. Arcs are signer, signee.
func graph(t testing.TB, keys int, arcs [][2]int) *Web {
	t.Helper()
	b := &builder{}
	for i := range keys {
		fpr := binary.BigEndian.AppendUint64(make([]byte, 12), uint64(i+1))
		b.keys = append(b.keys, keyFacts{key: openpgp.Key{Fingerprint: openpgp.Fingerprint(fpr), Created: time.Unix(1, 0)}, until: forever})
	}
	for _, a := range arcs {
		b.claims = append(b.claims, claim{issuer: uint64(a[0] + 1), signee: uint32(a[1]), strong: forever})
	}
	x, err := encode(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWeb(x, Policy{Now: time.Unix(1e9, 0)})
	for k := range Key(x.Keys) {
		w.keys[k] = &KeyState{}
		for e, s := range x.signers(k) {
			w.hops[e] = &Hop{From: s, To: k}
		}
	}
	return w
}

func TestDisjointAgainstAnOracle(t *testing.T) {
	means.Ends(t)
	r := rand.New(rand.NewPCG(3, 5))
	for range 400 {
		n := 4 + r.IntN(14)
		var arcs [][2]int
		for range r.IntN(n * 4) {
			if a, b := r.IntN(n), r.IntN(n); a != b && !slices.Contains(arcs, [2]int{a, b}) {
				arcs = append(arcs, [2]int{a, b})
			}
		}
		w := graph(t, n, arcs)
		q := Query{Roots: []Root{{Key: 0}}, To: Key(n - 1), MaxLength: DefaultMaxLength}
		paths, err := w.Disjoint(context.Background(), q, 100)
		if err != nil {
			t.Fatal(err)
		}
		if want := vertexConnectivity(n, arcs); len(paths) != want {
			t.Fatalf("%d paths, want %d: %d keys, %v", len(paths), want, n, arcs)
		}
		met := map[Key]bool{}
		for _, p := range paths {
			if p[0].From != 0 || p[len(p)-1].To != Key(n-1) {
				t.Fatalf("a path from %d to %d", p[0].From, p[len(p)-1].To)
			}
			for i, h := range p {
				if i > 0 && h.From != p[i-1].To {
					t.Fatalf("a path with a gap: %v", arcs)
				}
				if i > 0 && met[h.From] {
					t.Fatalf("key %d is on two paths: %v", h.From, arcs)
				}
				met[h.From] = met[h.From] || i > 0
			}
		}
		one, err := w.Shortest(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if (one == nil) != (len(paths) == 0) || one != nil && len(one) > len(paths[0]) {
			t.Fatalf("a shortest path of %d beside %d disjoint ones, the first of %d", len(one), len(paths), len(paths[0]))
		}
		if d := distance(n, arcs); one != nil && len(one) != d {
			t.Fatalf("a shortest path of %d, want %d", len(one), d)
		}
	}
}

// vertexConnectivity counts paths from 0 to n-1 that share no key, by
// augmenting a matrix depth first (Ford and Fulkerson): slow and plain.
func vertexConnectivity(n int, arcs [][2]int) int {
	capacity := map[[2]int]int{}
	for i := range n {
		capacity[[2]int{2 * i, 2*i + 1}] = 1
	}
	for _, a := range arcs {
		capacity[[2]int{2*a[0] + 1, 2 * a[1]}] = 1
	}
	source, sink := 1, 2*(n-1)
	for flow := 0; ; flow++ {
		seen := map[int]bool{source: true}
		var push func(int) bool
		push = func(at int) bool {
			if at == sink {
				return true
			}
			for to := range 2 * n {
				if !seen[to] && capacity[[2]int{at, to}] > 0 {
					seen[to] = true
					if push(to) {
						capacity[[2]int{at, to}]--
						capacity[[2]int{to, at}]++
						return true
					}
				}
			}
			return false
		}
		if !push(source) {
			return flow
		}
	}
}

// distance is by Bellman and Ford's method.
func distance(n int, arcs [][2]int) int {
	d := make([]int, n)
	for i := range d {
		d[i] = 1 << 20
	}
	d[0] = 0
	for range n {
		for _, a := range arcs {
			d[a[1]] = min(d[a[1]], d[a[0]]+1)
		}
	}
	return d[n-1]
}

func TestBounds(t *testing.T) {
	means.Ends(t)
	// 0 → 1 → 4, 0 → 2 → 3 → 4, and a cycle 1 → 2 → 1.
	w := graph(t, 6, [][2]int{{0, 1}, {1, 4}, {0, 2}, {2, 3}, {3, 4}, {1, 2}, {2, 1}})
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		q     Query
		paths int
	}{
		{"both", Query{Roots: []Root{{Key: 0}}, To: 4, MaxLength: 9}, 2},
		{"short ones", Query{Roots: []Root{{Key: 0}}, To: 4, MaxLength: 2}, 1},
		{"too short", Query{Roots: []Root{{Key: 0}}, To: 4, MaxLength: 1}, 0},
		{"depth of a root", Query{Roots: []Root{{Key: 0, Depth: 1}}, To: 4, MaxLength: 9}, 0},
		{"two roots", Query{Roots: []Root{{Key: 1, Depth: 1}, {Key: 3, Depth: 1}}, To: 4, MaxLength: 9}, 2},
		{"against the arrows", Query{Roots: []Root{{Key: 4}}, To: 0, MaxLength: 9}, 0},
		{"apart", Query{Roots: []Root{{Key: 0}}, To: 5, MaxLength: 9}, 0},
	} {
		paths, err := w.Disjoint(ctx, c.q, 10)
		if err != nil || len(paths) != c.paths {
			t.Errorf("%s: %d paths (%v), want %d", c.name, len(paths), err, c.paths)
		}
		one, err := w.Shortest(ctx, c.q)
		if err != nil || (one != nil) != (c.paths > 0) {
			t.Errorf("%s: shortest %v (%v), want %d paths", c.name, one, err, c.paths)
		}
	}
	if f, b := w.Reach([]Key{0}, 4); f != 4 || b != 4 {
		t.Errorf("reach: %d, %d, want 4, 4", f, b)
	}
}

func TestStats(t *testing.T) {
	// A ring of three, one that hangs on it, one alone.
	w := graph(t, 5, [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}})
	s, err := w.Stats(context.Background(), true, func(int64, int64) {})
	if err != nil || s.Live != 5 || s.Signed != 4 || s.Strong != 3 || s.MeanDistance != 1.5 || s.Longest != 2 {
		t.Errorf("%+v %v", s, err)
	}
}
