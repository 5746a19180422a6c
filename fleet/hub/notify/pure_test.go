package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/config"
	"fettle/report"
)

// at is a time of November 2026 here, whose 24th is a Tuesday.
func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.Local)
}

// TestSpan: hours begin with their first minute and end before their last one; over midnight they belong to the day before.
func TestSpan(t *testing.T) {
	day := span{from: 8 * 60, to: 17*60 + 30}
	night := span{from: 22 * 60, to: 6 * 60, days: []time.Weekday{time.Tuesday}}
	for _, c := range []struct {
		span span
		at   time.Time
		want bool
	}{
		{day, at(24, 7, 59), false}, {day, at(24, 8, 0), true}, {day, at(24, 17, 29), true}, {day, at(24, 17, 30), false},
		{night, at(24, 21, 59), false}, {night, at(24, 22, 0), true}, {night, at(25, 0, 0), true}, {night, at(25, 5, 59), true},
		{span{from: 22 * 60, to: 6 * 60}, at(25, 6, 0), false},
		{night, at(25, 6, 0), false}, {night, at(24, 5, 59), false}, {night, at(25, 22, 0), false},
	} {
		if got := c.span.holds(c.at); got != c.want {
			t.Errorf("%+v at %s: %t", c.span, c.at, got)
		}
	}
}

// TestLastWindow: the last one that had ended, and none of a window that comes once and has not.
func TestLastWindow(t *testing.T) {
	day, night := span{from: 2*60 + 5, to: 4*60 + 10}, span{from: 22*60 + 5, to: 60 + 10}
	tuesdays := night
	tuesdays.days = []time.Weekday{time.Tuesday}
	once := Window{begins: at(24, 2, 0), end: at(24, 4, 0)}
	for _, c := range []struct {
		w            Window
		at, from, to time.Time
	}{
		{Window{span: day}, at(24, 4, 10), at(24, 2, 5), at(24, 4, 10)},
		{Window{span: day}, at(24, 4, 9), at(23, 2, 5), at(23, 4, 10)},
		{Window{span: night}, at(24, 1, 10), at(23, 22, 5), at(24, 1, 10)},
		{Window{span: night}, at(24, 1, 9), at(22, 22, 5), at(23, 1, 10)},
		{Window{span: night}, at(24, 23, 0), at(23, 22, 5), at(24, 1, 10)},
		{Window{span: tuesdays}, at(27, 12, 0), at(24, 22, 5), at(25, 1, 10)},
		{Window{span: tuesdays}, at(25, 1, 9), at(17, 22, 5), at(18, 1, 10)},
		{once, at(24, 3, 59), time.Time{}, time.Time{}},
		{once, at(24, 4, 0), once.begins, once.end},
	} {
		if from, to := c.w.last(c.at); !from.Equal(c.from) || !to.Equal(c.to) {
			t.Errorf("%+v at %s: %s to %s, want %s to %s", c.w.span, c.at, from, to, c.from, c.to)
		}
	}
	for when, open := range map[time.Time]bool{at(24, 1, 59): false, at(24, 2, 0): true, at(24, 3, 59): true, at(24, 4, 0): false} {
		if once.open(when) != open {
			t.Errorf("at %s it is open: %t", when, !open)
		}
	}
}

// TestDue: a digest is due daily, or on its day, at its minute.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		how, at   string
		now, want time.Time
	}{
		{"daily", "", at(24, 7, 0), at(24, 7, 0)}, {"daily", "07:05", at(24, 7, 4), at(23, 7, 5)},
		{"weekly", "", at(24, 6, 0), at(23, 7, 0)}, {"weekly", "18:30", at(23, 18, 29), at(16, 18, 30)},
		{"weekly", "Saturday 07:10", at(24, 12, 0), at(21, 7, 10)}, {"weekly", "sun 07:10", at(22, 7, 10), at(22, 7, 10)},
	} {
		s, err := parseSchedule(c.how, c.at)
		if got := s.last(c.now); err != nil || !got.Equal(c.want) {
			t.Errorf("%s %q at %s: %s, %v; want %s", c.how, c.at, c.now, got, err, c.want)
		}
	}
	for _, bad := range [][2]string{{"daily", "mon 07:00"}, {"weekly", "mon tue 07:00"}, {"weekly", "x 07:00"}, {"daily", "7"}} {
		if s, err := parseSchedule(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), ": expected ") {
			t.Errorf("%s: %+v, %v", bad, s, err)
		}
	}
}

