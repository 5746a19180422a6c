package units

import (
	"fmt"
	"strings"
	"time"
)

// Duration writes a time as people say it, with two figures or so: "85 ms",
// "1.4 s", "12 s", "4 min 30 s", "12 h", "3 days".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d < 100*time.Microsecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()*1000), ".0") + " ms"
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	case d < 9950*time.Millisecond:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 10*time.Minute:
		return pair(d.Round(time.Second), time.Minute, "min", time.Second, "s")
	case d < 59*time.Minute+30*time.Second:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 10*time.Hour:
		return pair(d.Round(time.Minute), time.Hour, "h", time.Minute, "min")
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// pair writes d in a large and a small unit, without the small one where it is 0.
func pair(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		s += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return s
}

// Whole writes a time as Go does, without the units that are zero: "15m", "1h30m".
func Whole(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Count writes a number of things: "1 host", "3 hosts".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
