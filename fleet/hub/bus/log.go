package bus

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// sayEach is how often the same kind of warning is told: where the machine is too
// slow, the server warns for each connection.
const sayEach = time.Minute

// logger hands on what the server says at warnings and above.
type logger struct {
	log  func(string)
	now  func() time.Time // nil: time.Now
	mu   sync.Mutex
	said map[string]*saying
}

// saying is a kind of warning: when it was last told, and how often not since.
type saying struct {
	at   time.Time
	more int
}

func (l *logger) say(format string, v ...any) {
	if l.log == nil {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf(format, v...))
	more, ok := l.due(kindOf(format, text))
	if !ok {
		return
	}
	if more > 0 {
		text += fmt.Sprintf(" (and %d like this in between)", more)
	}
	l.log("nats: " + text)
}

// kindOf is what a warning is, without of whom: that comes first, in the format
// itself or as its first argument.
func kindOf(format, text string) string {
	if strings.HasPrefix(format, "%s - ") {
		format = text
	}
	return format[strings.LastIndex(format, " - ")+1:]
}

func (l *logger) due(kind string) (more int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[string]*saying{}
	}
	now := time.Now
	if l.now != nil {
		now = l.now
	}
	s := l.said[kind]
	if s == nil {
		if len(l.said) >= 1000 { // formats are few; this bounds what they are not
			clear(l.said)
		}
		s = &saying{at: now().Add(-sayEach)}
		l.said[kind] = s
	}
	if now().Sub(s.at) < sayEach {
		s.more++
		return 0, false
	}
	more, s.at, s.more = s.more, now(), 0
	return more, true
}

func (l *logger) Noticef(string, ...any)         {}
func (l *logger) Debugf(string, ...any)          {}
func (l *logger) Tracef(string, ...any)          {}
func (l *logger) Warnf(format string, v ...any)  { l.say(format, v...) }
func (l *logger) Fatalf(format string, v ...any) { l.say(format, v...) }
func (l *logger) Errorf(format string, v ...any) { l.say(format, v...) }
