package why

import (
	"strings"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.FixedZone("CET", 3600))
	for s, want := range map[string]string{
		"-1h": "2026-03-01 11:30:00", "-90min": "2026-03-01 11:00:00", "-30s": "2026-03-01 12:29:30", "-2d": "2026-02-27 12:30:00",
		"today": "2026-03-01 00:00:00", "yesterday": "2026-02-28 00:00:00", "2026-02-03": "2026-02-03 00:00:00",
		"2026-02-03 04:05": "2026-02-03 04:05:00", "2026-02-03 04:05:06": "2026-02-03 04:05:06",
	} {
		if got := moment(s, now); got.Format(time.DateTime) != want || !strings.HasSuffix(got.String(), "CET") {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	for _, s := range []string{"", "-", "--1h", "1h", "-1", "-xd", "-0s", "tomorrow", "2026-13-01", "@1; rm"} {
		if got := moment(s, now); !got.IsZero() {
			t.Errorf("%q is %s", s, got)
		}
	}
}

// TestJournalFlags: a number is days to compare with, a time needs a unit, and a unit's log is always
// compared.
func TestJournalFlags(t *testing.T) {
	for _, c := range []struct {
		unit, since string
		days        int
		from        bool
		full        string
	}{
		{"", "", 0, false, ""},
		{"", "3", 3, false, ""},
		{"nginx", "", daysBefore, false, "nginx.service"},
		{"nginx", "3", 3, false, "nginx.service"},
		{"nginx", "0", 0, false, "nginx.service"},
		{"ssh.socket", "-1h", daysBefore, true, "ssh.socket"},
	} {
		j := journalFlags{unit: c.unit, since: c.since}
		if err := j.valid(nil); err != nil || j.days != c.days || j.from.IsZero() == c.from || j.unit != c.full {
			t.Errorf("%+v: %+v, %v", c, j, err)
		}
	}
}
