package why

import (
	"bufio"
	"errors"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
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
	// chosenLines is how many lines of a log somebody picks by hand.
	chosenLines = 5
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

// Rank is Find without the threshold.
func (x *Index) Rank(r io.Reader) ([]Match, error) {
	f := x.newFinder()
	err := eachLine(r, f.line)
	f.end()
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

func (x *Index) newFinder() *finder {
	return &finder{
		x:    x,
		tk:   tokenizer{},
		sc:   x.newScratch(),
		best: make([]best, len(x.ids)),
		seen: map[uint64]bool{},
		seed: maphash.MakeSeed(),
	}
}

type best struct {
	value float64
	score score
	lines []string
	whole bool // a symptom stood there as it is
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
	switch {
	case f.n <= proseLines: // log or not, that shows at the end
		f.head = append(f.head, w)
	default:
		for i := range f.head {
			f.weighOnce(&f.head[i])
		}
		f.head = nil
		f.weighOnce(&w)
	}
}

// weighOnce weighs a line of a log.
func (f *finder) weighOnce(w *window) {
	if len(w.tokens) == 0 || informs(w.lines[0]) {
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
	f.weigh(w, true)
}

// informs tells whether a program itself says of a line that nothing is wrong, as
// containerd does of each plugin whose kernel module the host lacks: level=info.
func informs(line string) bool {
	for _, key := range []string{"level", "lvl", "severity"} {
		_, value, ok := strings.Cut(line, key)
		if !ok {
			continue
		}
		value = strings.ToLower(strings.TrimLeft(value[:min(len(value), 16)], `"'=: `))
		for _, calm := range []string{"info", "debug", "trace"} {
			if strings.HasPrefix(value, calm) {
				return true
			}
		}
	}
	return false
}

// end weighs the lines of a short paste: those of a log each for itself, the
// others also together.
func (f *finder) end() {
	if f.n > proseLines {
		return
	}
	var prose []window
	for i := range f.head {
		if w := &f.head[i]; isLog(w.lines[0]) && (f.n > chosenLines || !complains(w.tokens)) {
			f.weighOnce(w)
		} else {
			prose = append(prose, *w)
		}
	}
	for i := range prose {
		w := window{lines: prose[i].lines, tokens: prose[i].tokens}
		if len(w.tokens) > 0 {
			f.weigh(&w, false)
		}
		for _, next := range prose[i+1:] {
			if len(w.tokens)+len(next.tokens) > windowTokens {
				break
			}
			w.lines = append(w.lines[:len(w.lines):len(w.lines)], next.lines...)
			w.tokens = append(w.tokens[:len(w.tokens):len(w.tokens)], next.tokens...)
			if len(next.tokens) > 0 {
				f.weigh(&w, false)
			}
		}
	}
	f.judge(prose)
	f.ruleOut()
}

// ruleOut drops the traps that something anywhere in a short paste rules out: a
// version, mostly.
func (f *finder) ruleOut() {
	var all window
	for _, w := range f.head {
		all.lines = append(all.lines, w.lines...)
		all.tokens = append(all.tokens, w.tokens...)
	}
	f.sc.piece.lines, f.sc.piece.text = all.lines, ""
	f.sc.piece.set(all.tokens)
	for t := range f.best {
		if f.best[t].value > 0 && f.x.ruledOut(t, &f.sc.piece) {
			f.best[t] = best{}
		}
	}
}

func (f *finder) weigh(w *window, log bool) {
	f.x.score(w, f.sc, log, func(t int, s *score, v float64) {
		b := &f.best[t]
		b.whole = b.whole || s.whole || s.exact
		if v > b.value && !(log && f.ruledOutIn(t, w)) {
			b.value, b.score, b.lines = v, *s, w.lines
		}
	})
}

func (f *finder) ruledOutIn(t int, w *window) bool {
	f.sc.piece.lines, f.sc.piece.text = w.lines, ""
	f.sc.piece.set(w.tokens)
	return f.x.ruledOut(t, &f.sc.piece)
}

// isLog tells a line of a log from what somebody wrote: it begins with a time as
// syslog, the kernel or a program write it, or with the name of one that speaks.
func isLog(line string) bool {
	line = strings.TrimLeft(line, " [")
	if line == "" {
		return false
	}
	if _, after, ok := strings.Cut(line, "T"); ok && len(line) > 19 && line[4] == '-' && len(after) > 8 && after[2] == ':' {
		line = line[:10] + " " + line[11:]
	}
	for _, layout := range []string{time.DateTime, time.Stamp} {
		if len(line) > len(layout) {
			if _, err := time.Parse(layout, line[:len(layout)]); err == nil {
				return true
			}
		}
	}
	first, rest, _ := strings.Cut(line, " ")
	if name, digits, ok := strings.Cut(strings.TrimSuffix(first, ":"), "["); ok && name != "" && strings.HasSuffix(first, "]:") &&
		allDigits(strings.TrimSuffix(digits, "]")) {
		return rest != "" // systemd[1]:
	}
	stamp, _, closed := strings.Cut(first, "]") // a kernel with PRINTK_CALLER goes on with "[", without a space
	seconds, fraction, ok := strings.Cut(stamp, ".")
	if name, ok := strings.CutSuffix(first, ":"); ok && strings.ContainsRune(name, '-') && !strings.ContainsAny(name, "/:") {
		return true // update-initramfs:
	}
	return first == "kernel:" || closed && ok && allDigits(seconds) && allDigits(fraction)
}

// complains tells whether a line says that something is wrong.
func complains(tokens []string) bool {
	return slices.ContainsFunc(tokens, func(t string) bool { return trouble()[t] })
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

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
