package keypath

import (
	"context"
	"maps"
	"slices"
)

// Disjoint are valid paths from one root to a key that share no key in
// between, as many as there are but at most most, short ones first.
//
// Without a bound on length their number is the greatest there is (Menger: a
// flow of greatest value, each key of capacity one), and of all such sets theirs
// has the least hops in sum. With a bound the problem is NP-hard from five hops
// on (Itai, Perl, Shiloach 1982): then there may be more.
func (w *Web) Disjoint(ctx context.Context, q Query, most int) ([]Path, error) {
	f := newFlow(w, q)
	var best [][]step
	for len(f.first) < most && ctx.Err() == nil {
		arcs := f.augment(ctx)
		if arcs == nil {
			break
		}
		if !f.sound(arcs) {
			continue // what did not hold is not met again
		}
		f.apply(arcs)
		if within := f.paths(q); len(within) > len(best) {
			best = within
		}
	}
	out := make([]Path, 0, len(best))
	for _, steps := range best {
		p, _ := w.verified(steps)
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Path) int { return len(a) - len(b) })
	return out, ctx.Err()
}

// flow runs from the key asked for, over its signers, to a root. Each key is
// two nodes, 2k where paths enter and 2k+1 where they leave, so that at most one
// path crosses it.
type flow struct {
	w     *Web
	to    Key
	roots map[Key]int // how far each is trusted
	// Of keys on a path: the step that leaves them, and the key before them.
	next map[Key]step
	prev map[Key]Key
	// first are the steps that begin the paths, at the key asked for.
	first map[Key]step
	// Scratch of one search.
	dist []int32
	via  []arc
}

// arc is how a search came to a node: along a claim, or back along a path.
type arc struct {
	from int32
	step step
	back bool
	used bool
}

const unreached = int32(1) << 30

func newFlow(w *Web, q Query) *flow {
	f := &flow{w: w, to: q.To, roots: map[Key]int{}, next: map[Key]step{}, prev: map[Key]Key{}, first: map[Key]step{}}
	for _, r := range q.Roots {
		f.roots[r.Key] = max(f.roots[r.Key], q.depth(r))
	}
	return f
}

// augment finds the cheapest way to one more path, in hops that are added less
// those that are rolled back: Bellman and Ford's method with a queue, as hops
// that are removed have a negative price.
func (f *flow) augment(ctx context.Context) []arc {
	if !f.w.live(f.to) {
		return nil
	}
	f.reset()
	start := 2*int32(f.to) + 1
	f.dist[start] = 0
	queue, queued := []int32{start}, make([]bool, len(f.dist))
	best, bestDist := int32(-1), unreached
	for n := 0; len(queue) > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil
		}
		at := queue[0]
		queue = queue[1:]
		queued[at] = false
		if f.dist[at] >= bestDist && len(f.next) == 0 {
			continue // without a path to take back, nothing gets shorter
		}
		f.leave(at, func(to int32, cost int32, a arc) {
			d := f.dist[at] + cost
			if d >= f.dist[to] {
				return
			}
			f.dist[to], a.from, a.used = d, at, true
			f.via[to] = a
			if _, root := f.roots[Key(to/2)]; root {
				if d < bestDist {
					best, bestDist = to, d
				}
				return
			}
			if !queued[to] {
				queued[to] = true
				queue = append(queue, to)
			}
		})
	}
	if best < 0 {
		return nil
	}
	return f.back(best, start)
}

func (f *flow) reset() {
	if f.dist == nil {
		f.dist = make([]int32, 2*f.w.Keys)
		f.via = make([]arc, 2*f.w.Keys)
	}
	for i := range f.dist {
		f.dist[i] = unreached
	}
}

// leave tells the arcs out of a node of what the paths leave free.
func (f *flow) leave(at int32, to func(to, cost int32, a arc)) {
	k := Key(at / 2)
	_, onPath := f.prev[k]
	if at%2 == 0 { // where paths enter
		if !onPath {
			to(at+1, 0, arc{})
			return
		}
		if p := f.prev[k]; p != f.to {
			to(2*int32(p)+1, -1, arc{back: true, step: f.next[p]})
		}
		return
	}
	if onPath {
		to(at-1, 0, arc{back: true})
	}
	for e, s := range f.w.signers(k) {
		if s == f.to || f.taken(k, e, s) || !f.w.counts(e, s, k) {
			continue
		}
		to(2*int32(s), 1, arc{step: step{e, s, k}})
	}
}

// taken tells whether a path runs along the claim.
func (f *flow) taken(k Key, e Edge, s Key) bool {
	if k == f.to {
		_, ok := f.first[s]
		return ok
	}
	st, ok := f.next[k]
	return ok && st.edge == e
}

func (f *flow) back(from, start int32) (out []arc) {
	for at := from; at != start; at = f.via[at].from {
		out = append(out, f.via[at])
	}
	slices.Reverse(out)
	return out
}

// sound verifies the claims that would come onto a path.
func (f *flow) sound(arcs []arc) bool {
	ok := true
	for _, a := range arcs {
		if s := a.step; !a.back && s.from != s.to {
			ok = f.w.Hop(s.edge, s.from, s.to).Valid() && ok
		}
	}
	return ok
}

// apply puts the search's arcs onto the paths: first what is removed.
func (f *flow) apply(arcs []arc) {
	for _, a := range arcs {
		if s := a.step; a.back && s.from != s.to {
			delete(f.next, s.to)
			delete(f.prev, s.from)
		}
	}
	for _, a := range arcs {
		s := a.step
		if a.back || s.from == s.to {
			continue
		}
		if s.to == f.to {
			f.first[s.from] = s
		} else {
			f.next[s.to] = s
		}
		if _, root := f.roots[s.from]; !root {
			f.prev[s.from] = s.to
		}
	}
}

// paths are those that are as short as asked for.
func (f *flow) paths(q Query) (out [][]step) {
	for _, k := range slices.Sorted(maps.Keys(f.first)) {
		p := []step{f.first[k]}
		for {
			last := p[len(p)-1].from
			if _, root := f.roots[last]; root {
				break
			}
			p = append(p, f.next[last])
		}
		if end := p[len(p)-1].from; len(p) <= min(q.MaxLength, f.roots[end]) {
			slices.Reverse(p)
			out = append(out, p)
		}
	}
	return out
}
