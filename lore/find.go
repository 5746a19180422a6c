package lore

import (
	"bufio"
	"errors"
	"hash/maphash"
	"io"
	"math"
	"sort"
	"strings"
	"unicode/utf8"
)

// Match is one trap that a paste speaks of.
type Match struct {
	Trap  string  `json:"trap"`
	Score float64 `json:"score"` // 0 to 1; a match from Threshold on
	// Lines are those of the paste that say so, as pasted: they may hold
	// anything, also escape sequences.
	Lines []string `json:"lines"`
	// Symptom is the line of the lore that fits best; empty when none does.
	Symptom string `json:"symptom,omitempty"`
}

const (
	// lineLimit is where a line is cut in two, in bytes.
	lineLimit = 4096
	// shortLine is what is too short to be text behind binary data, in bytes.
	shortLine = 24
	// proseLines is how long a paste may be for its lines to be read together.
	// In a log, which is longer, each line stands for itself: two that follow
	// each other have nothing to do with each other.
	proseLines = 120
	// windowTokens is how much text is read together.
	windowTokens = 70
)

// Find ranks the traps that a paste or log speaks of, the likeliest first;
// none when nothing reaches Threshold. It reads to the end, however long, and
// remembers as much as a few lines, words and hashes take.
func (x *Index) Find(r io.Reader) ([]Match, error) {
	all, err := x.Rank(r)
	matches, _ := Told(all)
	return matches, err
}

// Told splits a ranking into what matches, and the nearest when nothing does
// and it is near enough to be worth naming.
func Told(ranked []Match) (matches []Match, near *Match) {
	n := sort.Search(len(ranked), func(i int) bool { return ranked[i].Score < Threshold })
	if n == 0 && len(ranked) > 0 && ranked[0].Score >= Near {
		near = &ranked[0]
	}
	return ranked[:n], near
}

// Rank is Find without the threshold.
func (x *Index) Rank(r io.Reader) ([]Match, error) {
	f := &finder{x: x, tk: tokenizer{}, sc: x.newScratch(), best: make([]best, len(x.ids)), seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
	err := eachLine(r, f.line)
	f.prose()
	var out []Match
	for i, b := range f.best {
		if b.value > 0 {
			m := Match{Trap: x.ids[i], Score: math.Round(b.value*1000) / 1000, Lines: x.telling(i, b.lines)}
			if b.score.whole || b.score.cover >= 0.6 {
				m.Symptom = b.score.symptom
			}
			out = append(out, m)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Score > out[j].Score })
	return out, err
}

type best struct {
	value float64
	score score
	lines []string
}

type finder struct {
	x    *Index
	tk   tokenizer
	sc   *scratch
	best []best
	head []window // the first lines, kept while the paste may be prose
	n    int
	seen map[uint64]bool // lines of a log repeat: each is weighed once
	seed maphash.Seed
}

// seenLimit bounds the memory of lines seen.
const seenLimit = 1 << 17

func (f *finder) line(text string) {
	w := window{lines: []string{text}, tokens: f.tk.tokens(text)}
	f.n++
	if f.n <= proseLines {
		f.head = append(f.head, w)
	}
	if len(w.tokens) == 0 {
		return
	}
	var h maphash.Hash
	h.SetSeed(f.seed)
	for _, t := range w.tokens {
		h.WriteString(t)
		h.WriteByte(0)
	}
	if k := h.Sum64(); f.seen[k] {
		return
	} else if len(f.seen) < seenLimit {
		f.seen[k] = true
	}
	f.weigh(&w)
}

// prose weighs the lines of a short paste together.
func (f *finder) prose() {
	if f.n > proseLines {
		return
	}
	for i := range f.head {
		w := window{lines: f.head[i].lines, tokens: f.head[i].tokens}
		for _, next := range f.head[i+1:] {
			if len(w.tokens)+len(next.tokens) > windowTokens {
				break
			}
			w.lines = append(w.lines[:len(w.lines):len(w.lines)], next.lines...)
			w.tokens = append(w.tokens[:len(w.tokens):len(w.tokens)], next.tokens...)
			if len(next.tokens) > 0 {
				f.weigh(&w)
			}
		}
	}
}

func (f *finder) weigh(w *window) {
	f.x.score(w, f.sc, func(t int, s *score, v float64) {
		if v > f.best[t].value {
			f.best[t] = best{v, *s, w.lines}
		}
	})
}

// telling picks the lines of a window that say most, at most four, in order.
func (x *Index) telling(tr int, lines []string) []string {
	type said struct {
		i int
		v float64
	}
	var all []said
	for i, l := range lines {
		v := 0.0
		bag(tokens(l), x.known, func(t string) {
			if w := x.words[t]; w != nil {
				for _, p := range w.postings {
					if p.trap == tr {
						v += w.weight * p.score
					}
				}
			}
		})
		if v > 0 {
			all = append(all, said{i, v})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].v > all[j].v })
	all = all[:min(len(all), 4)]
	sort.Slice(all, func(i, j int) bool { return all[i].i < all[j].i })
	var out []string
	for _, s := range all {
		out = append(out, strings.TrimSpace(lines[s.i]))
	}
	return out
}

// eachLine reads lines of any length, cut at lineLimit. Binary data is left
// out, and short lines behind it with it: random bytes make words now and then.
func eachLine(r io.Reader, do func(string)) error {
	br := bufio.NewReaderSize(r, lineLimit)
	binary := false
	for {
		line, err := br.ReadSlice('\n')
		if short := len(line) < shortLine; !short || !binary {
			binary = !isText(line)
			if len(line) > 0 && !binary {
				do(strings.TrimRight(string(line), "\r\n"))
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// isText tells lines from pieces of binary data, by control characters that no
// log has and by what is not UTF-8. Escape sequences are text, and so are other
// encodings while most of a line is ASCII.
func isText(line []byte) bool {
	controls, foreign := 0, 0
	for i := 0; i < len(line); {
		c, size := line[i], 1
		switch {
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRune(line[i:]); r == utf8.RuneError && size == 1 {
				foreign++
			}
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != 0x1b:
			controls++
		}
		i += size
	}
	return controls <= len(line)/16 && foreign <= len(line)/4 && (controls == 0 || foreign == 0)
}
