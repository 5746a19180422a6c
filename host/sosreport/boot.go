package sosreport

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// booted is when the kernel started; where the report does not tell, when it was
// looked at.
func (s *Source) booted() time.Time {
	if at, ok := s.started(); ok {
		return at
	}
	return s.id.Time
}

// started is when the kernel started: by btime of /proc/stat (proc_stat(5)), which
// sos takes along, or by what uptime says, to the minute.
func (s *Source) started() (time.Time, bool) {
	if b, err := s.tree.ReadFile("/proc/stat", host.ReadLimit); err == nil {
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "btime "); ok {
				sec, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				at := time.Unix(sec, 0).UTC()
				return at, err == nil && sec > 0 && !at.After(s.id.Time)
			}
		}
	}
	text, err := s.output("sos_commands/host/uptime", "sos_commands/general/uptime", "uptime")
	if err != nil || s.id.Time.IsZero() {
		return time.Time{}, false
	}
	up, ok := parseUptime(text)
	return s.id.Time.Add(-up), ok
}

// parseUptime reads " 02:54:32 up 3 days, 35 min,  1 user, …" and "… up 3 days,  4:05,
// …" (procps, lib/uptime.c).
func parseUptime(text string) (up time.Duration, ok bool) {
	_, text, found := strings.Cut(text, " up ")
	if !found {
		return 0, false
	}
	for part := range strings.SplitSeq(text, ",") {
		f := strings.Fields(part)
		if len(f) == 0 {
			continue
		}
		if h, m, clock := strings.Cut(f[0], ":"); clock && len(f) == 1 {
			hours, err1 := strconv.ParseUint(h, 10, 8)
			minutes, err2 := strconv.ParseUint(m, 10, 8)
			return up + time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute, err1 == nil && err2 == nil
		}
		n, err := strconv.ParseUint(f[0], 10, 16)
		if err != nil || len(f) != 2 {
			break
		}
		switch f[1] {
		case "day", "days":
			up, ok = up+time.Duration(n)*24*time.Hour, true
		case "min":
			return up + time.Duration(n)*time.Minute, true
		default: // users
			return up, ok
		}
	}
	return up, ok
}

// uptimeFile is /proc/uptime when the report was made; sos leaves it out, and
// the processors' idle time is not known.
func (s *Source) uptimeFile() ([]byte, error) {
	at, ok := s.started()
	if !ok {
		return nil, notCollected("read", "/proc/uptime")
	}
	return fmt.Appendf(nil, "%.2f 0.00\n", s.id.Time.Sub(at).Seconds()), nil
}
