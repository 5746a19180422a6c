package process

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

const line = "60 (a) (b c) S 2 0 0 0 -1 2097216 0 0 0 0 7 15000 0 0 25 5 1 0 9050 0 0\n"

func TestReadStat(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Stat
		ok   bool
	}{
		"a name with parentheses": {line, Stat{70 * time.Millisecond, 150 * time.Second, 90500 * time.Millisecond}, true},
		"cut off":                 {line[:strings.Index(line, "9050")], Stat{}, false},
		"no number":               {strings.Replace(line, "9050", "-1", 1), Stat{}, false},
		"too large":               {strings.Replace(line, "9050", "1000000000000", 1), Stat{}, false},
		"empty":                   {"", Stat{}, false},
	} {
		got, err := ReadStat(t.Context(), hosttest.New(t, "kind: live\n-- root/proc/60/stat --\n"+c.text), 60)
		var syntax *host.SyntaxError
		if got != c.want || (err == nil) != c.ok || err != nil && !errors.As(err, &syntax) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := ReadStat(t.Context(), hosttest.New(t, "kind: live\n"), 60); !host.IsAbsent(err) {
		t.Errorf("a process that has gone: %v", err)
	}
}

// TestBooted: a kernel that is up for 90 s was started 90 s ago.
func TestBooted(t *testing.T) {
	h := hosttest.New(t, "kind: live\ntime: 2026-01-02T03:04:05Z\n-- root/proc/uptime --\n90.50 170.12\n")
	got, err := Booted(t.Context(), h)
	if want := time.Date(2026, 1, 2, 3, 2, 34, 5e8, time.UTC); err != nil || !got.Equal(want) {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	var syntax *host.SyntaxError
	if _, err := Booted(t.Context(), hosttest.New(t, "-- root/proc/uptime --\nlong\n")); !errors.As(err, &syntax) {
		t.Error(err)
	}
	if _, err := Booted(t.Context(), hosttest.New(t, "kind: live\n")); !host.IsAbsent(err) {
		t.Error(err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add(line)
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parse(text); s.User < 0 || s.User+s.System < 0 || s.Start < 0 || !ok && s != (Stat{}) {
			t.Errorf("%+v, %t", s, ok)
		}
	})
}
