package why

import (
	"slices"
	"strings"
)

// question is one that an article answers, for somebody who has no trouble and wants to
// know. What was learned of strangers does not help there: they complained.
type question struct {
	trap   int
	text   string
	groups []map[string]bool // of each, a text that asks it has a word
}

// newQuestion reads "What becomes of it? rename|move open|hold": the question, and the
// groups of words.
func newQuestion(tk tokenizer, s string) question {
	text, words, _ := strings.Cut(s, "?")
	q := question{text: text + "?"}
	for group := range strings.FieldsSeq(words) {
		g := map[string]bool{}
		for w := range strings.SplitSeq(group, "|") {
			for _, t := range tk.tokens(w) {
				g[t] = true
			}
		}
		q.groups = append(q.groups, g)
	}
	return q
}

func (q *question) in(tokens []string) bool {
	return !slices.ContainsFunc(q.groups, func(g map[string]bool) bool {
		return !slices.ContainsFunc(tokens, func(t string) bool { return g[t] })
	})
}

const (
	// askedScore is what an article is worth that answers a question.
	askedScore = 0.6
	// questionTokens is how long such a text may be: in a longer one the words of a
	// question come together by chance.
	questionTokens = 30
)

// asked finds the article that answers a question, where nothing else matches.
func (f *finder) asked(prose []line) {
	if slices.ContainsFunc(f.best, func(b best) bool { return b.value >= Threshold }) {
		return
	}
	var tokens, lines []string
	for _, l := range prose {
		tokens, lines = append(tokens, l.tokens...), append(lines, l.text)
	}
	if len(tokens) > questionTokens || complains(tokens) {
		return
	}
	for i := range f.x.asked {
		if q := &f.x.asked[i]; q.in(tokens) {
			f.best[q.trap] = best{value: askedScore, lines: lines[:min(len(lines), shownLines)], symptom: q.text, whole: true}
			return
		}
	}
}
