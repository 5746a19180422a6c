package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeUnits are those of systemd.time(7).
var timeUnits = map[string]time.Duration{
	"": time.Second, "usec": time.Microsecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"msec": time.Millisecond, "ms": time.Millisecond,
	"seconds": time.Second, "second": time.Second, "sec": time.Second, "s": time.Second,
	"minutes": time.Minute, "minute": time.Minute, "min": time.Minute, "m": time.Minute,
	"hours": time.Hour, "hour": time.Hour, "hr": time.Hour, "h": time.Hour,
	"days": 24 * time.Hour, "day": 24 * time.Hour, "d": 24 * time.Hour,
	"weeks": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "w": 7 * 24 * time.Hour,
	"months": 2629800 * time.Second, "month": 2629800 * time.Second, "M": 2629800 * time.Second,
	"years": 31557600 * time.Second, "year": 31557600 * time.Second, "y": 31557600 * time.Second,
}

// Span reads a time span as systemd.time(7) writes it: "5min 20s", "90".
func Span(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time span like 5min 20s", s)
	t := strings.TrimSpace(s)
	if t == "infinity" {
		return math.MaxInt64, nil
	}
	if t == "" {
		return 0, bad
	}
	var sum float64
	for t != "" {
		end := strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end == 0 {
			return 0, bad
		}
		number, rest := t, ""
		if end > 0 {
			number, rest = t[:end], strings.TrimLeft(t[end:], " ")
		}
		end = strings.IndexFunc(rest, func(r rune) bool { return r == ' ' || r >= '0' && r <= '9' })
		unit := rest
		if end >= 0 {
			unit, rest = rest[:end], strings.TrimLeft(rest[end:], " ")
		} else {
			rest = ""
		}
		f, err := strconv.ParseFloat(number, 64)
		u, ok := timeUnits[unit]
		if err != nil || !ok || strings.HasSuffix(number, ".") {
			return 0, bad
		}
		sum += f * float64(u)
		t = rest
	}
	if sum > math.MaxInt64/2 {
		return 0, bad
	}
	return time.Duration(sum), nil
}
