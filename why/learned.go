package why

import (
	_ "embed"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What strangers say of each trap, and of something else: the weights of networks with
// one hidden layer, side by side as one, over the words of a text, learned from the texts to tune with and the
// lore, and those of judge. A layer between words and traps, because what excludes a trap
// is said by words together: of "/boot" and "full" with "not" none speaks for itself.
// Written by TestLearned.
//
// First lines of text: "judge" with its weights; "hidden" with each unit's bias; each
// class, a trap or others, with its bias and how much 1 is worth in it; last how many words
// there are, and how much 1 is worth in their steps. Behind the empty line, for each class a
// byte for each unit; then for each word, in order of hashes, its hash in 4 bytes, little
// endian, how large its steps are, and half a byte for each unit, the lower first: how many
// steps, and 8.
//
//go:embed learned.bin
var learnedFile string

const others = "none" // the class of all that fettle does not know

// learned is what the file says. Words are looked up in it as it is: to unpack it would
// take longer than to search.
type learned struct {
	judge  [judgeSigns]float64
	hidden []float64 // bias of each unit
	class  []class
	known  []bool // which traps it has, and last none
	count  int    // of words
	step   float64
	words  string
}

type class struct {
	trap    int // its number; none's is the number of traps; -1 when it isn't there
	bias    float64
	worth   float64
	weights string // of each unit
}

// learn reads the weights for the traps with these ids; one that the file doesn't have, a
// rule of the admin's, is found by its lore alone.
func learn(ids []string) *learned {
	l := &learned{known: make([]bool, len(ids)+1)}
	number := make(map[string]int, len(ids)+1)
	for i, id := range ids {
		number[id] = i
	}
	number[others] = len(ids)
	head, data, _ := strings.Cut(learnedFile, "\n\n")
	for line := range strings.Lines(head) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		values := numbers(rest)
		switch name {
		case "judge":
			copy(l.judge[:], values)
		case "hidden":
			l.hidden = values
		case "words":
			l.count, l.step = int(values[0]), values[1]
		default:
			c := class{trap: -1, bias: values[0], worth: values[1]}
			if trap, ok := number[name]; ok {
				c.trap, l.known[trap] = trap, true
			}
			l.class = append(l.class, c)
		}
	}
	for i := range l.class {
		l.class[i].weights, data = data[:len(l.hidden)], data[len(l.hidden):]
	}
	l.words = data
	return l
}

func numbers(fields string) []float64 {
	var out []float64
	for field := range strings.FieldsSeq(fields) {
		v, _ := strconv.ParseFloat(field, 64)
		out = append(out, v)
	}
	return out
}

func hashWord(word string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(word))
	return h.Sum32()
}

// entryHead is how many bytes of a word's entry come before its weights.
const entryHead = 5

// entry is what the file has of word i, and its hash.
func (l *learned) entry(i int) (hash uint32, entry string) {
	size := entryHead + len(l.hidden)/2
	entry = l.words[i*size : (i+1)*size]
	return binary.LittleEndian.Uint32([]byte(entry[:4])), entry
}

// add adds what a word says to each hidden unit, and reports whether it is known: whether
// texts to learn from had it.
func (l *learned) add(word string, units []float64) bool {
	h := hashWord(word)
	i := sort.Search(l.count, func(i int) bool { at, _ := l.entry(i); return at >= h })
	if i == l.count {
		return false
	}
	at, entry := l.entry(i)
	if at != h {
		return false
	}
	step := float64(entry[entryHead-1]) * l.step
	for j, two := range []byte(entry[entryHead:]) {
		units[2*j] += step * float64(int(two&0xf)-8)
		units[2*j+1] += step * float64(int(two>>4)-8)
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

// leak is what a hidden unit lets through of what speaks against it.
const leak = 0.05

// weigh gives each trap, and last none, what the words say for it; nil when none of them
// is known.
func (l *learned) weigh(words map[string]bool) []float64 {
	units, n := make([]float64, len(l.hidden)), 0
	for w := range words {
		if l.add(w, units) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	even := evenly(n)
	for j, u := range units {
		if u = l.hidden[j] + u*even; u < 0 {
			u *= leak
		}
		units[j] = u
	}
	z := make([]float64, len(l.known))
	for _, c := range l.class {
		if c.trap < 0 {
			continue
		}
		v := 0.0
		for j, u := range units {
			v += u * float64(int8(c.weights[j]))
		}
		z[c.trap] = c.bias + v*c.worth
	}
	return z
}

// judgeSigns is how many weights judge has.
const judgeSigns = 5

// farAhead is where it says no more that a trap is ahead of the next likely one: that it
// is this one rather than another does not make it more than nothing known.
const farAhead = 2

// Of what the lore's own words say, nothing at all counts as leastSaid, and all from mostSaid on alike: that they
// are there does not make a match.
const (
	leastSaid = 0.01
	mostSaid  = 0.5
)

// weighed is what judge weighs: how far the words speak for the trap rather than for
// nothing known, and rather than for the next likely trap, what its lore's own words say for
// it (score.go), from 0 to 1, and whether the text only asks.
func weighed(overNone, overNext, lore float64, question bool) [judgeSigns]float64 {
	lore = min(max(lore, leastSaid), mostSaid)
	x := [judgeSigns]float64{1, overNone, min(overNext, farAhead), math.Log(lore / (1 - lore))}
	if question {
		x[4] = 1
	}
	return x
}

// judge is how likely a trap is, from 0 to 1, by a logistic regression. Its weights are
// fitted to the texts to tune with, each judged by words that were learned without it,
// and set off so that from Threshold on few of the texts about something else are taken
// for a trap.
func judge(weights, x *[judgeSigns]float64) float64 {
	z := 0.0
	for i, v := range x {
		z += weights[i] * v
	}
	return 1 / (1 + math.Exp(-z))
}

// proseLimit is how many words a text may have that somebody wrote: more is the output
// of programs.
const proseLimit = 150

// isProse reports whether words come from somebody's description.
func isProse(words map[string]bool) bool {
	ascii := 0
	for w := range words {
		if w[0] < utf8.RuneSelf {
			ascii++
		}
	}
	return ascii > 0 && len(words) <= proseLimit
}

// judge weighs a short text as a whole, by what was learned of strangers' words. Only a
// symptom that is there as it is may say more.
func (f *finder) judge(prose []line, spoken bool) {
	var lines [][]string
	var all []string
	for _, l := range prose {
		lines = append(lines, l.tokens)
		all = append(all, l.tokens...)
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
		rival := first
		if z[t] == first {
			rival = next
		}
		x := weighed(z[t]-z[none], z[t]-rival, b.lore, question)
		v := judge(&f.x.learned.judge, &x)
		// Somebody tells what happened: that says which of its causes a message has.
		if b.whole || b.weight > 0 && !spoken {
			v = max(v, b.value)
		}
		if b.value = v; v < Near {
			b.value = 0
		} else if b.lines == nil {
			b.lines = f.x.telling(t, prose)
		}
	}
}
