package units

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		99_999 * time.Nanosecond: "99 µs", 100 * time.Microsecond: "0.1 ms", 9999 * time.Microsecond: "10 ms", 10 * time.Millisecond: "10 ms",
		999_499 * time.Microsecond: "999 ms", 999_500 * time.Microsecond: "1 s", 9949 * time.Millisecond: "9.9 s",
		9950 * time.Millisecond: "10 s", 59_499 * time.Millisecond: "59 s", 59_500 * time.Millisecond: "1 min",
		9*time.Minute + 59*time.Second: "9 min 59 s", 10*time.Minute + 20*time.Second: "10 min", 10 * time.Minute: "10 min",
		59*time.Minute + 29*time.Second: "59 min", 59*time.Minute + 30*time.Second: "1 h", 9*time.Hour + 59*time.Minute: "9 h 59 min",
		10 * time.Hour: "10 h", 10*time.Hour + 20*time.Minute: "10 h", 48 * time.Hour: "2 days", 48*time.Hour - time.Second: "48 h",
		0: "0 µs", 55 * time.Microsecond: "55 µs", 1500 * time.Microsecond: "1.5 ms", 2 * time.Millisecond: "2 ms",
		37 * time.Millisecond:      "37 ms",
		999_600 * time.Microsecond: "1 s", 1449 * time.Millisecond: "1.4 s", 9960 * time.Millisecond: "10 s", 59 * time.Second: "59 s",
		59_600 * time.Millisecond: "1 min", 270 * time.Second: "4 min 30 s", 12 * time.Minute: "12 min", 90 * time.Minute: "1 h 30 min",
		12 * time.Hour: "12 h", 47 * time.Hour: "47 h", 75 * time.Hour: "3 days", -90 * time.Minute: "-1 h 30 min",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: %q, want %q", time.Duration(d), got, want)
		}
	}
}

func TestWhole(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 15 * time.Minute: "15m", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h",
		90 * time.Second: "1m30s", 10 * time.Second: "10s", time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s"} {
		if got := Whole(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 hosts", 1: "1 host", 2: "2 hosts"} {
		if got := Count(n, "host", "hosts"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
