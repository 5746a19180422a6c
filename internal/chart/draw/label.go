package draw

import (
	"strings"
	"unicode"
)

// label is a text that comes from a host or a file, made fit for a picture:
// XML 1.0 has no way to write a control character (section 2.2), and a name may
// hold any byte.
func label(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
