package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/config"
	"fettle/internal/means"
	"fettle/report"
)

// at is a time of November 2026, whose 23rd is a Monday.
func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.Local)
}

// A window holds from its first minute up to its last, on the days on which it begins; and it was last before now.
func TestWindowTimes(t *testing.T) {
	for _, c := range []struct {
		from, to, days string
		now            time.Time
		open           bool
		began, ended   time.Time // of the last one that is over
	}{
		{"10:15", "12:30", "", at(24, 10, 14), false, at(23, 10, 15), at(23, 12, 30)},
		{"10:15", "12:30", "", at(24, 10, 15), true, at(23, 10, 15), at(23, 12, 30)},
		{"10:15", "12:30", "", at(24, 12, 29), true, at(23, 10, 15), at(23, 12, 30)},
		{"10:15", "12:30", "", at(24, 12, 30), false, at(24, 10, 15), at(24, 12, 30)},
		{"10:15", "12:30", "mon", at(24, 11, 0), false, at(23, 10, 15), at(23, 12, 30)},
		{"10:15", "12:30", "tue", at(24, 11, 0), true, at(17, 10, 15), at(17, 12, 30)},
		{"22:05", "07:10", "", at(24, 22, 4), false, at(23, 22, 5), at(24, 7, 10)},
		{"22:05", "07:10", "", at(24, 22, 5), true, at(23, 22, 5), at(24, 7, 10)},
		{"22:05", "07:10", "", at(24, 7, 9), true, at(22, 22, 5), at(23, 7, 10)},
		{"22:05", "07:10", "", at(24, 7, 10), false, at(23, 22, 5), at(24, 7, 10)},
		{"22:05", "07:10", "Monday", at(24, 1, 0), true, at(16, 22, 5), at(17, 7, 10)},
		{"22:05", "07:10", "Monday", at(23, 1, 0), false, at(16, 22, 5), at(17, 7, 10)},
		{"22:05", "07:10", "sun", at(23, 22, 30), false, at(22, 22, 5), at(23, 7, 10)},
		{"22:05", "07:10", "sun", at(23, 7, 10), false, at(22, 22, 5), at(23, 7, 10)},
		{"2026-11-24 10:00", "2026-11-25 09:00", "", at(24, 9, 59), false, time.Time{}, time.Time{}},
		{"2026-11-24 10:00", "2026-11-25 09:00", "", at(24, 10, 0), true, time.Time{}, time.Time{}},
		{"2026-11-24 10:00", "2026-11-25 09:00", "", at(25, 9, 0), false, at(24, 10, 0), at(25, 9, 0)},
	} {
		w := &Window{From: c.from, To: c.to, Days: strings.Fields(c.days)}
		if err := w.valid(); err != nil {
			t.Fatal(err)
		}
		var from, to time.Time
		means.Within(t, "looking for a day", func() { from, to = w.last(c.now) })
		if w.open(c.now) != c.open || !from.Equal(c.began) || !to.Equal(c.ended) {
			t.Errorf("%s to %s %s at %s: open %t, before it %s to %s", c.from, c.to, c.days, c.now, w.open(c.now), from, to)
		}
	}
}

// A digest is due daily or weekly, at seven, on Mondays, unless it says otherwise.
func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		how, at   string
		now, want time.Time
		says      string
	}{
		{"daily", "", at(24, 7, 0), at(24, 7, 0), ""},
		{"daily", "", at(24, 6, 59), at(23, 7, 0), ""},
		{"daily", "12:34", at(24, 12, 35), at(24, 12, 34), ""},
		{"weekly", "", at(24, 12, 0), at(23, 7, 0), ""},
		{"weekly", "08:05", at(23, 8, 4), at(16, 8, 5), ""},
		{"weekly", "wed 08:05", at(24, 12, 0), at(18, 8, 5), ""},
		{"weekly", "saturday 08:05", at(24, 12, 0), at(21, 8, 5), ""},
		{"daily", "mon 07:00", at(24, 7, 0), time.Time{}, `at "mon 07:00": expected 07:00, or for a weekly digest mon 07:00`},
		{"weekly", "mon 07:00 08:00", at(24, 7, 0), time.Time{}, `at "mon 07:00 08:00": expected`},
		{"weekly", "moon 07:00", at(24, 7, 0), time.Time{}, `"moon": expected a day such as mon`},
		{"daily", "7", at(24, 7, 0), time.Time{}, `"7": expected a time such as 22:00`},
	} {
		s, err := parseSchedule(c.how, c.at)
		if c.says != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%s %q: %v", c.how, c.at, err)
			}
			continue
		}
		var got time.Time
		if means.Within(t, "looking for a day", func() { got = s.last(c.now) }); err != nil || !got.Equal(c.want) {
			t.Errorf("%s %q at %s: %s, %v", c.how, c.at, c.now, got, err)
		}
	}
}

