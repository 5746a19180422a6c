// Package folded keeps a log short and on its lines, whoever chooses what is logged: of
// one kind one line a while, with the number of those left out, and no character that a
// terminal or a reader of logs obeys.
package folded

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle/internal/ui"
)

const (
	// Each is how often a kind of line is logged.
	Each = time.Minute

	longest   = 500 // bytes of a line
	mostKinds = 1000
)

// Log hands lines on. The zero value with To is ready.
type Log struct {
	To  func(string)
	Now func() time.Time // nil: time.Now

	mu   sync.Mutex
	said map[string]*kind
}

// kind is when a kind of line was last logged, and how many were not since.
type kind struct {
	at   time.Time
	more int
}

// Say logs a line, unless one of its kind was logged a moment ago.
func (l *Log) Say(of, text string) {
	if l.To == nil {
		return
	}
	more, due := l.due(of)
	if !due {
		return
	}
	text = Line(text)
	if more > 0 {
		text += fmt.Sprintf(" (and %d like this in between)", more)
	}
	l.To(text)
}

func (l *Log) due(of string) (more int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now
	if l.Now != nil {
		now = l.Now
	}
	if l.said == nil || l.said[of] == nil && len(l.said) >= mostKinds { // kinds are few; this bounds what they are not
		l.said = map[string]*kind{}
	}
	k := l.said[of]
	if k == nil {
		k = &kind{at: now().Add(-Each)}
		l.said[of] = k
	}
	if now().Sub(k.at) < Each {
		k.more++
		return 0, false
	}
	more, k.at, k.more = k.more, now(), 0
	return more, true
}

// Line is a text as one line of a log: escaped, and of bounded length.
func Line(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return ui.Visible(text)
}
