package redact

import (
	_ "embed"
	"strings"
	"sync"

	"fettle/internal/lazy"
)

// logwords.txt holds the words of the messages that fettle knows: those that why and the
// checks look for in logs. Another word of a log may be anybody's name, whatever it means
// in a file of settings.
//
//go:embed logwords.txt
var logWordList string

var logVocabulary = sync.OnceValue(func() map[string]bool { return set(logWordList) })

// ownPlace are tokens that are called the same elsewhere in a capture: paths, units and
// names of settings.
var ownPlace = lazy.Regexp(`(?:[a-z]+:)?/[^\s"'(),;]*|[\w.-]+=|^[\w.+-]+\[\d+\]:|` +
	`[\w@\\:.-]+\.(?:service|socket|target|timer|mount|automount|slice|scope|path|device|swap)\b`)

// logFree redacts words of a log that stand at no place of their own.
func (r *Redactor) logFree(s string) string {
	var b strings.Builder
	at := 0
	for _, m := range ownPlace().FindAllStringIndex(s, -1) {
		b.WriteString(r.logPlain(s[at:m[0]]) + r.text(s[m[0]:m[1]], addresses|positions|numbers|said))
		at = m[1]
	}
	return b.String() + r.logPlain(s[at:])
}

func (r *Redactor) logPlain(s string) string {
	return r.text(s, addresses|positions|numbers|said|logged)
}
