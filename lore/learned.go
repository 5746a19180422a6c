package lore

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// What words strangers use for each trap, and which of them speak of something else:
// the weights of a softmax regression over the texts to tune with and the lore, and those
// of judge. Written by TestLearned.
//
// First lines of text: "judge" with its weights; then each class, a trap or others, with
// its bias; then how many words there are. Behind the empty line: for each word its hash,
// in order, and where its weights end, 4 bytes each, little endian; then all weights, two
// bytes each: the class, and the weight in learnedUnits.
//
//go:embed learned.bin
var learnedFile string

const (
	others      = "none" // the class of all that fettle does not know
	learnedUnit = 16     // a weight of 1 in the file
)

// learned is what the file says. Words are looked up in it as it is: to unpack it would
// take longer than to search.
type learned struct {
	bias    []float64 // of each trap, and last of none
	known   []bool    // which traps it has
	class   []int     // of those in the file, the trap's number, or -1
	judge   [judgeSigns]float64
	count   int    // of words
	words   string // hashes and ends
	weights string
}

// learn reads the weights for the traps with these ids; one that the file doesn't have, a
// rule of the admin's, is found by its lore alone.
func learn(ids []string) *learned {
	l := &learned{bias: make([]float64, len(ids)+1), known: make([]bool, len(ids)+1)}
	number := make(map[string]int, len(ids)+1)
	for i, id := range ids {
		number[id] = i
	}
	number[others] = len(ids)
	head, data, _ := strings.Cut(learnedFile, "\n\n")
	for line := range strings.Lines(head) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "judge":
			for i, field := range strings.Fields(rest) {
				if i < judgeSigns {
					fmt.Sscan(field, &l.judge[i])
				}
			}
		case "words":
			fmt.Sscan(rest, &l.count)
		default:
			class, ok := number[name]
			if !ok {
				class = -1
			} else {
				l.known[class] = true
				fmt.Sscan(rest, &l.bias[class])
			}
			l.class = append(l.class, class)
		}
	}
	l.words, l.weights = data[:8*l.count], data[8*l.count:]
	return l
}

func hashWord(word string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(word))
	return h.Sum32()
}

func (l *learned) at(i int) uint32 { return binary.LittleEndian.Uint32([]byte(l.words[4*i : 4*i+4])) }

// of calls each for what a word says of each class, and tells whether it is known.
func (l *learned) of(word string, each func(class int, weight float64)) bool {
	h := hashWord(word)
	i := sort.Search(l.count, func(i int) bool { return l.at(2*i) >= h })
	if i == l.count || l.at(2*i) != h {
		return false
	}
	from := uint32(0)
	if i > 0 {
		from = l.at(2*i - 1)
	}
	for k := from; k < l.at(2*i+1); k++ {
		if class := l.class[l.weights[2*k]]; class >= 0 {
			each(class, float64(int8(l.weights[2*k+1]))/learnedUnit)
		}
	}
	return true
}

// said is the set of words and senses of some lines, and how they ask, as the weights
// have them.
func said(lines [][]string) map[string]bool {
	words := map[string]bool{}
	for _, tokens := range lines {
		bag(tokens, nil, func(t string) {
			if background(t) > 0 {
				words[t] = true
			}
		})
		for i, t := range tokens {
			for _, known := range []map[string][]concept{concepts(), senses()} {
				for _, c := range known[t] {
					if follows(c.rest, tokens[i+1:]) {
						words[c.name] = true
					}
				}
			}
		}
		if len(tokens) > 0 && (questions[tokens[0]] || tokens[0] == "wher" || tokens[0] == "why") {
			words[questionMark+tokens[0]] = true
		}
		if i := slices.Index(tokens, "how"); i >= 0 && i+1 < len(tokens) {
			words[questionMark+"how"] = true
		}
	}
	return words
}

// evenly makes long and short texts alike: what a text's words say counts by the root
// of their number.
func evenly(words int) float64 { return 1 / math.Sqrt(float64(words)+2) }

