package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/internal/sorted"
)

// Mistake is one thing wrong in a rule's file, and where.
type Mistake struct {
	Path         string `json:"path"`
	Line, Column int    // 1-based, columns in characters; 0 when it is about the whole file
	Msg          string
	// Warning: the rule can be used nevertheless.
	Warning bool
}

func (m *Mistake) Error() string {
	at := m.Path
	if m.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", m.Path, m.Line, m.Column)
	}
	if m.Warning {
		return at + ": warning: " + m.Msg
	}
	return at + ": " + m.Msg
}

// Mistakes are all mistakes of one file, in the order of its lines.
type Mistakes []*Mistake

func (ms Mistakes) Error() string {
	lines := make([]string, len(ms))
	for i, m := range ms {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// Fatal are those that keep the rule from being used.
func (ms Mistakes) Fatal() Mistakes {
	return slices.DeleteFunc(slices.Clone(ms), func(m *Mistake) bool { return m.Warning })
}

// err is ms as an error; nil when nothing in it is fatal. Of a file that is
// only loaded, not checked, the first mistake is enough.
func (ms Mistakes) err() error {
	fatal := ms.Fatal()
	switch len(fatal) {
	case 0:
		return nil
	case 1:
		return fatal[0]
	}
	return fmt.Errorf("%w (and %d more: fettle lore check %s)", fatal[0], len(fatal)-1, fatal[0].Path)
}

func (ms Mistakes) sorted() Mistakes {
	sorted.By(ms, func(a, b *Mistake) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.CompactFunc(ms, func(a, b *Mistake) bool { return *a == *b })
}

// Limits of a rule's file.
const (
	FileLimit  = 64 << 10 // bytes
	depthLimit = 12       // nested lists and maps
	exprLimit  = 4 << 10  // bytes of an expression
	factLimit  = 64
	letLimit   = 64
	findLimit  = 64
)

var errTooLarge = errors.New("larger than a rule may be (64 KiB)")
