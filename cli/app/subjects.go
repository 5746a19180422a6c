package app

import (
	"unicode/utf8"

	"fettle/internal/octets"
)

// Subjects are subjects as a user gave them, as findings have them: a shell
// also completes or pastes names of bytes that are not UTF-8.
func Subjects(given []string) []string {
	out := make([]string, len(given))
	for i, s := range given {
		if out[i] = s; !utf8.ValidString(s) {
			out[i] = octets.Text(s)
		}
	}
	return out
}
