package lore

import (
	"embed"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What words strangers use for each trap, and which of them speak of something else:
// the weights of a softmax regression over the texts to tune with and the lore, a file
// for each trap and one for everything else. Written by TestLearned.
//
//go:embed learned
var learnedFiles embed.FS

const (
	learnedFolder = "learned/"
	others        = "none" // the class of all that fettle does not know
	biasWord      = "1"
	learnedUnit   = 20 // a weight of 1 in a file
)

// learned is what the files say, by word.
type learned struct {
	bias  []float64 // of each trap, and last of none
	words map[string][]classWeight
	known []bool // which traps have a file
}

type classWeight struct {
	class  int
	weight float64
}

// learn reads the weights of the traps with these ids; one without a file, a rule of
// the admin's, is found by its lore alone.
func learn(ids []string) *learned {
	l := &learned{bias: make([]float64, len(ids)+1), words: make(map[string][]classWeight, 6000), known: make([]bool, len(ids)+1)}
	for class, id := range append(ids[:len(ids):len(ids)], others) {
		data, err := learnedFiles.ReadFile(learnedFolder + id + ".txt")
		if err != nil {
			continue
		}
		l.known[class] = true
		for text := string(data); text != ""; {
			var line string
			line, text, _ = strings.Cut(text, "\n")
			word, n, _ := strings.Cut(line, " ")
			w, _ := strconv.Atoi(n)
			if weight := float64(w) / learnedUnit; word == biasWord {
				l.bias[class] = weight
			} else {
				l.words[word] = append(l.words[word], classWeight{class, weight})
			}
		}
	}
	return l
}

// said is the set of words and concepts of some lines, as the weights have them.
func said(lines [][]string) map[string]bool {
	words := map[string]bool{}
	for _, tokens := range lines {
		bag(tokens, nil, func(t string) {
			if background(t) > 0 {
				words[t] = true
			}
		})
		for i, t := range tokens {
			for _, c := range concepts()[t] {
				if follows(c.rest, tokens[i+1:]) {
					words[c.name] = true
				}
			}
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
		for _, c := range l.words[w] {
			z[c.class] += c.weight
			any = true
		}
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

// judge is how likely the trap is, from 0 to 1: a logistic regression over the signs,
// and over how far the words speak for it rather than for nothing known, and rather
// than for the next likely trap.
func (s signs) judge(overNone, overNext float64) float64 {
	z := judgeOffset + judgeNone*overNone + judgeNext*overNext + judgeAsked*s.asked + judgeNear*s.near + judgeValue*logit(s.value+0.01)
	if s.asked > 0 {
		z += judgeAny
	}
	if s.onlyQuestion {
		z += judgeQuestion
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

// Fitted by TestLearned to the texts to tune with, each judged by weights that were
// learned without it and without the asks that were written for it; judgeOffset so that
// one of twenty texts about something else is taken for a trap.
const (
	judgeOffset   = -2
	judgeNone     = 0.28
	judgeNext     = 0.93
	judgeAny      = 2.51
	judgeAsked    = 0.5
	judgeNear     = 0.99
	judgeValue    = 0.4
	judgeQuestion = -1.87
)

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
		v := b.signs.judge(z[t]-z[none], z[t]-rival)
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
