package why

import (
	"slices"
	"strings"
)

// symptom is one line of lore's symptoms: a template whose placeholders (<…>)
// match anything short.
type symptom struct {
	trap  int // index into Index.ids
	text  string
	seq   []string // tokens and wildcards
	words int      // how many distinct ones say anything
	info  float64  // the sum of their weights
	// message: a program printed it, so it comes whole; other symptoms are
	// somebody's words, which others will put differently.
	message bool
	trouble []string // its words that say that something is wrong
}

// maxGap is how many tokens a placeholder may cover.
const maxGap = 12

func newSymptom(text string, seq []string) *symptom {
	return &symptom{text: text, seq: seq, message: strings.Contains(text, ": ")}
}

// weigh sums up what the symptom's words say, and has them point to it.
func (s *symptom) weigh(me int, x *Index) {
	for i, t := range s.seq {
		w := x.words[t]
		if w == nil || w.weight == 0 || slices.Contains(s.seq[:i], t) {
			continue
		}
		if trouble()[t] {
			s.trouble = append(s.trouble, t)
		}
		s.words++
		s.info += w.weight
		w.symptoms = append(w.symptoms, me)
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// templateTokens is tokens with placeholders turned into wildcards.
func templateTokens(tk tokenizer, text string) []string {
	var out []string
	for text != "" {
		before, rest, ok := strings.Cut(text, "<")
		inside, after, closed := strings.Cut(rest, ">")
		if !ok || !closed || len(inside) > 40 || strings.ContainsAny(inside, "<") {
			return append(out, tk.tokens(text)...)
		}
		out = append(out, tk.tokens(before)...)
		if n := len(out); n == 0 || out[n-1] != wildcard {
			out = append(out, wildcard)
		}
		// "<n>kB" is one word, as 123kB is.
		if rest := strings.TrimLeft(after, letters); isUnit("1" + strings.ToLower(after[:len(after)-len(rest)])) {
			after = rest
		}
		text = after
	}
	return out
}

// matches reports whether the whole template is in line, in order, anywhere.
func (s *symptom) matches(line []string) bool {
	seq := s.seq
	for len(seq) > 0 && seq[0] == wildcard {
		seq = seq[1:]
	}
	for len(seq) > 0 && seq[len(seq)-1] == wildcard {
		seq = seq[:len(seq)-1]
	}
	if len(seq) == 0 {
		return false
	}
	budget := 2000 // bounds the backtracking on hostile lines
	for i := range line {
		if line[i] == seq[0] && matchAt(seq, line[i:], &budget) {
			return true
		}
	}
	return false
}

func matchAt(seq, line []string, budget *int) bool {
	for len(seq) > 0 {
		if *budget--; *budget < 0 {
			return false
		}
		if seq[0] == wildcard {
			for skip := 0; skip <= maxGap && skip <= len(line); skip++ {
				if matchAt(seq[1:], line[skip:], budget) {
					return true
				}
			}
			return false
		}
		if len(line) == 0 || line[0] != seq[0] {
			return false
		}
		seq, line = seq[1:], line[1:]
	}
	return true
}
