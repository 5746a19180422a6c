package bus

import (
	"fmt"
	"strings"
	"sync/atomic"

	"fettle/internal/folded"
)

// logger hands on what the server says at warnings and above. Where the machine is too
// slow, the server warns for each connection: of each kind, one line a minute is logged.
type logger struct {
	folded.Log
	fatal atomic.Bool // it said that it cannot work
}

func (l *logger) say(format string, v ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.Say(kindOf(format, text), "nats: "+text)
}

// kindOf is what a warning is, without of whom: that comes first, in the format
// itself or as its first argument.
func kindOf(format, text string) string {
	if strings.HasPrefix(format, "%s - ") {
		format = text
	}
	return format[strings.LastIndex(format, " - ")+1:]
}

func (l *logger) Noticef(string, ...any)         {}
func (l *logger) Debugf(string, ...any)          {}
func (l *logger) Tracef(string, ...any)          {}
func (l *logger) Warnf(format string, v ...any)  { l.say(format, v...) }
func (l *logger) Errorf(format string, v ...any) { l.say(format, v...) }

func (l *logger) Fatalf(format string, v ...any) {
	l.fatal.Store(true)
	l.say(format, v...)
}
