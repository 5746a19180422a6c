package disks

import (
	"strconv"
	"strings"
	"time"
)

// Assumed is the interval of reports that do not tell theirs: neither iostat nor
// zpool iostat prints it. A first report, which is of the time since boot or
// import, is of a longer time, so that it counts for less than it could.
const Assumed = 10 * time.Second

// span is how long the reports of a file are of.
type span struct {
	given  time.Duration // what somebody said; 0: nothing
	stamp  time.Duration // when the report at hand was printed
	wrap   time.Duration // after how long stamps begin again; 0: there is none
	before time.Duration // the one of the report before
	had    bool          // that one had a stamp
}

// line takes the time of day from a line between reports (iostat -t in any of its
// formats, zpool iostat -T d), or the seconds of zpool iostat -T u.
func (s *span) line(fields []string) bool {
	const day = 24 * time.Hour
	if len(fields) == 1 {
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && n > 1e9 && n < 1e10 {
			s.stamp, s.wrap = time.Duration(n)*time.Second%day, day
			return true
		}
	}
	if len(fields) > 8 { // a device with its figures
		return false
	}
	for _, f := range fields {
		if date, t, ok := strings.Cut(f, "T"); ok && strings.Count(date, "-") == 2 { // 2026-01-02T03:04:05+0100
			f = t[:min(len(t), len("03:04:05"))]
		}
		t, err := time.Parse("15:04:05", f)
		if err != nil {
			continue
		}
		s.stamp, s.wrap = t.Sub(t.Truncate(day)), day
		if last := strings.ToUpper(fields[len(fields)-1]); last == "AM" || last == "PM" {
			s.wrap = day / 2
		}
		return true
	}
	return false
}

// next is the interval of the report that begins, and whether it is Assumed.
func (s *span) next() (d time.Duration, assumed bool) {
	took := time.Duration(0)
	if s.wrap > 0 && s.had {
		took = (s.stamp - s.before + 2*s.wrap) % s.wrap
	}
	s.before, s.had, s.wrap = s.stamp, s.wrap > 0, 0
	switch {
	case s.given > 0:
		return s.given, false
	case took > 0:
		return took, false
	}
	return Assumed, true
}