// TestCounts: those of the channel's groups, whatever the order.
func TestCounts(t *testing.T) {
	sums := func(by int) store.Sums {
		return store.Sums{Critical: by, Warning: 20 * by, Notice: 300 * by, Unknown: 4 * by, Accepted: 5 * by}
	}
	c := Channel{Match: Match{Groups: config.Words{"w*", "db"}}}
	got := c.counts([]store.Group{{Name: "other", Sums: sums(7)}, {Name: "web", Sums: sums(1)}, {Name: "", Sums: sums(9)},
		{Name: "db", Sums: sums(2)}})
	want := report.Counts{Found: 963, Unknown: 12, Accepted: 15}
	want.Severities.Critical, want.Severities.Warning, want.Severities.Notice = 3, 60, 900
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestTexts: a digest and a window's restarts have a title for what there is, and say how much more there is.
func TestTexts(t *testing.T) {
	d := digest{Hub: "hub", URL: "https://hub", Period: "since then", Hosts: 3, New: 4, Resolved: 5}
	d.Counts.Severities.Critical, d.Counts.Severities.Warning, d.Counts.Severities.Notice = 1, 2, 3
	const counted = ", 1 critical, 2 warning, 3 notice; 4 new, 5 resolved\nsince then\n"
	d.Groups = []row{{"web", 0, 0, 1, "2 hosts"}, {"db", 0, 0, 0, "1 host"}}
	const groups = "\nGroups\n  web: 0 critical, 0 warning, 1 notice, 2 hosts\n  db: 1 host\n"
	if got, want := d.text(), "hub: 3 hosts"+counted+"https://hub\n"+groups; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.URL, d.AllSilent, d.Silent = "", 1, []row{{Name: "a", Note: "never reported"}}
	if got, want := d.text(), "hub: 1 of 3 hosts silent"+counted+"\nSilent hosts\n  a: never reported\n"+groups; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if d.AllSilent = 2; !strings.Contains(d.text(), "  a: never reported\n  and 1 more\n") {
		t.Errorf("%q", d.text())
	}

	came := store.Sum(nil)
	const title = "night\n0 hosts restarted"
	if got := listed("night", &came); got != title+"\n" {
		t.Errorf("%q", got)
	}
	came.Causes = []store.Cause{{Subject: "x", Severity: "warning", Summary: "s", Hosts: []store.HostRef{{Name: "a"}}}}
	if got := listed("night", &came); got != title+"\n\nCame back without\n  warning x: s: a\n" {
		t.Errorf("%q", got)
	}
	came.Causes, came.NotCompared = nil, []store.HostRef{{Name: "b"}}
	const not = "not compared\n\nNot compared, since they have no earlier snapshot, or an older agent\n  b\n"
	if got := listed("night", &came); !strings.HasSuffix(got, not) {
		t.Errorf("%q", got)
	}
	came.NotCompared = nil
	for i := range windowRows {
		came.Away = append(came.Away, store.AwayHost{Host: store.HostRef{Name: fmt.Sprint("h", i)}, Since: at(24, 3, 4), Stopped: i == 0})
	}
	got := listed("night", &came)
	if !strings.Contains(got, "\nNot come back\n  h0: stopped at 03:04\n  h1: silent since 03:04\n") ||
		!strings.HasSuffix(got, "  h49: silent since 03:04\n") {
		t.Errorf("%q", got)
	}
	came.Away = append(came.Away, came.Away[0])
	if got := listed("night", &came); !strings.HasSuffix(got, "  h49: silent since 03:04\n  and 1 more\n") {
		t.Errorf("%q", got)
	}
	rows := []row{{Name: "d"}, {Name: "c", Notice: 1}, {Name: "b", Warning: 1}, {Name: "a", Critical: 1}, {Name: "B", Warning: 1}}
	worst(rows)
	order := ""
	for _, r := range rows {
		order += r.Name
	}
	if order != "aBbcd" {
		t.Errorf("the worst first: %s", order)
	}
	for want, w := range map[string][2]time.Time{
		"maintenance (Tue 24 November 02:00 to 04:00)":     {at(24, 2, 0), at(24, 4, 0)},
		"maintenance (Tue 24 November 22:00 to Wed 04:00)": {at(24, 22, 0), at(25, 4, 0)},
	} {
		if got := (&Window{}).title(w[0], w[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSaidOnce: what stays so is logged once, what is new is.
func TestSaidOnce(t *testing.T) {
	var said []string
	n := &Notifier{Log: func(s string) { said = append(said, s) }}
	for _, s := range []string{"a", "a", "b", "a"} {
		n.log("k", s)
	}
	n.log("other", "a")
	if got := strings.Join(said, " "); got != "a b a a" {
		t.Error(got)
	}
}

// TestSilentSince: nobody is silent until agents have had time to come back to a hub that started.
func TestSilentSince(t *testing.T) {
	now := at(24, 12, 0)
	for _, c := range []struct {
		silent, up time.Duration
		want       bool
	}{{0, time.Hour, false}, {time.Hour, comeBack - 1, false}, {time.Hour, comeBack, true}, {time.Minute, time.Minute - 1, false},
		{time.Minute, time.Minute, true}} {
		n := &Notifier{Silent: c.silent, Started: now.Add(-c.up)}
		if got := n.silentSince(now); got.IsZero() == c.want || c.want && !got.Equal(now.Add(-c.silent)) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
