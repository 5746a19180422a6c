package logflood

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestFloods: how many lines, of what part of all, and how fast, make a flood, and of whom it is said.
func TestFloods(t *testing.T) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	say := func(unit, by, text string, count int) host.Message {
		return host.Message{Unit: unit, By: by, Text: text, Count: count}
	}
	const one = " floods the log with one message: a"
	const few = " floods the log with the same few messages, over and over"
	for _, c := range []struct {
		name     string
		messages []host.Message
		lines    int
		over     time.Duration
		want     string
	}{
		{"just enough, just half, just one a second", []host.Message{say("a.service", "a", "a", 2000)}, 4000, 2000 * time.Second,
			"notice a.service" + one},
		{"a line less", []host.Message{say("a.service", "a", "a", 1999)}, 3998, 1999 * time.Second, ""},
		{"less than half", []host.Message{say("a.service", "a", "a", 2000)}, 4001, 2000 * time.Second, ""},
		{"slower", []host.Message{say("a.service", "a", "a", 2000)}, 4000, 2001 * time.Second, ""},
		{"nine a second", []host.Message{say("a.service", "a", "a", 9000)}, 9000, 1000 * time.Second, "notice a.service" + one},
		{"ten a second", []host.Message{say("a.service", "a", "a", 10000)}, 10000, 1000 * time.Second, "warning a.service" + one},
		{"just half, and just not", []host.Message{say("b.service", "b", "b", 3001), say("a.service", "a", "a", 3000)}, 6002, time.Minute,
			"warning b.service floods the log with one message: b"},
		{"after a few", []host.Message{say("b.service", "b", "b", 10), say("a.service", "a", "a", 3000)}, 3010, time.Minute,
			"warning a.service" + one},
		{"two, four of five", []host.Message{say("a.service", "a", "a", 2400), say("a.service", "a", "b", 2400)}, 6000, time.Minute,
			"warning a.service" + few},
		{"two, less than that", []host.Message{say("a.service", "a", "a", 2400), say("a.service", "a", "b", 2399)}, 6000, time.Minute, ""},
		{"three, and a fourth that does not count", []host.Message{say("a.service", "a", "a", 1600), say("a.service", "a", "b", 1600),
			say("a.service", "a", "c", 1599),
			say("a.service", "a", "d", 1000)}, 6000, time.Minute, ""},
		{"one of them is half", []host.Message{say("a.service", "a", "a", 3000), say("a.service", "a", "b", 100)}, 6000, time.Minute,
			"warning a.service" + one},
		{"of a user", []host.Message{say("user@1000.service", "app", "a", 2000), say("session-3.scope", "other", "a", 10)}, 3000, time.Minute,
			"warning app" + one},
		{"90 characters", []host.Message{say("a.service", "a", strings.Repeat("é", 90), 2000)}, 2000, time.Minute,
			"warning a.service floods the log with one message: " + strings.Repeat("é", 90)},
		{"91 characters", []host.Message{say("a.service", "a", strings.Repeat("é", 91), 2000)}, 2000, time.Minute,
			"warning a.service floods the log with one message: " + strings.Repeat("é", 89) + "…"},
		{"some were left out", []host.Message{say("a.service", "a", "a", 2000), say("systemd-journald.service", "systemd-journald",
			"Suppressed 7 messages", 2),
			say("x.service", "x", "Suppressed by x", 1), say("systemd-journald.service", "systemd-journald", "Time spent", 1)}, 2004, time.Minute,
			"warning a.service" + one + " (Suppressed 7 messages)"},
	} {
		log := host.Log{Source: "journalctl", Lines: c.lines, Since: until.Add(-c.over), Until: until, Messages: c.messages}
		for i := range log.Messages {
			log.Messages[i].First, log.Messages[i].Last = log.Since, until
		}
		b, err := json.Marshal(host.Journal{Recent: log})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range traptest.Run(t, &Trap, hosttest.New(t, "-- table/journal --\n"+string(b)+"\n")) {
			if o.Summary == "" || o.Severity.String() == "" || o.Status != "found" {
				continue
			}
			said := fmt.Sprintf("%s %s %s", o.Severity, o.Subject, o.Summary)
			for _, e := range o.Evidence {
				if _, by, ok := strings.Cut(e.Source, "("); ok && !strings.HasPrefix(by, o.Subject[:1]) {
					said += " (" + strings.SplitN(e.Value, " (", 2)[0] + ")"
				}
			}
			got = append(got, said)
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, all, c.want)
		}
	}
}
