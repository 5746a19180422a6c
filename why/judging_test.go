package why

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// candidate is one of the traps that may be named for a text.
type candidate struct {
	class int
	x     [judgeSigns]float64
	right bool
	p     float64
}

// parts is in how many parts the texts are judged, each by words learned from the others;
// blocks in how many runs those of something else are cut before: texts that follow each
// other are of one topic, and none is to be judged by what its neighbour says.
const (
	parts  = 8
	blocks = 40
)

func (l *learner) split(texts []*strangerText) []int {
	none := len(l.x.ids)
	foreign, known, seen := 0, 0, 0
	for _, s := range texts {
		if s.right[0] == none {
			foreign++
		}
	}
	part := make([]int, len(texts))
	for i, s := range texts {
		if s.right[0] == none {
			part[i] = seen * blocks / foreign % parts
			seen++
		} else {
			part[i] = known % parts
			known++
		}
	}
	return part
}

// judged fits judge's weights, and tells how often the judgement is right, each text by
// words that were learned without it.
func (l *learner) judged(t *testing.T, texts []*strangerText) [judgeSigns]float64 {
	part := l.split(texts)
	by := make([][]*candidate, len(texts))
	each(parts, func(_ tokenizer, now int) {
		examples := slices.Clone(l.always)
		for i, s := range texts {
			if part[i] != now {
				examples = append(examples, s.example)
			}
		}
		m := l.train(examples)
		for i, s := range texts {
			if part[i] == now {
				by[i] = s.candidates(m.scores(s.words))
			}
		}
	})
	w := fit(slices.Concat(by...))
	for _, cs := range by {
		for _, c := range cs {
			c.p = judge(&w, &c.x)
		}
		slices.SortFunc(cs, func(a, b *candidate) int { return cmp.Compare(b.p, a.p) })
	}
	none := len(l.x.ids)
	least := 0.0
	var usual []*strangerText
	var byUsual [][]*candidate
	for i, s := range texts {
		if !s.near { // few of the texts that people bring are so near to a trap
			usual, byUsual = append(usual, s), append(byUsual, by[i])
		}
	}
	for told := 0.0; told < toldSo && least < 1; least += 0.005 {
		told = tell(usual, byUsual, none, least)[3]
	}
	for _, from := range []float64{0.4, 0.5, 0.6, 0.7, 0.8, 0.9, least} {
		p := tell(texts, by, none, from)
		t.Logf("from %.2f on: first %.1f %%, among three %.1f %%, wrong %.1f %%; told so %.1f %%", from, p[0], p[1], p[2], p[3])
	}
	w[0] += logit(Threshold) - logit(least)
	p := tell(usual, byUsual, none, least)
	t.Logf("without near ones, from %.2f on: told so %.1f %%", least, p[3])
	t.Logf("judge's weights: %.2f", w)
	return w
}

// toldSo is how many percent of the texts about something else are to match nothing.
const toldSo = 90

// likely is how many traps of each text are judged.
const likely = 5

func (s *strangerText) candidates(z []float64) []*candidate {
	none := len(z) - 1
	order := make([]int, none)
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(z[b], z[a]) })
	var out []*candidate
	for rank, k := range order[:likely] {
		next := z[order[0]]
		if rank == 0 {
			next = z[order[1]]
		}
		out = append(out, &candidate{class: k, x: weighed(z[k]-z[none], z[k]-next, s.lore[k], s.question), right: slices.Contains(s.right, k)})
	}
	return out
}

// fit is a logistic regression.
func fit(all []*candidate) (w [judgeSigns]float64) {
	var sum [judgeSigns]float64
	random := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		for _, i := range random.Perm(len(all)) {
			c := all[i]
			z := 0.0
			for j := range w {
				z += w[j] * c.x[j]
			}
			d := 1 / (1 + math.Exp(-z))
			if c.right {
				d--
			}
			for j := range w {
				g := d * c.x[j]
				sum[j] += g * g
				w[j] -= 0.2 * g / math.Sqrt(sum[j]+1e-6)
			}
		}
	}
	return w
}

// tell is how many percent of the texts have the right trap first, among three, and a
// wrong one first, when a trap is named from least on; and for how many about something
// else none is named.
func tell(texts []*strangerText, by [][]*candidate, none int, least float64) [4]float64 {
	var known, first, three, wrong, foreign, told float64
	for i, cs := range by {
		said := cs[0].p >= least
		if slices.Contains(texts[i].right, none) {
			foreign++
			if !said || cs[0].right {
				told++
			}
			continue
		}
		known++
		switch {
		case said && cs[0].right:
			first++
		case said:
			wrong++
		}
		if slices.ContainsFunc(cs[:min(3, len(cs))], func(c *candidate) bool { return c.right }) {
			three++
		}
	}
	return [4]float64{100 * first / known, 100 * three / known, 100 * wrong / known, 100 * told / foreign}
}

func logit(p float64) float64 {
	p = min(max(p, 1e-4), 1-1e-4)
	return math.Log(p / (1 - p))
}
