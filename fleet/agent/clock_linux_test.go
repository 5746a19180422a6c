package agent

import (
	"testing"
	"time"

	"fettle/fleet/agent/spool"
)

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
