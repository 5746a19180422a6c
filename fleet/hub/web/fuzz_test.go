package web

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"fettle/internal/means"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzPlain: whatever is on a page, nothing of it hides.
func FuzzPlain(f *testing.F) {
	for _, s := range evil {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(plain([]byte(s)))
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
			t.Errorf("%q: %q", s, got)
		}
		if again := string(plain([]byte(got))); again != got {
			t.Errorf("%q becomes %q, and that %q", s, got, again)
		}
	})
}
