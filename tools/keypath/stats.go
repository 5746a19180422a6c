package keypath

import (
	"context"
	"math/rand/v2"
	"slices"
)

// Stats describe a web.
type Stats struct {
	Keys   int `json:"keys"`
	Live   int `json:"live_keys"`
	Signed int `json:"certifications"` // of one live key on another, those that count
	Strong int `json:"strong_set"`     // the largest set in which each key has a path to each
	// MeanDistance is the mean shortest distance between two keys of the strong
	// set, Longest the longest that was met.
	MeanDistance float64 `json:"mean_shortest_distance"`
	Longest      int     `json:"longest_shortest_distance"`
	Sampled      int     `json:"sampled_keys"` // from how many keys of the strong set distances were taken
	Verified     bool    `json:"verified"`
}

// statsSample is from how many keys distances are taken at most.
const statsSample = 1000

// Stats describes the web; with verify each signature is verified before,
// otherwise keys are taken at their word.
func (w *Web) Stats(ctx context.Context, verify bool, progress Progress) (Stats, error) {
	s := Stats{Keys: w.Keys, Verified: verify}
	in := make([][]Key, w.Keys)
	for k := range Key(w.Keys) {
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		progress(int64(k), int64(w.Keys))
		if !w.live(k) || verify && !w.State(k).Live() {
			continue
		}
		s.Live++
		for e, from := range w.signers(k) {
			if w.counts(e, from, k) && (!verify || w.Hop(e, from, k).Valid()) {
				in[k] = append(in[k], from)
				s.Signed++
			}
		}
	}
	strong := largestComponent(in)
	s.Strong = len(strong)
	s.distances(ctx, in, strong)
	return s, ctx.Err()
}

// distances takes them from all keys of the set, or from a fixed sample.
func (s *Stats) distances(ctx context.Context, in [][]Key, set []Key) {
	from := slices.Clone(set)
	if len(from) > statsSample {
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		from = from[:statsSample]
	}
	member := make([]bool, len(in))
	for _, k := range set {
		member[k] = true
	}
	var sum, pairs int64
	dist := make([]int, len(in))
	for _, k := range from {
		if ctx.Err() != nil {
			return
		}
		s.Sampled++
		for i := range dist {
			dist[i] = -1
		}
		dist[k] = 0
		ring := []Key{k}
		for i := 0; i < len(ring); i++ {
			for _, n := range in[ring[i]] {
				if member[n] && dist[n] < 0 {
					dist[n] = dist[ring[i]] + 1
					ring = append(ring, n)
					sum, pairs = sum+int64(dist[n]), pairs+1
					s.Longest = max(s.Longest, dist[n])
				}
			}
		}
	}
	if pairs > 0 {
		s.MeanDistance = float64(sum) / float64(pairs)
	}
}

// largestComponent is the largest strongly connected set of keys: Tarjan's
// algorithm, without recursion, as a web may be a million keys deep.
func largestComponent(next [][]Key) (best []Key) {
	type frame struct {
		k Key
		i int
	}
	index, low := make([]int, len(next)), make([]int, len(next))
	onStack := make([]bool, len(next))
	var stack []Key
	count := 0
	for root := range next {
		if index[root] != 0 {
			continue
		}
		calls := []frame{{Key(root), 0}}
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			if f.i == 0 && index[f.k] == 0 {
				count++
				index[f.k], low[f.k] = count, count
				stack, onStack[f.k] = append(stack, f.k), true
			}
			if f.i < len(next[f.k]) {
				n := next[f.k][f.i]
				f.i++
				if index[n] == 0 {
					calls = append(calls, frame{n, 0})
				} else if onStack[n] {
					low[f.k] = min(low[f.k], index[n])
				}
				continue
			}
			k := f.k
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1].k
				low[up] = min(low[up], low[k])
			}
			if low[k] != index[k] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != k {
				at--
			}
			for _, m := range stack[at:] {
				onStack[m] = false
			}
			if len(stack)-at > len(best) {
				best = slices.Clone(stack[at:])
			}
			stack = stack[:at]
		}
	}
	return best
}
