package message

import (
	"errors"
	"slices"

	"fettle/internal/sorted"
)

// Set is many messages that one pass over a log looks for. It may be used concurrently.
type Set struct {
	all  []*template
	scan *scanner
}

// NewSet makes a set; hits tell the index in messages.
func NewSet(messages []Message) (*Set, error) {
	s := &Set{}
	var errs []error
	windows := make([][]string, 0, len(messages))
	for _, m := range messages {
		t, err := parse(m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.all = append(s.all, t)
		windows = append(windows, t.windows)
	}
	s.scan = newScanner(windows)
	return s, errors.Join(errs...)
}

// MustSet is NewSet for lists that tests have read.
func MustSet(messages []Message) *Set {
	s, err := NewSet(messages)
	if err != nil {
		panic(err)
	}
	return s
}

// Message is the one with that index.
func (s *Set) Message(i int) Message { return s.all[i].Message }

// Weight is how much a message says beside its placeholders, in bytes.
func (s *Set) Weight(i int) int { return s.all[i].words }

// Said finds the messages in what a program said, in the set's order; none where one of
// them is harmless.
func (s *Set) Said(by, text string) []Hit {
	hits := s.Match(&Line{By: by, Text: text, Log: true})
	if slices.ContainsFunc(hits, func(h Hit) bool { return s.all[h.Index].Harmless }) {
		return nil
	}
	sorted.By(hits, func(a, b Hit) int { return a.Index - b.Index })
	return hits
}

// Missed are the messages whose words a line has, with something else where a placeholder
// stands: another sort of device, another version. Such a line is a neighbour, and says
// that it is not that message.
func (s *Set) Missed(l *Line) []int {
	var out []int
	text := []byte(l.full())
	for from := 0; ; {
		end, found := s.scan.next(text, from)
		if end < 0 {
			return out
		}
		from = end - windowSize + 1
		for _, i := range found {
			t := s.all[i]
			if _, ok := t.match(l); !ok && t.loose().Match(text) && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
}

// mayBe tells whether a line, or the record of one, may be one of these messages.
func (s *Set) mayBe(templates []int, line []byte) bool {
	return slices.ContainsFunc(templates, func(i int) bool { return s.all[i].mayBe(line) })
}

// Match finds the messages in what one line says.
func (s *Set) Match(l *Line) []Hit {
	if l.informs() {
		return nil
	}
	var hits []Hit
	var tried []int
	text := []byte(l.full())
	for from := 0; ; {
		end, found := s.scan.next(text, from)
		if end < 0 {
			return hits
		}
		from = end - windowSize + 1
		for _, i := range found {
			if slices.Contains(tried, i) {
				continue
			}
			tried = append(tried, i)
			if !s.all[i].mayBe(text) {
				continue
			}
			if h, ok := s.all[i].match(l); ok {
				h.Index = i
				hits = append(hits, h)
			}
		}
	}
}
