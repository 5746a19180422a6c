package store_test

import (
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// TestClonedAgent: where two machines use one key, the hub says so and believes neither:
// what one of them sends hides nothing that the other found. An operator's token, and
// nothing else, ends it.
func TestClonedAgent(t *testing.T) {
	means.Short(t, "takes seconds")
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	clean := func() message.State { return state(clear("a"), found("b", "y", trap.Notice)) }
	for name, speak := range map[string]func(t *testing.T, db *store.DB, real, thief *agent){
		// A clone of a machine with all its ids: it tells another state, then the first one speaks again.
		"the same machine twice": func(t *testing.T, db *store.DB, real, thief *agent) {
			ingest(t, db, store.Taken, at(10), thief.whole(clean()))
			ingest(t, db, store.NeedWhole, at(20), real.change(state(found("a", "x", trap.Critical), found("c", "", trap.Warning))))
		},
		// It says itself that it is another machine: one message is enough.
		"another machine": func(t *testing.T, db *store.DB, _, thief *agent) {
			m := thief.whole(clean())
			m.Self = &message.Self{Machine: "other"}
			ingest(t, db, store.Taken, at(10), m)
		},
		// A thief who goes on where the host is: what the host says then came before, by its number alone.
		"numbers ahead": func(t *testing.T, db *store.DB, real, thief *agent) {
			thief.instance, thief.seq = real.instance, 1000
			ingest(t, db, store.Taken, at(10), thief.whole(clean()))
			m := real.whole(state(found("a", "x", trap.Critical)))
			m.Sent = time.Now().Add(10 * time.Minute)
			got, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "Uh1", At: at(20)}})
			if err != nil || got[0].Verdict != store.Again {
				t.Fatal(got, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				real := join(t, db, "h1", "web")
				first := real.whole(state(found("a", "x", trap.Critical)))
				first.Self = &message.Self{Machine: "one"}
				ingest(t, db, store.Taken, at(0), first)
				thief := &agent{name: "h1", instance: "other"}
				speak(t, db, real, thief)
				h, err := db.HostByAgent(t.Context(), "h1")
				if err != nil {
					t.Fatal(err)
				}
				list, err := db.Findings(t.Context(), h.ID, 0, 10)
				if err != nil || !strings.Contains(subjects(list), "a:x critical") {
					t.Errorf("%s hides what the host found: %s, %v", name, subjects(list), err)
				}
				if h.Twin.IsZero() {
					t.Error("nobody is told")
				}
				before := subjects(list)
				for i := range 4 { // whoever speaks now is not believed
					for _, a := range []*agent{thief, real} {
						if _, err := db.Ingest(t.Context(), []store.Item{{Message: a.whole(state()), Key: "Uh1", At: at(30 + i)}}); err != nil {
							t.Fatal(err)
						}
					}
				}
				list, err = db.Findings(t.Context(), h.ID, 0, 10)
				if err != nil || subjects(list) != before {
					t.Errorf("one of the two is believed: %s, was %s, %v", subjects(list), before, err)
				}
				agree(t, db)
				if l, err := db.Hosts(t.Context(), store.HostQuery{Scope: store.Everything, Twins: true, Limit: 5}); err != nil || len(l) != 1 {
					t.Errorf("hosts of which two machines use the key: %d, %v", len(l), err)
				}
				// The operator shuts both out, and gives a token to one.
				if err := db.Rekey(t.Context(), h.ID); err != nil {
					t.Fatal(err)
				}
				ingest(t, db, store.Stranger, at(40), thief.whole(state()), real.whole(state()))
				if err := db.AddToken(t.Context(), store.Token{Hash: "again", Expires: time.Now().Add(time.Hour), Uses: 1, Agent: "h1"}); err != nil {
					t.Fatal(err)
				}
				if _, err := db.JoinByToken(t.Context(), "again", store.Joining{Host: "h1", Key: "Unew"}); err != nil {
					t.Fatal(err)
				}
				m := (&agent{name: "h1", instance: "third"}).whole(state(found("d", "", trap.Warning)))
				m.Self = &message.Self{Machine: "one"}
				got, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "Unew", At: at(50)}})
				if err != nil || got[0].Verdict != store.Taken {
					t.Fatal(got, err)
				}
				if h, err = db.HostByAgent(t.Context(), "h1"); err != nil || !h.Twin.IsZero() || h.Counts.Warning != 1 || h.Counts.Critical != 0 {
					t.Errorf("with its new key: %+v, %v", h, err)
				}
				ingest(t, db, store.Stranger, at(60), thief.whole(state()))
				agree(t, db)
			})
		})
	}
}

func subjects(list []store.Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Trap+":"+f.Subject+" "+f.Severity)
	}
	return strings.Join(out, ", ")
}

// TestRestartsAreNoTwins: an agent that restarts, and sends what it kept from before,
// is one machine.
func TestRestartsAreNoTwins(t *testing.T) {
	means.Short(t, "takes seconds")
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "h1", "web")
		old := a.whole(state(found("a", "x", trap.Critical)))
		kept := a.change(state(clear("a")))
		ingest(t, db, store.Taken, began, old, kept)
		a.instance, a.seq = "two", 0
		ingest(t, db, store.Taken, began.Add(time.Hour), a.whole(state()))
		ingest(t, db, store.Again, began.Add(30*time.Second), kept) // sent once more, and late
		if h, err := db.HostByAgent(t.Context(), "h1"); err != nil || !h.Twin.IsZero() || h.Counts.Critical != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		for i := range 30 {
			a.instance, a.seq = strings.Repeat("x", i+1), 0
			ingest(t, db, store.Taken, began.Add(time.Duration(i+2)*time.Hour), a.whole(state()))
		}
		if h, err := db.HostByAgent(t.Context(), "h1"); err != nil || !h.Twin.IsZero() {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

// TestRejoinedIsOne: a host that got another key has no other machine beside it any more.
func TestRejoinedIsOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "h1", "web")
		for i, machine := range []string{"one", "other"} {
			m := a.whole(state(clear("a")))
			m.Self = &message.Self{Machine: machine}
			ingest(t, db, store.Taken, began.Add(time.Duration(i)*time.Minute), m)
		}
		h, err := db.HostByAgent(t.Context(), "h1")
		if err != nil {
			t.Fatal(err)
		}
		if list, err := db.Speakers(t.Context(), h.ID); err != nil || len(list) == 0 {
			t.Fatalf("nobody is said to use the key: %v", err)
		}
		tok := store.Token{Hash: "again", Expires: time.Now().Add(time.Hour), Uses: 1, Agent: "h1"}
		if err := db.AddToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if _, err := db.JoinByToken(t.Context(), "again", store.Joining{Agent: "new", Host: "web1", Key: "Uh1b", How: "token"}); err != nil {
			t.Fatal(err)
		}
		if list, err := db.Speakers(t.Context(), h.ID); err != nil || len(list) > 0 {
			t.Errorf("machines of before: %+v, %v", list, err)
		}
	})
}
