package keypath

import (
	"context"
	"slices"
)

// Root is a key to start from, with how many hops it is trusted for.
type Root struct {
	Key   Key
	Depth int // 0: as many as the query allows
}

// Query asks for paths from any of the roots to a key.
type Query struct {
	Roots     []Root
	To        Key
	MaxLength int // hops
}

// Path is hops from a root to the key asked for; none: the root is that key.
type Path []*Hop

// DefaultMaxLength bounds paths that nobody bounded: a web's diameter is far less.
const DefaultMaxLength = 30

func (q *Query) depth(r Root) int {
	if r.Depth > 0 {
		return min(r.Depth, q.MaxLength)
	}
	return q.MaxLength
}

// Shortest is a shortest valid path, or nil.
func (w *Web) Shortest(ctx context.Context, q Query) (Path, error) {
	depth := map[Key]int{}
	for _, r := range q.Roots {
		depth[r.Key] = max(depth[r.Key], q.depth(r))
	}
	for ctx.Err() == nil {
		edges := w.walk(ctx, q.To, q.MaxLength, depth)
		if edges == nil {
			return nil, ctx.Err()
		}
		if p, ok := w.verified(edges); ok {
			return p, nil
		}
	}
	return nil, ctx.Err()
}

// step is a claim with its ends.
type step struct {
	edge     Edge
	from, to Key
}

// verified verifies each step. One that does not hold is not met again.
func (w *Web) verified(steps []step) (Path, bool) {
	p, ok := make(Path, 0, len(steps)), true
	for _, s := range steps {
		h := w.Hop(s.edge, s.from, s.to)
		ok = ok && h.Valid()
		p = append(p, h)
	}
	return p, ok
}

// walk goes from the key to its signers, and to theirs, until it meets a root
// that is trusted that far; what it finds has not been verified.
func (w *Web) walk(ctx context.Context, to Key, longest int, depth map[Key]int) []step {
	if !w.live(to) {
		return nil
	}
	via := make([]step, w.Keys)
	seen := make([]bool, w.Keys)
	seen[to] = true
	ring := []Key{to}
	for length := 1; length <= longest && len(ring) > 0 && ctx.Err() == nil; length++ {
		var next []Key
		for _, k := range ring {
			for e, s := range w.signers(k) {
				if seen[s] || !w.counts(e, s, k) {
					continue
				}
				seen[s] = true
				via[s] = step{e, s, k}
				if length <= depth[s] {
					return trail(via, s, to)
				}
				next = append(next, s)
			}
		}
		ring = next
	}
	return nil
}

func trail(via []step, from, to Key) (out []step) {
	for k := from; k != to; k = via[k].to {
		out = append(out, via[k])
	}
	return out
}

// Reach counts the keys that have a way to the key, and, forward, those that
// the key has a way to; both as claimed.
func (w *Web) Reach(from []Key, to Key) (forward, backward int) {
	next := w.neighbours(func(to Key, yield func(Key)) {
		for e, s := range w.signers(to) {
			if w.counts(e, s, to) {
				yield(s)
			}
		}
	})
	backward = spread(w.Keys, []Key{to}, next)
	signees := w.forward()
	forward = spread(w.Keys, from, func(k Key) []Key { return signees[k] })
	return forward, backward
}

func (w *Web) neighbours(each func(Key, func(Key))) func(Key) []Key {
	return func(k Key) (out []Key) {
		each(k, func(n Key) { out = append(out, n) })
		return out
	}
}

// forward lists whom each key has signed.
func (w *Web) forward() [][]Key {
	out := make([][]Key, w.Keys)
	for k := range Key(w.Keys) {
		if !w.live(k) {
			continue
		}
		for e, s := range w.signers(k) {
			if w.counts(e, s, k) {
				out[s] = append(out[s], k)
			}
		}
	}
	return out
}

// spread counts what can be reached from start, without start.
func spread(n int, start []Key, next func(Key) []Key) int {
	seen := make([]bool, n)
	for _, k := range start {
		seen[k] = true
	}
	count := 0
	for todo := slices.Clone(start); len(todo) > 0; {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, s := range next(k) {
			if !seen[s] {
				seen[s] = true
				count++
				todo = append(todo, s)
			}
		}
	}
	return count
}

// Around are keys and their signers, and so on for some rings, nearest first.
func (w *Web) Around(start []Key, rings int) []Key {
	seen := map[Key]bool{}
	var out []Key
	ring := start
	for ; rings > 0 && len(ring) > 0; rings-- {
		var next []Key
		for _, k := range ring {
			if seen[k] {
				continue
			}
			seen[k] = true
			out = append(out, k)
			for e, s := range w.signers(k) {
				if w.counts(e, s, k) {
					next = append(next, s)
				}
			}
		}
		ring = next
	}
	return out
}
