package lore

import (
	"math"
	"strings"
)

// ask is one line of an article's asked: words that must all be in a text, each
// in one of several forms. A line of words to be absent alone rules the trap out.
type ask struct {
	trap  int
	slots [][]form
	not   []form
}

// form is one way to say it: words that follow each other, or, where it begins
// with a digit, an address, number or version as it is written.
type form struct {
	seq     []string
	literal string
}

// maxSlots is how many words a line of asked may have: a bit mask holds them.
const maxSlots = 16

// askLength is how much text one line of asked is sought in, in tokens: its words
// are to speak of one thing.
const askLength = 48

// newAsk reads one line of asked.
func newAsk(tk tokenizer, line string) *ask {
	a := &ask{}
	for _, field := range strings.Fields(line) {
		negative := len(field) > 1 && field[0] == '-'
		var forms []form
		for _, s := range strings.Split(strings.TrimPrefix(field, "-"), "|") {
			switch {
			case s == "":
			case s[0] >= '0' && s[0] <= '9':
				forms = append(forms, form{literal: strings.ToLower(s)})
			default:
				if seq := tk.tokens(s); len(seq) > 0 {
					forms = append(forms, form{seq: seq})
				}
			}
		}
		switch {
		case len(forms) == 0:
		case negative:
			a.not = append(a.not, forms...)
		case len(a.slots) < maxSlots:
			a.slots = append(a.slots, forms)
		}
	}
	return a
}

// slotRef is a place of an ask at which a form begins with the word.
type slotRef struct {
	ask, slot int
	form      *form
}

// addAsks indexes the asks by the first words of their forms. What begins with a
// digit has none, and is sought when all else is there.
func (x *Index) addAsks(trap int, asks []*ask) {
	for _, a := range asks {
		a.trap = trap
		me := len(x.asks)
		x.asks = append(x.asks, a)
		for slot := range a.slots {
			for k := range a.slots[slot] {
				if f := &a.slots[slot][k]; len(f.seq) > 0 {
					x.slots[f.seq[0]] = append(x.slots[f.seq[0]], slotRef{me, slot, f})
				}
			}
		}
		if len(a.slots) == 0 && len(a.not) > 0 {
			x.vetoes = append(x.vetoes, me)
		}
	}
}

// asked is what of the asks is met so far in one piece of text.
type asked struct {
	met     []uint16    // of each ask, the slots
	info    [][]float64 // and what their words say
	touched []int
}

func (x *Index) newAsked() asked {
	k := asked{met: make([]uint16, len(x.asks)), info: make([][]float64, len(x.asks))}
	for i, a := range x.asks {
		k.info[i] = make([]float64, len(a.slots))
	}
	return k
}

// ask calls each for every ask that the window meets whole, with what its words
// say together.
func (x *Index) ask(w *window, k *asked, each func(trap int, info float64)) {
	var text string // lower case, made when a number is sought
	for from := 0; ; from += askLength / 2 {
		to := min(len(w.tokens), from+askLength)
		x.askIn(w.tokens[from:to], k)
		for _, i := range k.touched {
			a, met := x.asks[i], k.met[i]
			info, all := 0.0, true
			for slot := range a.slots {
				if met&(1<<slot) == 0 {
					if text == "" {
						text = strings.ToLower(strings.Join(w.lines, "\n"))
					}
					all = all && literally(a.slots[slot], text)
					info += literalInfo
				}
				info += k.info[i][slot]
				k.info[i][slot] = 0
			}
			k.met[i] = 0
			if all && !x.says(w, &text, a.not) {
				each(a.trap, info)
			}
		}
		k.touched = k.touched[:0]
		if to == len(w.tokens) {
			return
		}
	}
}

// askIn marks the slots that a piece of text fills.
func (x *Index) askIn(tokens []string, k *asked) {
	at := func(t string, rest []string) {
		for _, r := range x.slots[t] {
			if !follows(r.form.seq[1:], rest) {
				continue
			}
			if k.met[r.ask] == 0 {
				k.touched = append(k.touched, r.ask)
			}
			k.met[r.ask] |= 1 << r.slot
			info := 0.0
			for _, t := range r.form.seq {
				info += x.says1(t)
			}
			k.info[r.ask][r.slot] = max(k.info[r.ask][r.slot], info)
		}
	}
	for i, t := range tokens {
		at(t, tokens[i+1:])
		if strings.ContainsRune(t, '_') {
			for _, p := range strings.Split(t, "_") {
				if len(p) > 1 {
					at(canonical(p), nil)
				}
			}
		}
	}
}

// literalInfo is what an address, a number or a version says.
const literalInfo = 0.8

// says1 is how much a word tells: its weight in the lore, or what it says by
// itself.
func (x *Index) says1(t string) float64 {
	if t[0] == '<' {
		return 0.15
	}
	if w := x.words[t]; w != nil {
		return w.weight
	}
	return background(t)
}

func follows(seq, rest []string) bool {
	if len(rest) < len(seq) {
		return false
	}
	for i := range seq {
		if rest[i] != seq[i] {
			return false
		}
	}
	return true
}

// ruledOut tells whether a window says what a trap's line of absences names.
func (x *Index) ruledOut(w *window) map[int]bool {
	var out map[int]bool
	var text string
	for _, i := range x.vetoes {
		if a := x.asks[i]; x.says(w, &text, a.not) {
			if out == nil {
				out = map[int]bool{}
			}
			out[a.trap] = true
		}
	}
	return out
}

// says tells whether any of the forms is in the window.
func (x *Index) says(w *window, text *string, forms []form) bool {
	for i := range forms {
		f := &forms[i]
		if f.literal != "" {
			if *text == "" {
				*text = strings.ToLower(strings.Join(w.lines, "\n"))
			}
			if written(*text, f.literal) {
				return true
			}
			continue
		}
		for k := range w.tokens {
			if follows(f.seq, w.tokens[k:]) {
				return true
			}
		}
	}
	return false
}

func literally(forms []form, text string) bool {
	for _, f := range forms {
		if f.literal != "" && written(text, f.literal) {
			return true
		}
	}
	return false
}

// written tells whether a number or version stands in text: 3.0 also as 3.0.6,
// and not as 13.0 or 3.01.
func written(text, number string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], number)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(number)
		if (i == 0 || !numeral(text[i-1])) && (end == len(text) || !numeral(text[end]) || text[end] == '.') {
			return true
		}
		from = i + 1
	}
}

func numeral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '.' || c == '_'
}

// askValue puts what an ask's words say between 0 and 1.
func askValue(info float64) float64 { return 1 - 0.5*math.Exp(-askSlope*info) }

const askSlope = 1.1
