package ui

import (
	"bytes"
	"testing"
)

// TestParagraphsAreVisible: what somebody else named reaches no terminal raw,
// not even in an error.
func TestParagraphsAreVisible(t *testing.T) {
	got := Paragraphs("fettle: open /x\x1b[31m\xff:\n  second\u202e line", &bytes.Buffer{})
	if want := "fettle: open /x\\x1b[31m\\xff:\n  second\\u202e line\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
