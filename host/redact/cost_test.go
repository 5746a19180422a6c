package redact

import (
	"strings"
	"testing"
)

// TestLongLines: what is tried at each byte looks at a bounded part of the rest.
// Were it all of the rest, this would take minutes.
func TestLongLines(t *testing.T) {
	r := redactor(t)
	for _, s := range []string{"a.", ":a", "1-", "//", "//a@", "password", "a@a.", "1.", "a:/"} {
		r.Text(strings.Repeat(s, 100000/len(s)))
	}
}
