package ingest

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A backlog goes through at two messages a second after a burst; who sends more is
// not listened to, and an agent that goes on is reported as a flood, once.
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

// An agent that was quiet for longer than a minute is forgotten; one that was not still has to
// pay for its burst. Floods are counted from zero after a minute.
func TestForgotten(t *testing.T) {
	l, at := newLimits(), time.Unix(1e9, 0)
	l.take("quiet", at)
	l.take("loud", at.Add(time.Minute))
	if len(l.buckets) != 2 {
		t.Errorf("%d agents after a minute", len(l.buckets))
	}
	l.take("loud", at.Add(2*time.Minute))
	if l.buckets["quiet"] != nil || l.buckets["loud"] == nil {
		t.Errorf("after two: %+v", l.buckets)
	}
	drained := func(at time.Time) *limits {
		l := newLimits()
		l.buckets["a"] = &bucket{level: burst, last: at.Add(time.Hour), over: floodAt - 1, since: at}
		l.swept = at.Add(time.Hour)
		return l
	}
	if l := drained(at); l.take("a", at.Add(time.Minute)) != flood {
		t.Error("a minute is over too soon")
	}
	if l := drained(at); l.take("a", at.Add(time.Minute+time.Second)) != over || l.buckets["a"].over != 1 {
		t.Error("a minute never ends")
	}
	l = newLimits()
	l.buckets["gone"], l.swept = &bucket{last: at.Add(-time.Hour)}, at
	if l.take("a", at.Add(59*time.Second)); l.buckets["gone"] == nil {
		t.Error("looked through before a minute is over")
	}
	if l.take("a", at.Add(time.Minute)); l.buckets["gone"] != nil {
		t.Error("not looked through after a minute")
	}
}

// What is sent is forgotten at two messages a second, and no clock that goes back gives more.
func TestRefill(t *testing.T) {
	at := time.Unix(1e9, 0)
	for what, c := range map[string]struct {
		level float64
		later time.Duration
		want  float64 // after one more
		got   allowance
		last  time.Duration
	}{
		"half":      {10, 2500 * time.Millisecond, 6, within, 2500 * time.Millisecond},
		"all":       {10, time.Minute, 1, within, time.Minute},
		"back":      {10, -time.Minute, 11, within, 0},
		"the last":  {63.5, 0, 64.5, within, 0},
		"no more":   {64, 0, 64, over, 0},
		"just one":  {64, 250 * time.Millisecond, 64.5, within, 250 * time.Millisecond},
		"long over": {65, time.Second / 2, 64, over, time.Second / 2},
	} {
		l := newLimits()
		b := &bucket{level: c.level, last: at}
		l.buckets["a"] = b
		if got := l.take("a", at.Add(c.later)); got != c.got || b.level != c.want || b.last.Sub(at) != c.last {
			t.Errorf("%s: %v, %+v", what, got, b)
		}
	}
}

// Of what was wrong with messages the last is kept, cut to size as text, with how often.
func TestWhatWasWrong(t *testing.T) {
	l := newLimits()
	l.bad("a", errors.New("first"))
	l.bad("a", errors.New(strings.Repeat("x", maxWhy)))
	l.bad("b", errors.New(strings.Repeat("x", maxWhy-1)+"é"))
	got := l.takeBad()
	if a := got["a"]; a.n != 2 || a.last != strings.Repeat("x", maxWhy) {
		t.Errorf("%+v", a)
	}
	if b := got["b"]; b.n != 1 || b.last != strings.Repeat("x", maxWhy-1) {
		t.Errorf("%+v", b)
	}
	if len(l.takeBad()) != 0 {
		t.Error("handed over twice")
	}
}
