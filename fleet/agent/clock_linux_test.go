package agent

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/fleet/agent/spool"
)

// The clock that nobody sets is the kernel's: sysinfo(2) has the same, in whole seconds.
func TestUptime(t *testing.T) {
	var info unix.Sysinfo_t
	before := uptime()
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	after := uptime()
	if is := time.Duration(info.Uptime) * time.Second; is < before-time.Second || is > after+time.Second || after < before {
		t.Errorf("up for %s, then %s; the kernel says %s", before, after, is)
	}
}

// TestAge: what a message's age is where the host's clock was wrong, or was set since.
func TestAge(t *testing.T) {
	up, now, day := uptime(), time.Now(), 24*time.Hour
	a := &Agent{Config: Config{Now: func() time.Time { return now }}, member: &Member{joined: now.Add(-30 * day)}}
	for name, c := range map[string]struct {
		e    spool.Entry
		want time.Duration
	}{
		"of this start": {spool.Entry{Boot: bootID(), Uptime: (up - 20*time.Minute).Milliseconds(),
			Wall: now.Add(5 * day)}, 20 * time.Minute},
		"of this start, in the future":     {spool.Entry{Boot: bootID(), Uptime: (up + time.Hour).Milliseconds()}, 0},
		"of an earlier start":              {spool.Entry{Boot: "earlier", Wall: now.Add(-9 * day)}, 9 * day},
		"the clock was five days ahead":    {spool.Entry{Boot: "earlier", Wall: now.Add(5 * day)}, up},
		"the clock was at its beginning":   {spool.Entry{Boot: "earlier", Wall: time.Unix(77, 0)}, up},
		"before this start, and yet later": {spool.Entry{Boot: "earlier", Wall: now.Add(-up / 2)}, up},
	} {
		if got := a.age(&c.e); (got - c.want).Abs() > 2*time.Second {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