// weigh gives each class what the words say for it; nil when none of them is known.
func (l *learned) weigh(words map[string]bool) []float64 {
	z := make([]float64, len(l.bias))
	any := false
	for w := range words {
		any = l.of(w, func(class int, weight float64) { z[class] += weight }) || any
	}
	if !any {
		return nil
	}
	n := evenly(len(words))
	for i := range z {
		z[i] = l.bias[i] + z[i]*n
	}
	return z
}

// signs is all that speaks for one trap in a text.
type signs struct {
	value        float64 // of its words and symptoms, asks left out
	asked, near  float64 // the most that an ask said, and one that lacks a word
	whole        bool    // a symptom stands there as it is
	barred       bool    // an ask would be met, but for a word that must not be there
	onlyQuestion bool
}

// judgeSigns is how many weights judge has.
const judgeSigns = 8

// farAhead is where it says no more that a trap is ahead of the next likely one: that it
// is this one rather than another does not make it more than nothing known.
const farAhead = 2

// weighed is what judge weighs: how far the words speak for the trap rather than for
// nothing known, and rather than for the next likely trap, and what else speaks for it.
func (s *signs) weighed(overNone, overNext float64) [judgeSigns]float64 {
	x := [judgeSigns]float64{1, overNone, min(overNext, farAhead), 0, s.asked, s.near, logit(s.value + 0.01), 0}
	if s.asked > 0 {
		x[3] = 1
	}
	if s.onlyQuestion {
		x[7] = 1
	}
	return x
}

// judge is how likely the trap is, from 0 to 1, by a logistic regression. Its weights are
// fitted to the texts to tune with, each judged by words that were learned without it and
// without the asks that were written for it, and set off so that from Threshold on few of
// the texts about something else are taken for a trap.
func (s *signs) judge(weights *[judgeSigns]float64, overNone, overNext float64) float64 {
	z := 0.0
	for i, x := range s.weighed(overNone, overNext) {
		z += weights[i] * x
	}
	v := 1 / (1 + math.Exp(-z))
	if s.asked == 0 && s.barred {
		return min(v, askNearly)
	}
	return v
}

func logit(p float64) float64 {
	p = min(max(p, 1e-4), 1-1e-4)
	return math.Log(p / (1 - p))
}

// proseLimit is how many words a text may have that somebody wrote: more is the output
// of programs.
const proseLimit = 150

// isProse tells whether words come from somebody's description.
func isProse(words map[string]bool) bool {
	ascii := 0
	for w := range words {
		if w[0] < utf8.RuneSelf {
			ascii++
		}
	}
	return ascii > 0 && len(words) <= proseLimit
}

// add notes what a window says.
func (s *signs) add(w *score) {
	s.value = max(s.value, w.value)
	s.asked = max(s.asked, w.asked)
	s.near = max(s.near, -w.asked)
	s.whole = s.whole || w.whole || w.exact
	s.barred = s.barred || w.barred
}

// judge weighs a short text as a whole, by what was learned of strangers' words.
func (f *finder) judge(prose []window) {
	var lines [][]string
	var all []string
	w := window{}
	for _, p := range prose {
		lines = append(lines, p.tokens)
		all = append(all, p.tokens...)
		w.lines = append(w.lines, p.lines...)
	}
	words := said(lines)
	if f.x.learned == nil || !isProse(words) {
		return
	}
	z := f.x.learned.weigh(words)
	if z == nil {
		return
	}
	none := len(z) - 1
	first, next := math.Inf(-1), math.Inf(-1)
	for t, v := range z[:none] {
		switch {
		case !f.x.learned.known[t]:
		case v > first:
			first, next = v, first
		case v > next:
			next = v
		}
	}
	question := onlyAsks(all)
	for t := range f.best {
		if !f.x.learned.known[t] {
			continue
		}
		b := &f.best[t]
		b.signs.onlyQuestion = question
		rival := first
		if z[t] == first {
			rival = next
		}
		v := b.signs.judge(&f.x.learned.judge, z[t]-z[none], z[t]-rival)
		if b.signs.whole {
			v = max(v, b.value)
		}
		if b.value = v; v < Near {
			b.value = 0
		} else if b.lines == nil {
			b.lines = w.lines
		}
	}
}
