package why

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"fettle/engine/message"
)

// Match is one trap that a paste speaks of.
type Match struct {
	Trap  string  `json:"trap"`
	Score float64 `json:"score"` // 0 to 1; a match from Threshold on
	// Lines are those of the paste that say so, as pasted: they may hold
	// anything, also escape sequences.
	Lines []string `json:"lines"`
	// Symptom is the message or the line of the lore that fits best; empty when none does.
	Symptom string `json:"symptom,omitempty"`
	// Hosts are those whose logs the lines are from, as far as they tell.
	Hosts []string `json:"hosts,omitempty"`
}

// Scores of messages: what only the trap's victims print, and what others print, too.
const (
	sureScore    = 0.99
	perhapsScore = 0.6
)

// shownLines is how many lines are kept of each trap.
const shownLines = 4

// Find ranks the traps that a paste or log speaks of, the likeliest first;
// none when nothing reaches Threshold. It reads to the end, however long, and
// remembers a few lines.
func (x *Index) Find(r io.Reader) ([]Match, error) {
	all, err := x.Rank(r)
	matches, _ := Told(all)
	return matches, err
}

// Certain is the score from which other possibilities aren't worth a line.
const Certain = 0.9

// possibilities is how many traps are named when none is certain.
const possibilities = 3

// Told splits a ranking into what matches, and what is near when nothing does: all
// that is certain, or the likeliest three, or the nearest three worth naming.
func Told(ranked []Match) (matches, near []Match) {
	from := func(score float64) int {
		return sort.Search(len(ranked), func(i int) bool { return ranked[i].Score < score })
	}
	switch certain, told := from(Certain), from(Threshold); {
	case certain > 0:
		return ranked[:max(certain, min(told, possibilities))], nil
	case told > 0:
		return ranked[:min(told, possibilities)], nil
	}
	return nil, ranked[:min(from(Near), possibilities)]
}

// Rank is Find without the threshold. Messages are looked for line by line, and a line's
// verdict depends on nothing else; what somebody wrote is read as a whole, where no line
// is a message that only one trap's victims print.
func (x *Index) Rank(r io.Reader) ([]Match, error) { return x.RankBeside(r, io.Discard) }

// RankBeside is Rank for a text that something else reads along until a message names a trap:
// what it looks for is then not asked for.
func (x *Index) RankBeside(r io.Reader, other io.Writer) ([]Match, error) {
	f := x.newFinder()
	r = tee{r, other, f}
	head := make([]byte, proseBytes+1)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !whole {
		return nil, err
	}
	all := io.MultiReader(bytes.NewReader(head), r)
	if whole { // a terminal would wait for a second end
		all = bytes.NewReader(head)
	}
	if err := x.messages.Read(all, f.said); err != nil {
		return nil, err
	}
	if whole && !f.sure {
		f.prose(string(head))
	}
	return f.matches(), nil
}

func (x *Index) newFinder() *finder {
	return &finder{
		x: x, tk: tokenizer{}, sc: x.newScratch(), best: make([]best, len(x.ids)),
		covered: map[string]bool{}, heard: map[string]bool{},
	}
}

// tee writes what is read until the finder has named a trap.
type tee struct {
	r io.Reader
	w io.Writer
	f *finder
}

func (t tee) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if !t.f.named {
		_, _ = t.w.Write(p[:n])
	}
	return n, err
}

type finder struct {
	x       *Index
	tk      tokenizer
	sc      *scratch
	best    []best
	named   bool            // a message names a trap
	sure    bool            // a message says which trap it is
	covered map[string]bool // lines that are a message and nothing else
	heard   map[string]bool // lines that hold one
}

// said notes what the messages of one line say.
func (f *finder) said(l *message.Line, hits []message.Hit) {
	if len(f.heard) < proseLines {
		f.heard[l.Raw] = true
	}
	harmless := map[int]bool{}
	for _, h := range hits {
		if f.x.messages.Message(h.Index).Harmless {
			harmless[f.x.owner[h.Index]] = true
		}
	}
	for _, h := range hits {
		t, m := f.x.owner[h.Index], f.x.messages.Message(h.Index)
		if (h.Whole || m.Harmless) && len(f.covered) < proseLines {
			f.covered[l.Raw] = true
		}
		if harmless[t] {
			continue
		}
		f.named = true
		f.best[t].message(&m, f.x.messages.Weight(h.Index), l)
		f.sure = f.sure || !m.Perhaps
	}
}

type best struct {
	value   float64
	lore    float64 // what its lore's words say alone
	weight  int     // of the message: how much it says
	symptom string
	lines   []string
	from    []line // the window of whose lines those that say most are still to be picked
	hosts   []string
	whole   bool // a symptom stood there as it is
}

