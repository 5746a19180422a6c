package counters

// crowded: in more than one of ten intervals the counter needs more than half
// of its range. Where no wrap has shown the width, 32 bits are taken if the
// readings leave them. What near needs is kept.
func (j *judge) crowded() bool {
	w := j.width.Bits
	if w == 0 && j.least <= 32 && j.facts.width() >= 32 {
		w = 32
	}
	j.over = make([]int, len(j.pairs)+1)
	if w == 0 || w > 48 {
		return false
	}
	n := 0
	for k, p := range j.pairs {
		j.over[k+1] = j.over[k]
		if _, anew := p.anew(); anew {
			continue
		}
		n++
		if j.facts.moved(p.a.V, p.b.V, w) > mask(w)/2 {
			j.over[k+1]++
		}
	}
	return j.over[len(j.pairs)]*10 > n
}

// calmWidth infers the width from the quiet hours of a series that is crowded
// at others; without such it is a guess.
func (j *judge) calmWidth(w Width) Width {
	calm := &judge{facts: j.facts, least: j.least}
	for k, p := range j.pairs {
		if !j.near(k) {
			calm.pairs = append(calm.pairs, p)
		}
	}
	if c := calm.infer(); c.Wraps >= 3 {
		c.Summed = w.Summed
		return c
	}
	w.Confidence = min(w.Confidence, 0.5)
	return w
}

// around is how many intervals on each side tell what is usual.
const around = 10

// near tells whether more than one of ten intervals around this one need more
// than half of the counter's range: then one or more whole turns may be
// hidden in it too.
func (j *judge) near(k int) bool {
	from, to := max(0, k-around), min(len(j.pairs), k+around+1)
	return (j.over[to]-j.over[from])*10 > to-from
}