// What came of a window's restarts has the parts that there are, and of long lists the first fifty.
func TestListed(t *testing.T) {
	web := []store.HostRef{{Name: "web1"}, {Name: "web2"}}
	away := store.AwayHost{Host: web[0], Since: at(24, 12, 5)}
	many, cause := store.Comings{}, store.Cause{Subject: "/srv", Severity: "warning", Summary: "is gone", Hosts: web}
	for range windowRows + 1 {
		many.Away, many.Causes = append(many.Away, away), append(many.Causes, cause)
	}
	full := store.Comings{Away: many.Away[:windowRows], Causes: many.Causes[:windowRows]}
	const silent, gone = "  web1: silent since 12:05\n", "  warning /srv: is gone: web1, web2\n"
	for want, came := range map[string]store.Comings{
		"T\n1 host restarted, 1 as before\n":                                      {Restarted: 1, AsBefore: 1},
		"T\n0 hosts restarted, 1 has not come back\n\nNot come back\n" + silent:   {Away: []store.AwayHost{away}},
		"T\n2 hosts restarted, 2 without something\n\nCame back without\n" + gone: {Restarted: 2, Lacking: 2, Causes: []store.Cause{cause}},
		"T\n0 hosts restarted, 51 have not come back\n\nNot come back\n" + strings.Repeat(silent, 50) + "  and 1 more\n" +
			"\nCame back without\n" + strings.Repeat(gone, 50) + "  and 1 more\n": many,
		"T\n0 hosts restarted, 50 have not come back\n\nNot come back\n" + strings.Repeat(silent, 50) + "\nCame back without\n" +
			strings.Repeat(gone, 50): full,
		"T\n2 hosts restarted, 2 not compared\n\nNot compared, since they have no earlier snapshot, or an older agent\n  web1, web2\n": {
			Restarted: 2, NotCompared: web},
	} {
		if got := listed("T", &came); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, to := range map[string]time.Time{"maintenance (Tue 24 November 22:00 to 23:00)": at(24, 23, 0),
		"maintenance (Tue 24 November 22:00 to Wed 01:00)": at(25, 1, 0)} {
		if got := (&Window{}).title(at(24, 22, 0), to); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A digest in plain text has the tables that there is something for, and says how many silent hosts it leaves out.
func TestDigestText(t *testing.T) {
	d := &digest{Hub: "hub", Period: "since then", Hosts: 3}
	want(t, d, "hub: 3 hosts, 0 critical, 0 warning, 0 notice; 0 new, 0 resolved\nsince then\n")
	d.Counts.Severities.Critical, d.Counts.Severities.Warning, d.Counts.Severities.Notice, d.New, d.Resolved = 1, 2, 3, 4, 5
	d.URL, d.AllSilent, d.Silent = "https://hub", 1, []row{{Name: "web1", Note: "never reported"}}
	d.Traps = []row{{"n", 0, 0, 1, "a"}, {"w2", 0, 1, 0, "b"}, {"w1", 0, 1, 0, "c"}, {"wn", 0, 1, 1, "d"}, {"c", 1, 0, 0, "e"}}
	worst(d.Traps)
	text := "silent, 1 critical, 2 warning, 3 notice; 4 new, 5 resolved\nsince then\nhttps://hub\n\nSilent hosts\n  web1: never reported\n%s" +
		"\nTraps, by affected hosts\n  c: 1 critical, 0 warning, 0 notice, e\n  wn: 0 critical, 1 warning, 1 notice, d\n" +
		"  w1: 0 critical, 1 warning, 0 notice, c\n  w2: 0 critical, 1 warning, 0 notice, b\n  n: 0 critical, 0 warning, 1 notice, a\n"
	want(t, d, "hub: 1 of 3 hosts "+fmt.Sprintf(text, ""))
	d.AllSilent = 2
	want(t, d, "hub: 2 of 3 hosts "+fmt.Sprintf(text, "  and 1 more\n"))
}

func want(t *testing.T, d *digest, text string) {
	t.Helper()
	if got := d.text(); got != text {
		t.Errorf("%q, want %q", got, text)
	}
}

// A channel's name in the database stays over upgrades: by another one, all that it was told would be told again.
func TestKeys(t *testing.T) {
	ops := config.Channel{Mail: config.Words{"ops@example.org"}}
	for want, c := range map[string]Channel{
		"bcb4f31970dbf698d6c4f0ed": {Channel: ops},
		"8de13bfe93c3dafce6783314": {Channel: ops, Match: Match{Groups: config.Words{"web"}, Labels: config.Words{"env=prod"}}},
	} {
		if got := c.key(); got != want {
			t.Errorf("%q, was %q", got, want)
		}
	}
}

// A channel counts the findings of its groups, wherever they stand.
func TestCounts(t *testing.T) {
	var groups []store.Group
	for i, name := range []string{"app", "web", "web2"} {
		g, n := store.Group{Name: name}, []int{100, 1, 10}[i]
		g.Critical, g.Warning, g.Notice, g.Unknown, g.Accepted = n, 2*n, 3*n, 4*n, 5*n
		groups = append(groups, g)
	}
	got := (&Channel{Match: Match{Groups: []string{"web*"}}}).counts(groups)
	sev := report.Counts{Found: 66, Unknown: 44, Accepted: 55}
	sev.Severities.Critical, sev.Severities.Warning, sev.Severities.Notice = 11, 22, 33
	if got != sev {
		t.Errorf("%+v", got)
	}
}
