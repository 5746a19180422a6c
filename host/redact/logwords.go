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

// checkWords are those that checks look for in logs without a message of their own: by which
// units-failed tells what went wrong, of systemd about sockets, loggers' fields and levels, and
// netfilter's fields (Linux 6.1, net/netfilter/nf_log_syslog.c).
const checkWords = `listening misconfigured misconfiguration incorrect illegal aborted aborting
	level lvl severity msg message err error ts time caller trace debug info notice warn warning fatal
	ufw block mac src dst len tos prec ttl proto spt dpt window res urgp syn ack`

var logVocabulary = sync.OnceValue(func() map[string]bool { return set(logWordList + checkWords) })

// ownPlace are tokens that are called the same elsewhere in a capture: paths, units and
// names of settings.
var ownPlace = lazy.Regexp(`(?:[a-z]+:)?/[^\s"'(),;]*|[\w.-]+=|^[\w.+-]+\[\d+\]:|` +
	`[\w@\\:.-]+\.(?:service|socket|target|timer|mount|automount|slice|scope|path|device|swap)\b`)

// logFree redacts words of a log that are at no place of their own.
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
