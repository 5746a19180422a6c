package why

// How what somebody wrote is scored. Each line, and each run of lines that follow each
// other, is a window. What speaks for a trap in a window:
//
//   - Words. Each word of the lore has a weight: nothing for stop words, a quarter
//     for words that are in every message, one for others, times how few traps have
//     it. BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework:
//     BM25 and Beyond", 2009) adds them up, those of the title, symptoms and tags
//     heavier than the body's. What they are of all that the window says, its share,
//     counts most.
//   - Symptoms. One that is there as it is, placeholders filled, is worth most.
//
// A short text as a whole is judged by what was learned of strangers' words (learned.go);
// of the above only a symptom that is there as it is may say more. For a trap that
// nothing was learned of, a new one or a rule of the admin's, a logistic function makes a
// value from 0 to 1 of each; the best window counts. A question that complains of nothing
// makes a trap near, no match.

import (
	"math"
	"slices"
)

// line is one of the paste. One of them, or some that follow each other, are a window.
type line struct {
	text   string // as pasted
	tokens []string
}

// score is what speaks for one trap in one window.
type score struct {
	bm25    float64 // information that the window shares with the lore
	share   float64 // of all the information in the window, 0 to 1
	cover   float64 // of the best symptom, how much of its information is here, 0 to 1
	info    float64 // the information of that part
	words   int     // how many words that symptom has
	whole   bool    // the symptom is there as it is, placeholders filled
	exact   bool    // and next to nothing beside it
	symptom string
}

// Weights of the score, set by hand on testdata/pastes/seen and judged on
// testdata/pastes/unseen.
const (
	wBM25   = 1.1
	wShare  = 2.0
	wCover  = 1.5
	wWhole  = 2.2
	offset  = 4.7
	perWord = 0.012 // a long window shares words by chance

	shortWords = 8
	// exactly is what a line that is a symptom and nothing else gets at least,
	// though its words are in everybody's mouth: one possibility of several.
	exactly = 0.4
	// beside is how many other words such a line may hold.
	beside = 1
)

// Threshold is the score from which a match is named. Below it fettle says that
// it knows nothing that matches.
const Threshold = 0.5

// Near is the score from which the nearest trap is worth naming although it is
// no match.
const Near = 0.01

// logistic puts a score between 0 and 1.
func (s *score) logistic(words int) float64 {
	// A few words are what somebody searches by: that all of them are known
	// tells more than in a long text.
	short := 1 + 1.4*math.Max(0, float64(shortWords-words))/shortWords
	z := wBM25*s.bm25 + wShare*s.share*short + wCover*s.cover*s.cover*math.Min(s.info, 3) - offset - perWord*float64(words)
	switch {
	case s.whole:
		z += wWhole * math.Min(s.info, 2)
	case s.cover > 0.99 && s.words >= 3: // all of its words, in another order
		z += wWhole / 2 * math.Min(s.info, 2)
	}
	if s.exact {
		z = max(z, exactly)
	}
	return 1 / (1 + math.Exp(-z))
}

// scratch is reused from window to window.
type scratch struct {
	traps    []score
	touched  []int
	seen     map[string]bool
	cover    []float64 // of each symptom, the information met
	count    []int     // and the words
	symptoms []int
}

func (x *Index) newScratch() *scratch {
	return &scratch{
		traps: make([]score, len(x.ids)),
		seen:  map[string]bool{},
		cover: make([]float64, len(x.symptoms)),
		count: make([]int, len(x.symptoms)),
	}
}

// score calls each for every trap that shares anything with the tokens of a window.
func (x *Index) score(tokens []string, sc *scratch, each func(trap int, s *score, value float64)) {
	sc.touched, sc.symptoms = sc.touched[:0], sc.symptoms[:0]
	clear(sc.seen)
	var all float64
	words := 0
	bag(tokens, x.known, func(t string) {
		if sc.seen[t] {
			return
		}
		sc.seen[t] = true
		bg := background(t)
		if bg == 0 {
			return
		}
		words++
		all += bg
		known := x.words[t]
		if known == nil {
			return
		}
		for _, p := range known.postings {
			s := &sc.traps[p.trap]
			if s.bm25 == 0 {
				sc.touched = append(sc.touched, p.trap)
			}
			s.bm25 += known.weight * p.score
		}
		for _, i := range known.symptoms {
			if sc.count[i] == 0 {
				sc.symptoms = append(sc.symptoms, i)
			}
			sc.cover[i] += known.weight
			sc.count[i]++
		}
	})
	for _, i := range sc.symptoms {
		sym, got, count := x.symptoms[i], sc.cover[i], sc.count[i]
		sc.cover[i], sc.count[i] = 0, 0
		s := &sc.traps[sym.trap]
		if count == sym.words && len(tokens) <= len(sym.seq)+beside && sym.matches(tokens) {
			s.exact, s.symptom = true, sym.text
		}
		if sym.info < 0.5 {
			continue
		}
		// Half by information and half by number: two rare words of a sentence
		// are not that sentence.
		c := score{cover: (got/sym.info + float64(count)/float64(sym.words)) / 2, info: got, words: sym.words, symptom: sym.text}
		c.whole = c.cover > 0.99 && sym.matches(tokens)
		if len(sym.trouble) > 0 && !c.whole && !slices.ContainsFunc(sym.trouble, func(t string) bool { return sc.seen[t] }) {
			c.cover = 0 // all but what was wrong
		}
		if sym.message && !c.whole { // another message, that much more the less they share
			if c.cover < 0.9 {
				c.cover = 0
			}
			c.cover *= 0.8
		}
		if c.whole && !s.whole || c.whole == s.whole && c.cover*c.info > s.cover*s.info {
			s.cover, s.info, s.words, s.whole, s.symptom = c.cover, c.info, c.words, c.whole, c.symptom
		}
	}
	asks := onlyAsks(tokens)
	for _, t := range sc.touched {
		s := &sc.traps[t]
		s.share = s.bm25 / math.Max(all, 1)
		v := s.logistic(words)
		if asks && !s.whole && !s.exact {
			v = min(v, Threshold-0.05)
		}
		each(t, s, v)
		*s = score{}
	}
}
