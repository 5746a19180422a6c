package message

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// readSize is how much of a log is in memory, and so how long a line may be: a longer one
// is judged in parts.
const readSize = 256 << 10

// Read walks a log of any length and calls do for each line that has messages, in order.
func (s *Set) Read(r io.Reader, do func(l *Line, hits []Hit)) error {
	b := make([]byte, readSize)
	held := 0
	w := walk{set: s, do: do}
	for {
		n, err := r.Read(b[held:])
		held += n
		end := io.EOF == err || errors.Is(err, io.ErrUnexpectedEOF)
		if !w.begun && (held >= len(timeStart) || end) {
			w.begun = true
			w.export = IsExport(string(b[:min(held, len(timeStart))]))
		}
		switch whole := w.whole(b[:held]); {
		case end || held == len(b) && whole == 0:
			w.walk(b[:held])
			held = 0
		case w.begun && (held > len(b)/2):
			w.walk(b[:whole])
			held = copy(b, b[whole:held])
		}
		switch {
		case end:
			return nil
		case err != nil:
			return err
		}
	}
}

// IsExport tells whether a log is one of journalctl -o export.
func IsExport(log string) bool {
	return strings.HasPrefix(log, exportStart) || strings.HasPrefix(log, timeStart)
}

// How journalctl -o export begins, with a cursor and without.
const (
	exportStart = "__CURSOR="
	timeStart   = "__REALTIME_TIMESTAMP="
)

type walk struct {
	set           *Set
	do            func(*Line, []Hit)
	begun, export bool
}

// whole is where the last whole line, or record, ends.
func (w *walk) whole(b []byte) int {
	if w.export {
		if i := bytes.LastIndex(b, []byte("\n\n")); i >= 0 {
			return i + 2
		}
		return 0
	}
	return bytes.LastIndexByte(b, '\n') + 1
}

// walk judges the lines of b in which the words of a message stand; of those with escape
// sequences, which may be in the midst of one, all.
func (w *walk) walk(b []byte) {
	escape := bytes.IndexByte(b, 0x1b)
	list := bytes.Index(b, []byte(listed))
	for from, seen := 0, 0; from < len(b); {
		at, found := w.set.scan.next(b, seen)
		hidden := len(b)
		for _, other := range []int{escape, list} {
			if other >= 0 {
				hidden = min(hidden, other)
			}
		}
		if at < 0 && hidden == len(b) {
			return
		}
		if at < 0 || hidden+1 < at {
			at, found = hidden+1, nil
		}
		start, end := w.bounds(b, from, at-1)
		if hidden >= end && !w.set.mayBe(found, b[start:end]) {
			seen = at - windowSize + 1 // the line may have other windows
			continue
		}
		w.line(b[start:end])
		from, seen = end, end
		if escape >= 0 && escape < from {
			escape = index(b, from, "\x1b")
		}
		if list >= 0 && list < from {
			list = index(b, from, listed)
		}
	}
}

// listed is how journalctl -o json begins a message with characters that are not plain.
const listed = `"MESSAGE":[`

func index(b []byte, from int, what string) int {
	if i := bytes.Index(b[from:], []byte(what)); i >= 0 {
		return from + i
	}
	return -1
}

// bounds are where the line, or record, around at begins and ends.
func (w *walk) bounds(b []byte, from, at int) (start, end int) {
	mark := "\n"
	if w.export {
		mark = "\n\n"
	}
	start = at
	for start > from {
		i := bytes.LastIndexByte(b[from:start], '\n')
		if i < 0 {
			start = from
			break
		}
		if start = from + i; !w.export || start == from || b[start-1] == '\n' {
			start++
			break
		}
	}
	if i := bytes.Index(b[at:], []byte(mark)); i >= 0 {
		return start, at + i + len(mark)
	}
	return start, len(b)
}

func (w *walk) line(b []byte) {
	if !w.export {
		l := ParseLine(string(b))
		w.judge(&l)
		return
	}
	l := parseExport(b)
	for text := range bytes.SplitSeq([]byte(l.Text), []byte("\n")) {
		one := l
		one.Text = clean(string(text))
		one.raw()
		w.judge(&one)
	}
}

func (w *walk) judge(l *Line) {
	if hits := w.set.Match(l); len(hits) > 0 {
		w.do(l, hits)
	}
}
