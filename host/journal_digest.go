package host

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fettle/internal/sorted"
)

// Bounds of a digest.
const (
	maxMessages = 2000 // distinct ones at once
	maxLine     = 500  // bytes kept of a line
	maxShape    = 200  // bytes of it that tell messages apart
)

// LogLine is one line of a log.
type LogLine struct {
	At       time.Time
	By, Unit string
	Text     string
	Priority int // -1: not known
}

// Digest counts lines by what they say. The zero Digest is ready for use.
type Digest struct {
	log  Log
	at   map[string]*counted
	kept int // lines
}

// counted is a message, and which of the lines said it last.
type counted struct {
	Message
	seq int
}

// Add counts a line.
func (d *Digest) Add(l LogLine) {
	if d.log.Lines == 0 || l.At.Before(d.log.Since) {
		d.log.Since = l.At
	}
	if l.At.After(d.log.Until) {
		d.log.Until = l.At
	}
	d.log.Lines++
	d.Keep(l)
}

// Skip counts a line that says nothing of interest.
func (d *Digest) Skip(at time.Time) {
	if d.log.Lines == 0 {
		d.log.Since = at
	}
	if at.After(d.log.Until) {
		d.log.Until = at
	}
	d.log.Lines++
}

// Keep files a line under its message.
func (d *Digest) Keep(l LogLine) {
	key := l.By + "\x00" + l.Unit + "\x00" + shape(l.Text)
	m := d.at[key]
	if m == nil {
		if d.at == nil {
			d.at = map[string]*counted{}
		}
		if len(d.at) >= maxMessages {
			d.thin()
		}
		m = &counted{Message: Message{By: clean(l.By, 100), Unit: clean(l.Unit, 255), First: l.At, Last: l.At, Priority: l.Priority}}
		d.at[key] = m
	}
	d.kept++
	m.seq = d.kept
	m.Text = clean(l.Text, maxLine)
	m.Count++
	if l.At.After(m.Last) {
		m.Last = l.At
	}
	if l.At.Before(m.First) {
		m.First = l.At
	}
}

// thin makes room: the half of the messages that was said least, and of those
// the ones said longest ago, goes.
func (d *Digest) thin() {
	keys := make([]string, 0, len(d.at))
	for k := range d.at {
		keys = append(keys, k)
	}
	sorted.By(keys, func(a, b string) int {
		x, y := d.at[a], d.at[b]
		return cmp.Or(cmp.Compare(x.Count, y.Count), cmp.Compare(x.seq, y.seq))
	})
	for _, k := range keys[:len(keys)/2] {
		delete(d.at, k)
	}
}

// Log is what was counted, in the order in which the messages came last.
func (d *Digest) Log(source string) Log {
	l := d.log
	l.Source = source
	all := sorted.Of(maps.Values(d.at), func(a, b *counted) int { return cmp.Compare(a.seq, b.seq) })
	for _, m := range all {
		l.Messages = append(l.Messages, m.Message)
	}
	return l
}

// frequent keeps the n messages that were said most often.
func (l *Log) frequent(n int) {
	sorted.By(l.Messages, func(a, b Message) int { return cmp.Compare(b.Count, a.Count) })
	l.Messages = l.Messages[:min(n, len(l.Messages))]
}

// complaints are parts of words of which one is in every line of the
// kernel that speaks of trouble. Of a healthy boot few lines have one.
var complaints = []string{
	"error",
	"fail",
	"timeout",
	"timed out",
	"time out",
	"down",
	"kill",
	"segfault",
	"trap",
	"fault",
	"denied",
	"stall",
	"block",
	"not responding",
	"corrupt",
	"reset",
	"abort",
	"offline",
	"exception",
	"bug",
	"oops",
	"panic",
	"throttl",
	"lockup",
	"oom",
	"memory",
	"watchdog",
	"degraded",
	"remount",
	"hung",
	"overflow",
	"dropp",
	"bad",
	"lost",
	"unable",
	"hardware",
	"exceed",
	"link is",
	"voltage",
}

// Complains reports whether a line of the kernel may speak of trouble.
func Complains(text string) bool {
	low := strings.ToLower(text)
	return slices.ContainsFunc(complaints, func(w string) bool { return strings.Contains(low, w) })
}

// clean makes a line one of valid text without control characters, of at most
// n bytes.
func clean(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Shape is the line of a message with what differs from time to time as "#".
func (m Message) Shape() string { return shape(m.Text) }

// shape is a line with its numbers, addresses and ids taken out: two lines of
// one shape are the same message. Names that end in a number (eth0, sda1)
// stay.
func shape(s string) string {
	s = s[:min(len(s), maxShape)]
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if !wordByte(s[i]) {
			b = append(b, s[i])
			i++
			continue
		}
		end := i
		for end < len(s) && wordByte(s[end]) {
			end++
		}
		if number(s[i:end]) {
			b = append(b, '#')
		} else {
			b = append(b, s[i:end]...)
		}
		i = end
	}
	return string(b)
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// number reports whether a word is a number, decimal or hexadecimal, or an id
// made of letters and digits at random.
func number(w string) bool {
	digits, hex := 0, 0
	for i := range len(w) {
		switch c := w[i] | 0x20; {
		case w[i] >= '0' && w[i] <= '9':
			digits++
			hex++
		case c >= 'a' && c <= 'f':
			hex++
		}
	}
	switch {
	case digits == 0:
		return false
	case digits == len(w), strings.HasPrefix(w, "0x"):
		return true
	case hex == len(w):
		return len(w) >= 4
	}
	return len(w) >= 12 && digits >= 3
}
