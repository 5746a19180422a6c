package sosreport

import (
	"testing"
	"time"

	"fettle/host"
)

func TestParseUptime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		" 02:54:32 up 35 min,  1 user,  load average: 0.64, 0.37, 0.23\n":   35 * time.Minute,
		" 02:54:32 up 1 min,  0 users,  load average: 0.64, 0.37, 0.23\n":   time.Minute,
		" 10:00:00 up 12:34,  2 users,  load average: 0.00, 0.00, 0.00\n":   12*time.Hour + 34*time.Minute,
		" 10:00:00 up 5 days,  4:05,  1 user,  load average: 1, 1, 1\n":     124*time.Hour + 5*time.Minute,
		" 10:00:00 up 1 day, 35 min, 0 users,  load average: 0, 0, 0\n":     24*time.Hour + 35*time.Minute,
		" 10:00:00 up 400 days, 23:59,  9 users,  load average: 0, 0, 0\n":  400*24*time.Hour + 23*time.Hour + 59*time.Minute,
		" 10:00:00 up 2 days,  1 user,  load average: 0.00, 0.00, 0.00\n":   48 * time.Hour,
		" 10:00:00 up 0 min,  1 user,  load average: 0.00, 0.00, 0.00\n":    0,
		"10:00:00 AM up 7 days, 40 min,  1 user,  load average: 0, 0, 0\n":  7*24*time.Hour + 40*time.Minute,
		" 10:00:00 up  1:02,  0 users,  load average: 0.01, 0.02, 0.00\n\n": time.Hour + 2*time.Minute,
	} {
		if got, ok := parseUptime(text); !ok || got != want {
			t.Errorf("%q: %v, %v, expected %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "uptime: command not found", " 10:00 up", " 10:00 up x", " 10:00 up -1 min",
		" 10:00 up 99999999 days", " up 1:x,"} {
		if got, ok := parseUptime(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestBooted: the kernel's start gives its messages their time, and the host its
// uptime; sos has no /proc/uptime.
func TestBooted(t *testing.T) {
	const now = "Sun Nov 22 11:37:00 UTC 2026\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"btime": {map[string]string{"proc/stat": "cpu  1 2\nbtime 1795347120\nprocesses 3\n"}, "300.00 0.00\n"}, // 11:32
		"uptime": {map[string]string{"sos_commands/host/uptime": " 11:37:00 up 2 days,  1:00,  1 " +
			"user,  load average: 0, 0, 0\n"}, "176400.00 0.00\n"},
		"both":      {map[string]string{"proc/stat": "btime 1795347120\n", "uptime": " up 2 days,"}, "300.00 0.00\n"},
		"of morrow": {map[string]string{"proc/stat": "btime 1895347420\n"}, ""},
		"neither":   {map[string]string{"proc/stat": "cpu 1\n"}, ""},
	} {
		c.files["sos_commands/date/date_--utc"] = now
		s := made(t, c.files)
		b, err := s.ReadFile(t.Context(), "/proc/uptime", host.ReadLimit)
		if string(b) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
