package units

import (
	"math"
	"strings"
	"testing"
	"time"
)

// What systemd-analyze timespan of systemd 252 makes of it, too.
func TestSpan(t *testing.T) {
	const month, year = 2629800 * time.Second, 31557600 * time.Second
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, " 90 ": 90 * time.Second, "5 5": 10 * time.Second, "1d 2": 24*time.Hour + 2*time.Second, "0": 0,
		"5min 20s": 320 * time.Second, "5min20s": 320 * time.Second, "1 h 30 m": 90 * time.Minute, "1week2days": 9 * 24 * time.Hour,
		"1.5h": 90 * time.Minute, ".5s": time.Second / 2, "300ms20s 5day": 5*24*time.Hour + 20300*time.Millisecond,
		"infinity": math.MaxInt64, "140 years": 140 * year,
		"3\u00b5s": 3 * time.Microsecond, "3\u03bcs": 3 * time.Microsecond,
	} {
		if got, err := Span(text); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for units, one := range map[string]time.Duration{
		"usec us": time.Microsecond, "msec ms": time.Millisecond, "seconds second sec s": time.Second, "minutes minute min m": time.Minute,
		"hours hour hr h": time.Hour, "days day d": 24 * time.Hour, "weeks week w": 7 * 24 * time.Hour, "months month M": month,
		"years year y": year,
	} {
		for unit := range strings.FieldsSeq(units) {
			for _, text := range []string{"2" + unit, "2 " + unit} {
				if got, err := Span(text); err != nil || got != 2*one {
					t.Errorf("%q: %s, %v, want %s", text, got, err, 2*one)
				}
			}
		}
	}
	for _, text := range []string{"", " ", "s", "h 5", "5 fortnights", "1..5s", "5.", "-5s", "1e3s", "5mon", "Infinity", "150 years", "5s x"} {
		if got, err := Span(text); err == nil || !strings.Contains(err.Error(), "is not a time span like 5min 20s") {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
