package folded

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestLog: of a kind one line a minute, with a count, escaped; other kinds are not held up.
func TestLog(t *testing.T) {
	var got []string
	at := time.Unix(1e9, 0)
	l := &Log{To: func(s string) { got = append(got, s) }, Now: func() time.Time { return at }}
	for i := range 500 {
		l.Say("refused", fmt.Sprintf("refused %d\nroot logged in\x1b[2J\u009b31m\r\u2028%s", i, strings.Repeat("x", 9999)))
		l.Say("other", "other")
	}
	at = at.Add(Each)
	l.Say("refused", "again")
	if len(got) != 3 || got[1] != "other" || got[2] != "again (and 499 like this in between)" {
		t.Fatalf("%d lines: %q", len(got), got)
	}
	if strings.ContainsFunc(got[0], func(r rune) bool { return !unicode.IsPrint(r) }) || len(got[0]) > 600 ||
		!strings.HasPrefix(got[0], `refused 0\nroot logged in\x1b[2J\u009b31m\r\u2028xxx`) {
		t.Errorf("%q", got[0])
	}
	for i := range 5000 {
		l.Say(fmt.Sprint(i), "x")
	}
	if len(l.said) > mostKinds {
		t.Errorf("it remembers %d kinds", len(l.said))
	}
}
