package ui

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks s at spaces into lines of at most width characters. The first
// starts with first, the others with rest; both count. A word longer than a
// line is alone and whole, so that paths and commands can be copied.
// The result ends with a line end.
func Wrap(s string, width int, first, rest string) string {
	var b strings.Builder
	line, lead := first, first
	for _, w := range strings.Fields(s) {
		switch {
		case line == lead:
			line += w
		case columns(line)+1+columns(w) > width:
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, lead = rest+w, rest
		default:
			line += " " + w
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// columns is how wide s is, without what colours it.
func columns(s string) int {
	n := utf8.RuneCountInString(s)
	for {
		_, rest, ok := strings.Cut(s, "\x1b[")
		if !ok {
			return n
		}
		code, after, ok := strings.Cut(rest, "m")
		if !ok {
			return n
		}
		n -= utf8.RuneCountInString(code) + len("\x1b[m")
		s = after
	}
}

// ellipsis is in ASCII, for serial consoles and LANG=C.
const ellipsis = "..."

// Cut shortens one line to width characters, with an ellipsis where something
// is left out.
func Cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width || width <= len(ellipsis) {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:width-len(ellipsis)]), " ,;") + ellipsis
}
