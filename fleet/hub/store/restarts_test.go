package store_test

import (
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestRestarts: a host that said that it stops is away until it speaks again, also in the shortest
// way; the comparison that it then made stays known; who is retired is nobody's concern.
func TestRestarts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := join(t, db, "web1", "web"), join(t, db, "web2", "web")
		booted := func(boot string) message.State {
			s := state(found("bridge-mtu", "br0", trap.Warning))
			s.Meta.Identity.BootID = boot
			return s
		}
		at := began
		came := func(want string) {
			t.Helper()
			list, err := db.Restarts(t.Context(), store.Everything, began, at.Add(time.Hour), time.Time{})
			c := store.Sum(list)
			if err != nil || c.Headline() != want {
				t.Errorf("%q, %v, want %q", c.Headline(), err, want)
			}
		}
		says := func(ms ...*message.Message) {
			t.Helper()
			at = at.Add(time.Minute)
			ingest(t, db, store.Taken, at, ms...)
		}
		stops := func(x *agent) *message.Message {
			m := x.message(message.Beat)
			m.Why = message.Stopping
			return m
		}
		says(a.whole(booted("1")), b.whole(booted("1")))
		says(stops(a), stops(b))
		came("0 hosts restarted, 2 have not come back")
		unchanged := func(x *agent, compared string) *message.Message {
			m := x.change(*x.last)
			m.Self = &message.Self{Compared: compared}
			return m
		}
		says(unchanged(a, "")) // somebody stopped the agent alone
		came("0 hosts restarted, 1 has not come back")
		says(a.change(booted("2")), b.change(booted("2")))
		came("2 hosts restarted, 2 not compared")
		says(unchanged(a, "2"))
		says(unchanged(a, ""))
		came("2 hosts restarted, 1 as before, 1 not compared")
		h, err := db.HostByAgent(t.Context(), "web2")
		if err == nil {
			err = db.Retire(t.Context(), h.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		came("1 host restarted, 1 as before")
	})
}
