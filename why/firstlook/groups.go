package firstlook

import (
	"bytes"
	"hash/maphash"
	"slices"

	"fettle/internal/sorted"
)

// Bounds: no more than this is kept of a log of any length.
const (
	maxGroups  = 8000
	maxKnown   = 40000 // masked texts whose group is known at once
	maxBucket  = 40    // groups among which a new text looks for its like
	maxText    = 600   // bytes of a text
	maxTokens  = 64
	maxPending = 8 << 10 // bytes of one line; the rest of it is skipped
)

// alike is how many of a template's words must be the same in a text of the group, as Drain
// has it (He et al., "Drain: An Online Log Parsing Approach with Fixed Depth Tree", ICWS 2017).
const alike = 0.6

// group is what like messages of one program have in common.
type group struct {
	by, unit, host string
	template       []string // words; a place where texts differ is wild
	text           string   // the first of them
	id             string
	prio           int // the most severe; -1 where none is known
	count          int64
	firstLine      int64
	lastLine       int64
	first          string // stamps
	last           []byte
	verdict        verdict
	lastWords      int64 // how often it came last before its program or unit failed
}

const wild = "<*>"

// groups sorts messages into groups, as Drain does: by who says them and how many words they
// have, then by their first word, then by likeness. A text whose mask is known needs no search.
type groups struct {
	known   map[uint64]*group
	refused map[uint64]bool // masked texts that found no room, while the groups are the same
	buckets map[uint64][]*group
	all     []*group
	dropped int64 // lines of groups that were given up, or found no room
	// full: there is no room for messages that say no more than this.
	full float64

	seed   maphash.Seed
	masked []byte // room for who says a text, and for the text
}

func newGroups() *groups {
	return &groups{known: map[uint64]*group{}, refused: map[uint64]bool{}, buckets: map[uint64][]*group{}, full: -100,
		seed: maphash.MakeSeed()}
}

// add counts a message. It returns its group; nil where there was no room for one.
func (g *groups) add(r *record, line int64) *group {
	g.masked = append(append(g.masked[:0], r.by...), 0)
	g.masked = masked(g.masked, r.text)
	h := maphash.Bytes(g.seed, g.masked)
	found := g.known[h]
	if found == nil {
		if found = g.search(r, line, h); found == nil {
			g.dropped++
			return nil
		}
	}
	found.count1(r, line)
	return found
}

// search finds the group of a text that is new, or makes one.
func (g *groups) search(r *record, line int64, h uint64) *group {
	if g.refused[h] {
		return nil
	}
	text := g.masked[len(r.by)+1:]
	if len(r.text) > maxText {
		r.text = r.text[:maxText]
		text = masked(nil, r.text)
	}
	words := tokens(text)
	b := g.bucket(r.by, words)
	found := likest(g.buckets[b], words)
	switch {
	case found != nil:
		found.widen(words)
	default:
		if found = g.begin(r, line, words, b); found == nil {
			if len(g.refused) < maxKnown {
				g.refused[h] = true
			}
			return nil
		}
		clear(g.refused)
	}
	if len(g.known) < maxKnown {
		g.known[h] = found
	}
	return found
}

// bucket is the fixed part of Drain's tree: who says how many words, and the first of them.
func (g *groups) bucket(by []byte, words [][]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(g.seed)
	_, _ = h.Write(by)
	_, _ = h.Write([]byte{0, byte(len(words))})
	if len(words) > 0 {
		_, _ = h.Write(words[0])
	}
	return h.Sum64()
}

// begin makes a group, if necessary in place of others.
func (g *groups) begin(r *record, line int64, words [][]byte, b uint64) *group {
	v := judge(r)
	if len(g.all) >= maxGroups && (v.score <= g.full || !g.makeRoom(v.score)) || len(g.buckets[b]) >= maxBucket && v.score < telling {
		return nil
	}
	n := &group{by: string(r.by), unit: string(r.unit), host: string(r.host), text: string(r.text), id: string(r.id),
		prio: r.prio, firstLine: line, first: string(r.stamp), verdict: v}
	for _, w := range words {
		n.template = append(n.template, string(w))
	}
	g.all = append(g.all, n)
	g.buckets[b] = append(g.buckets[b], n)
	return n
}

// makeRoom drops a quarter of the groups: those that say least, the rarest first. False:
// all say more than one with this score.
func (g *groups) makeRoom(score float64) bool {
	order := slices.Clone(g.all)
	sorted.By(order, func(a, b *group) int {
		if a.verdict.score != b.verdict.score {
			return less(a.verdict.score < b.verdict.score)
		}
		return less(a.count < b.count)
	})
	order = order[:len(order)/4]
	gone := map[*group]bool{}
	for _, o := range order {
		if o.verdict.score <= score {
			gone[o] = true
			g.dropped += o.count
		}
	}
	if len(gone) == 0 {
		g.full = score
		return false
	}
	g.full = -100
	drop := func(x *group) bool { return gone[x] }
	g.all = slices.DeleteFunc(g.all, drop)
	for b, list := range g.buckets {
		if g.buckets[b] = slices.DeleteFunc(list, drop); len(g.buckets[b]) == 0 {
			delete(g.buckets, b)
		}
	}
	for h, x := range g.known {
		if gone[x] {
			delete(g.known, h)
		}
	}
	return true
}

func less(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// count1 counts one more message.
func (n *group) count1(r *record, line int64) {
	n.count++
	n.lastLine = line
	n.last = append(n.last[:0], r.stamp...)
	if r.prio >= 0 && (n.prio < 0 || r.prio < n.prio) {
		n.prio = r.prio
		if v := judge(r); v.score > n.verdict.score {
			n.verdict = v
		}
	}
}

// widen makes the places of the template wild where words differ.
func (n *group) widen(words [][]byte) {
	for i, w := range words {
		if n.template[i] != string(w) {
			n.template[i] = wild
		}
	}
}

// likest is the group of a bucket whose template fits words best, if any fits well enough.
func likest(in []*group, words [][]byte) *group {
	var best *group
	most := 0.0
	for _, n := range in {
		same := 0
		for i, w := range words {
			if n.template[i] == string(w) {
				same++
			}
		}
		if s := float64(same) / float64(max(len(words), 1)); s >= alike && s > most {
			best, most = n, s
		}
	}
	return best
}

// tokens are the words of a masked text.
func tokens(text []byte) [][]byte {
	f := bytes.Fields(text)
	return f[:min(len(f), maxTokens)]
}
