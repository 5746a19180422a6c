package keypath

import "context"

// WhyNot is the path that would be there if every claim counted, with as few
// as can be that don't; nil: nobody even claims one.
func (w *Web) WhyNot(ctx context.Context, q Query) (Path, error) {
	roots := map[Key]bool{}
	for _, r := range q.Roots {
		roots[r.Key] = true
	}
	// Breadth first with two prices (0 a claim that counts, 1 one that doesn't):
	// what is cheap goes to the front. Verified claims change price, so the
	// search is made again until what it finds is known.
	for ctx.Err() == nil {
		steps := w.cheapest(ctx, q.To, roots)
		if steps == nil {
			return nil, ctx.Err()
		}
		known := true
		var p Path
		for _, s := range steps {
			_, ok := w.hops[s.edge]
			known = known && ok
			p = append(p, w.Hop(s.edge, s.from, s.to))
		}
		if known {
			return p, nil
		}
	}
	return nil, ctx.Err()
}

func (w *Web) cheapest(ctx context.Context, to Key, roots map[Key]bool) []step {
	const unseen = int32(1) << 30
	price := make([]int32, w.Keys)
	for i := range price {
		price[i] = unseen
	}
	price[to] = 0
	via, done := make([]step, w.Keys), make([]bool, w.Keys)
	now, later := []Key{to}, []Key(nil)
	for ; len(now) > 0; now, later = later, nil {
		for i := 0; i < len(now); i++ {
			k := now[i]
			if done[k] || ctx.Err() != nil {
				continue
			}
			if roots[k] && k != to {
				return trail(via, k, to)
			}
			done[k] = true
			for e, s := range w.signers(k) {
				cost := int32(1)
				if w.counts(e, s, k) {
					cost = 0
				}
				if p := price[k] + cost; p < price[s] {
					price[s], via[s] = p, step{e, s, k}
					if cost == 0 {
						now = append(now, s)
					} else {
						later = append(later, s)
					}
				}
			}
		}
	}
	return nil
}