func (b *best) message(m *message.Message, weight int, l *message.Line) {
	v := sureScore
	if m.Perhaps {
		v = perhapsScore
	}
	if v > b.value || v == b.value && weight > b.weight {
		b.value, b.weight, b.symptom = v, weight, m.Text
	}
	if len(b.lines) < shownLines && !slices.Contains(b.lines, l.Raw) {
		b.lines = append(b.lines, l.Raw)
	}
	if l.Host != "" && len(b.hosts) < shownLines && !slices.Contains(b.hosts, l.Host) {
		b.hosts = append(b.hosts, l.Host)
	}
}

func (f *finder) matches() []Match {
	var out []Match
	weight := map[string]int{}
	for i, b := range f.best {
		if b.value > 0 {
			weight[f.x.ids[i]] = b.weight
			out = append(out, Match{Trap: f.x.ids[i], Score: math.Round(b.value*1000) / 1000, Lines: b.lines, Symptom: b.symptom, Hosts: b.hosts})
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Score != out[j].Score {
			return out[i].Score > out[j].Score
		}
		return weight[out[i].Trap] > weight[out[j].Trap]
	})
	return out
}

// prose weighs what somebody wrote.
func (f *finder) prose(text string) {
	w := read(text)
	if !slices.ContainsFunc(w.lines, func(line string) bool { return !f.covered[line] }) {
		return
	}
	prose := f.windows(w.lines)
	f.judge(prose, slices.ContainsFunc(w.lines, func(line string) bool { return !f.heard[line] && isSentence(line) }))
	f.later(prose)
	f.neighbours(w.lines)
	f.asked(prose)
}

// windows weighs each line, and each run of lines. A message is a word in a sentence about it.
func (f *finder) windows(texts []string) []line {
	var prose []line
	for _, text := range texts {
		prose = append(prose, line{text, f.tk.tokens(text)})
	}
	for i := range prose {
		tokens := prose[i].tokens
		if len(tokens) > 0 {
			f.weigh(tokens, prose[i:i+1])
		}
		for j := i + 1; j < len(prose) && len(tokens)+len(prose[j].tokens) <= windowTokens; j++ {
			tokens = append(tokens[:len(tokens):len(tokens)], prose[j].tokens...)
			if len(prose[j].tokens) > 0 {
				f.weigh(tokens, prose[i:j+1])
			}
		}
	}
	for t := range f.best {
		if b := &f.best[t]; b.from != nil {
			b.lines, b.from = f.x.telling(t, b.from), nil
		}
	}
	return prose
}

// later drops the traps that bite at the next start, where nobody speaks of one, unless
// their symptom is there as it is, or it was learned how people speak of them.
func (f *finder) later(prose []line) {
	for _, l := range prose {
		if slices.ContainsFunc(l.tokens, func(t string) bool { return isA(t, "@boot") }) {
			return
		}
	}
	for t, later := range f.x.later {
		if b := &f.best[t]; later && !f.x.learned.known[t] && b.weight == 0 && !b.whole {
			*b = best{}
		}
	}
}

// neighbours drops the traps of whose messages a line has the words, but not what they
// speak of, where none of their messages is there.
func (f *finder) neighbours(lines []string) {
	for _, line := range lines {
		l := message.ParseLine(line)
		for _, i := range f.x.messages.Missed(&l) {
			if b := &f.best[f.x.owner[i]]; b.weight == 0 {
				*b = best{}
			}
		}
	}
}

// windowTokens is how much text is read together.
const windowTokens = 70

func (f *finder) weigh(tokens []string, of []line) {
	f.x.score(tokens, f.sc, func(t int, s *score, v float64) {
		b := &f.best[t]
		b.whole, b.lore = b.whole || s.whole || s.exact, max(b.lore, v)
		if v <= b.value {
			return
		}
		b.value, b.from, b.symptom = v, of, ""
		if s.whole || s.cover >= 0.6 {
			b.symptom = s.symptom
		}
	})
}

// complains reports whether a line says that something is wrong.
func complains(tokens []string) bool {
	return slices.ContainsFunc(tokens, func(t string) bool { return trouble()[t] })
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// telling picks the lines of a window that say most, at most four, in order.
func (x *Index) telling(tr int, window []line) []string {
	type said struct {
		i int
		v float64
	}
	var all []said
	for i, l := range window {
		v := 0.0
		bag(l.tokens, x.known, func(t string) {
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
		out = append(out, strings.TrimSpace(window[s.i].text))
	}
	return out
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
