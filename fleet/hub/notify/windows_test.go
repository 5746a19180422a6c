package notify_test

import (
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// stops is the last word of a host that stops.
func (f *fleet) stops(name string) {
	f.t.Helper()
	f.seq[name]++
	m := message.New(message.Beat)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Why = name, "one", f.seq[name], f.now, message.Stopping
	res, err := f.db.Ingest(f.t.Context(), []store.Item{{Message: m, Key: "U" + name, At: f.now}})
	if err != nil || res[0].Verdict != store.Taken {
		f.t.Fatal(res, err)
	}
}

// TestWindows: what came of the restarts of a patch night is told once, when it is over.
func TestWindows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFleet(t, db, mail+`maintenance:
- {name: patch night web, groups: web, from: "12:00", to: "14:00"}
- {groups: db, from: "2026-11-24 12:00", to: "2026-11-24 13:00"}
`)
		lost := func(subject string) trap.Outcome {
			return trap.Outcome{Trap: "not-as-before", Subject: subject, Status: trap.Found, Severity: trap.Warning, Summary: "failed at this start"}
		}
		f.now = noon.Add(-time.Hour)
		for _, name := range []string{"web1", "web2", "web3", "web4", "web5", "web6"} {
			f.reports(name, "web", "1")
		}
		f.reports("db1", "db", "1")
		f.reports("app1", "app", "1")
		want(t, "before", f.after(0), "")
		f.now = noon.Add(10 * time.Minute)
		for _, name := range []string{"web1", "web2", "web3"} {
			f.stops(name)
		}
		want(t, "they stop", f.after(5*time.Minute), "")
		f.compared = "2"
		f.reports("web1", "web", "2")
		f.reports("web2", "web", "2", lost("nginx.service"))
		f.reports("db1", "db", "2", lost("/srv"), found("a", trap.Critical))
		f.reports("app1", "app", "2", lost("squid.service"))
		f.compared = ""
		f.reports("web4", "web", "2") // an older agent
		f.reports("web5", "web", "1") // was not restarted
		want(t, "of others one hears at once", f.after(0), "hub: 1 new (1 warning) on 1 host")

		f.now = noon.Add(time.Hour + time.Second)
		want(t, "the small window ends: findings", f.after(0), "hub: 1 new (1 critical) on 1 host")
		f.now = noon.Add(time.Hour + 16*time.Minute)
		want(t, "and its restarts", f.after(0), "hub: maintenance (Tue 24 November 12:00 to 13:00): 1 host restarted, 1 without something")
		want(t, "once", f.after(time.Minute), "")

		f.now = noon.Add(90 * time.Minute)
		f.reports("web1", "web", "2")
		f.reports("web2", "web", "2", lost("nginx.service"))
		f.reports("web4", "web", "2")
		f.reports("app1", "app", "2", lost("squid.service"))
		f.reports("db1", "db", "2", lost("/srv"), found("a", trap.Critical))
		// web6 said nothing: it is away once it should have spoken.
		f.now = noon.Add(2*time.Hour + 16*time.Minute)
		f.reports("web5", "web", "1")
		f.n.URL = "https://hub.example.org"
		f.round()
		if len(f.got.messages) != 1 {
			t.Fatalf("%d messages: %s", len(f.got.messages), f.taken())
		}
		text := f.got.messages[0].Plain
		want(t, "the patch night ends", f.taken(), "hub: patch night web (Tue 24 November 12:00 to 14:00): 3 hosts restarted, "+
			"1 as before, 1 without something, 1 not compared, 2 have not come back")
		for _, line := range []string{"patch night web (Tue 24 November 12:00 to 14:00)\n", "web3: stopped at 12:10", "web6: silent since 11:00",
			"warning nginx.service: failed at this start: web2\n", "older agent\n  web4\n", "\nhttps://hub.example.org/restarts\n"} {
			if !strings.Contains(text, line) {
				t.Errorf("without %q:\n%s", line, text)
			}
		}
		want(t, "web6 is silent for three hours", f.after(time.Minute), "hub: 1 new (1 warning) on 1 host")
		f.compared = "2"
		f.reports("web2", "web", "2")
		f.reports("web3", "web", "2")
		want(t, "its end is told", f.after(0), "hub: 1 resolved on 1 host")
	})
}

