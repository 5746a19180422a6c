package ingest

import (
	"testing"
	"time"
)

// A backlog goes through at two messages a second after a burst; who sends more is
// not listened to, and who goes on is told apart as a flood, once.
func TestAllowance(t *testing.T) {
	l := newLimits()
	at := time.Unix(1e9, 0)
	for i := range int(burst) {
		if got := l.take("a", at); got != within {
			t.Fatalf("message %d of the burst: %v", i, got)
		}
	}
	if got := l.take("a", at); got != over {
		t.Fatalf("one more than the burst: %v", got)
	}
	if got := l.take("b", at); got != within {
		t.Errorf("another agent pays for it: %v", got)
	}
	for i := range 20 { // two a second are allowed for ever
		at = at.Add(time.Second)
		for range 2 {
			if got := l.take("a", at); got != within {
				t.Fatalf("second %d: %v", i, got)
			}
		}
		if got := l.take("a", at); got != over {
			t.Fatalf("second %d: a third message is %v", i, got)
		}
	}
	floods := 0
	for range 3 * floodAt {
		if l.take("c", at) == flood {
			floods++
		}
	}
	if floods != 1 {
		t.Errorf("%d floods, want one", floods)
	}
}
