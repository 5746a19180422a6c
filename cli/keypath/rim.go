package keypath

import (
	"fettle/tools/keypath"
)

// rim is what lies around the keys that are known: signers that no keyring has.
type rim struct {
	asked map[uint64]bool
}

func newRim() *rim { return &rim{map[uint64]bool{}} }

// perKey bounds how many signers of one key are asked for before the next key.
const perKey = 512

// next are the ids to fetch: those that signed both ends' surroundings first,
// then those around TO, ring by ring.
func (r *rim) next(w *keypath.Web, q keypath.Query, most int) []uint64 {
	var roots []keypath.Key
	for _, x := range q.Roots {
		roots = append(roots, x.Key)
	}
	target, home := r.missing(w, w.Around([]keypath.Key{q.To}, 3)), r.missing(w, w.Around(roots, 2))
	near := map[uint64]bool{}
	for _, id := range home {
		near[id] = true
	}
	var out []uint64
	take := func(ids []uint64, until int, want func(uint64) bool) {
		for _, id := range ids {
			if len(out) < until && !r.asked[id] && want(id) {
				r.asked[id] = true
				out = append(out, id)
			}
		}
	}
	any := func(uint64) bool { return true }
	take(target, most, func(id uint64) bool { return near[id] })
	take(target, (most+len(out)+1)/2, any)
	take(home, most, any)
	take(target, most, any)
	return out
}

func (r *rim) missing(w *keypath.Web, keys []keypath.Key) (out []uint64) {
	for _, k := range keys {
		if len(out) > 10*perKey {
			break
		}
		ids, err := w.Missing(k, perKey)
		if err == nil { // a keyring that cannot be read has failed before
			out = append(out, ids...)
		}
	}
	return out
}