// TestAwayAgain: what a host lacked that went away once more is not among what a window's restarts lack, and is told by itself.
func TestAwayAgain(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail+"maintenance:\n- {from: \"12:00\", to: \"14:00\"}\n")
	f.now = noon.Add(-time.Hour)
	f.reports("web1", "web", "1")
	want(t, "before", f.after(0), "")
	f.now = noon.Add(90 * time.Minute)
	f.compared = "2"
	f.reports("web1", "web", "2", trap.Outcome{Trap: "not-as-before", Subject: "nginx.service", Status: trap.Found, Severity: trap.Warning,
		Summary: "failed at this start"})
	f.now = noon.Add(110 * time.Minute)
	f.stops("web1")
	f.now = noon.Add(2*time.Hour + 16*time.Minute)
	f.round()
	want(t, "the window is over", f.taken(), "hub: maintenance (Tue 24 November 12:00 to 14:00): 0 hosts restarted, 1 has not come back")
	want(t, "what it lacked", f.after(0), "hub: 1 new (1 warning) on 1 host")
}

// TestWindowsQuiet: at night nobody is told of restarts; in the morning he is.
func TestWindowsQuiet(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail+"  quiet: {from: \"22:00\", to: \"07:00\"}\nmaintenance:\n- {from: \"02:00\", to: \"04:00\"}\n")
	f.reports("web1", "web", "1")
	want(t, "before", f.after(0), "")
	f.now = noon.Add(15 * time.Hour)
	f.reports("web1", "web", "2")
	f.now = noon.Add(17 * time.Hour)
	f.reports("web1", "web", "2")
	want(t, "at five", f.after(0), "")
	f.now = noon.Add(19*time.Hour + 10*time.Minute)
	f.reports("web1", "web", "2")
	want(t, "in the morning", f.after(0), "hub: maintenance (Wed 25 November 02:00 to 04:00): 1 host restarted, 1 not compared")
}

// TestWindowsOfNewChannel: what was before it is none of its business.
func TestWindowsOfNewChannel(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail+"maintenance:\n- {groups: web, from: \"10:00\", to: \"11:00\"}\n")
	f.now = noon.Add(-90 * time.Minute)
	f.reports("web1", "web", "1")
	f.reports("web1", "web", "2")
	f.now = noon
	want(t, "at its first round", f.after(0), "")
	f.now = noon.Add(22*time.Hour + 30*time.Minute)
	f.reports("web1", "web", "3")
	f.now = noon.Add(23*time.Hour + 20*time.Minute)
	want(t, "the next day", f.after(0), "hub: maintenance (Wed 25 November 10:00 to 11:00): 1 host restarted, 1 not compared")
}

// TestAway: in a window's restarts a host is away that has missed a beat, or been silent for as long as the hub allows.
func TestAway(t *testing.T) {
	for silent, c := range map[time.Duration]struct {
		since time.Duration
		away  bool
	}{
		20 * time.Minute: {21 * time.Minute, true},
		24 * time.Hour:   {store.AwayAfter + time.Minute, true},
		23 * time.Hour:   {store.AwayAfter - time.Minute, false},
	} {
		f := newFleet(t, storetest.SQLite(t), mail+"maintenance:\n- {from: \"12:00\", to: \"14:00\"}\n")
		f.n.Silent = silent
		f.now = noon.Add(-time.Hour)
		f.reports("web1", "web", "1")
		f.reports("web2", "web", "1")
		f.round()
		f.now = noon.Add(time.Hour)
		f.reports("web2", "web", "2")
		end := noon.Add(2*time.Hour + 15*time.Minute)
		f.now = end.Add(-c.since)
		f.reports("web1", "web", "1")
		f.now = end
		f.reports("web2", "web", "2")
		f.round()
		if len(f.got.messages) != 1 || strings.Contains(f.got.messages[0].Plain, "/restarts") {
			t.Errorf("%d messages, or a link to nowhere", len(f.got.messages))
		}
		got := f.taken()
		if !strings.Contains(got, "1 host restarted") || strings.Contains(got, "1 has not come back") != c.away {
			t.Errorf("silent for %s of %s: %q", c.since, silent, got)
		}
	}
}
