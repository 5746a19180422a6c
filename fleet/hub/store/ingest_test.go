package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/fleet/hub/synthetic"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

func TestMain(m *testing.M) { os.Exit(storetest.Run(m)) }

// agent sends as an agent does.
type agent struct {
	name, instance string
	seq            int64
	last           *message.State
}

func (a *agent) message(kind message.Kind) *message.Message {
	a.seq++
	m := message.New(kind)
	m.Agent, m.Instance, m.Seq, m.Sent = a.name, a.instance, a.seq, time.Now()
	return m
}

func (a *agent) whole(s message.State) *message.Message {
	m := a.message(message.Whole)
	m.Digest, m.Run = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
	a.last = &s
	return m
}

func (a *agent) change(s message.State) *message.Message {
	m := a.message(message.Change)
	m.Base, m.Digest, m.Run = a.last.Digest(), s.Digest(), s.Since(a.last)
	a.last = &s
	return m
}

// join adds a host, and returns its agent.
func join(t testing.TB, db *store.DB, name, group string) *agent {
	t.Helper()
	hash := "token of " + name
	if err := db.AddToken(t.Context(), store.Token{Hash: hash, Created: time.Now(), Expires: time.Now().Add(time.Hour), Uses: 1,
		Group: group}); err != nil {
		t.Fatal(err)
	}
	got, err := db.JoinByToken(t.Context(), hash, store.Joining{Agent: name, Host: name, Key: "U" + name, How: "token"})
	if err != nil || got != name {
		t.Fatalf("%q, %v", got, err)
	}
	return &agent{name: name, instance: "one"}
}

func ingest(t testing.TB, db *store.DB, want store.Verdict, at time.Time, ms ...*message.Message) {
	t.Helper()
	var items []store.Item
	for _, m := range ms {
		b, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if m, err = message.Unpack(b); err != nil {
			t.Fatal(err)
		}
		items = append(items, store.Item{Message: m, Key: "U" + m.Agent, At: at})
	}
	var got []store.Result
	for len(got) < len(items) {
		some, err := db.Ingest(t.Context(), items[len(got):])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, some...)
	}
	for i, v := range got {
		if v.Verdict != want {
			t.Fatalf("message %d: %+v, want %d", i, v, want)
		}
	}
}

var began = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

func state(results ...trap.Result) message.State {
	return message.StateOf(
		report.NewDocument(report.Meta{Host: "web1", Kind: host.KindLive, Version: "1", Started: began}, nil, results, time.Second),
	)
}

func found(name, subject string, sev trap.Severity) trap.Result {
	return trap.Result{
		Trap: name,
		Outcomes: []trap.Outcome{
			{
				Trap:     name,
				Subject:  subject,
				Status:   trap.Found,
				Severity: sev,
				Summary:  name + " is met",
				Evidence: []trap.Evidence{{Source: "/etc/x", Value: "y"}},
			},
		},
	}
}

func blind(name string) trap.Result {
	return trap.Result{Trap: name, Outcomes: []trap.Outcome{{Trap: name, Status: trap.Unknown, Reason: "denied"}}}
}

func clear(name string) trap.Result {
	return trap.Result{Trap: name, Outcomes: []trap.Outcome{{Trap: name, Status: trap.Clear}}}
}

func events(t *testing.T, db *store.DB, host int64) string {
	t.Helper()
	es, err := db.HostEvents(t.Context(), host, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(es)
	var out []string
	for _, e := range es {
		out = append(out, fmt.Sprintf("%s %s:%s at %d", e.Kind, e.Trap, e.Subject, e.At.Sub(began)/time.Hour))
	}
	return strings.Join(out, ", ")
}

func TestAHostsHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "h1", "web")
		hour := func(n int) time.Time { return began.Add(time.Duration(n) * time.Hour) }
		first := a.whole(state(found("a", "x", trap.Critical), blind("b"), clear("c")))
		ingest(t, db, store.Taken, hour(0), first)
		ingest(t, db, store.Again, hour(0), first)
		ingest(t, db, store.Taken, hour(1), a.change(state(clear("a"), blind("b"), found("c", "y", trap.Notice))))
		ingest(t, db, store.Taken, hour(2), a.change(state(found("a", "x", trap.Critical), blind("b"), blind("c"))))
		ingest(t, db, store.Taken, hour(3), a.change(state(found("a", "x", trap.Warning), clear("b"), found("c", "y", trap.Notice))))
		ingest(t, db, store.Taken, hour(4), a.change(*a.last))
		h, err := db.HostByAgent(t.Context(), "h1")
		if err != nil {
			t.Fatal(err)
		}
		want := "new a:x at 0, new c:y at 1, resolved a:x at 1, returned a:x at 2, unseen c:y at 2, unseen c: at 2, seen c:y at 3, changed " +
			"a:x at 3, seen b: at 3, seen c: at 3"
		if got := events(t, db, h.ID); got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
		if h.Name != "web1" || h.Group != "web" || !h.Checked.Equal(hour(4)) || h.Counts != (store.Counts{Warning: 1, Notice: 1, Clear: 1}) {
			t.Errorf("%+v", h)
		}
		// A change of a state that the hub does not have changes nothing but when
		// the agent was seen.
		beat := func(digest string) *message.Message {
			m := a.message(message.Beat)
			m.Digest = digest
			return m
		}
		ingest(t, db, store.Taken, hour(5), beat(a.last.Digest()))
		ingest(t, db, store.Taken, hour(5), beat("")) // of one that has no report yet
		ingest(t, db, store.NeedWhole, hour(5), beat("another"))
		if h, err := db.HostByAgent(t.Context(), "h1"); err != nil || !h.Seen.Equal(hour(5)) || !h.Checked.Equal(hour(4)) {
			t.Errorf("after a beat: %+v, %v", h, err)
		}
		lost := a.change(state(found("d", "", trap.Critical)))
		_ = lost
		ingest(t, db, store.NeedWhole, hour(5), a.change(state(found("e", "", trap.Critical))))
		ingest(t, db, store.Again, hour(5), lost)
		ingest(t, db, store.Taken, hour(6), a.whole(state(found("e", "", trap.Critical))))
		if d, err := db.Document(t.Context(), h.ID); err != nil || len(d.Results) != 1 || d.Results[0].Trap != "e" {
			t.Errorf("%+v, %v", d, err)
		}
		// Restarted, with a clock that is a day behind.
		a.instance, a.seq = "two", 0
		ingest(t, db, store.Taken, hour(-24), a.whole(state(clear("e"))))
		if got := events(t, db, h.ID); !strings.HasSuffix(got, "resolved e: at 6") {
			t.Error(got)
		}
		ingest(t, db, store.Again, hour(7), first)
		if h, _ := db.HostByAgent(t.Context(), "h1"); !h.Twin.IsZero() {
			t.Error("what came twice was taken for another host's")
		}
		other := &agent{name: "h1", instance: "one", seq: 20}
		ingest(t, db, store.Taken, hour(8), other.whole(state(found("f", "", trap.Notice))))
		if h, _ := db.HostByAgent(t.Context(), "h1"); h.Twin.IsZero() {
			t.Error("two hosts with the same credentials were not noticed")
		}
		// The hub signed its key, and the database is of before that.
		adopted := &agent{name: "h2", instance: "one"}
		ingest(t, db, store.Taken, hour(8), adopted.whole(state()))
		// What was sent before is missing.
		adopted.seq++
		items := []store.Item{{Message: adopted.whole(state()), Key: "Uh2", Prev: 2, At: hour(9)}}
		if got, err := db.Ingest(t.Context(), items); err != nil || !reflect.DeepEqual(got[0], store.Result{Verdict: store.Gap, Seq: 1}) {
			t.Errorf("%+v, %v", got, err)
		}
		agree(t, db)
	})
}

// TestAdopted: a key that the hub signed and the database does not know takes the
// place of the one that it knows; a key that was revoked never again.
func TestAdopted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		join(t, db, "h1", "web")
		say := func(want store.Verdict, key string) {
			t.Helper()
			a := &agent{name: "h1", instance: "of" + strings.ToLower(key)}
			got, err := db.Ingest(t.Context(), []store.Item{{Message: a.whole(state()), Key: key, At: began}})
			if err != nil || got[0].Verdict != want {
				t.Errorf("%s: %+v, %v, want %d", key, got, err, want)
			}
		}
		revoked := func(want ...string) {
			t.Helper()
			got, err := db.Revoked(t.Context())
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("revoked: %v, %v, want %v", got, err, want)
			}
		}
		say(store.Taken, "Uh1")
		revoked()
		say(store.Taken, "Uanew") // joined after the backup
		revoked("Uh1")
		say(store.Stranger, "Uh1")
		h, err := db.HostByAgent(t.Context(), "h1")
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Retire(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		say(store.Stranger, "Uh1")
		say(store.Stranger, "Uanew")
		revoked("Uanew", "Uh1")
		say(store.Taken, "Uback")
		if h, err = db.HostByAgent(t.Context(), "h1"); err != nil || !h.Retired.IsZero() {
			t.Errorf("%+v, %v", h, err)
		}
		agree(t, db)
	})
}

// TestSumsAgree: whatever hosts report, the sums that pages read are those of
// the findings.
func TestSumsAgree(t *testing.T) {
	means.Short(t, "takes seconds")
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := synthetic.Fleet{Seed: 7, Hosts: 30, PerHost: 8, Start: began}
		var agents []*agent
		for i := range f.Hosts {
			agents = append(agents, join(t, db, f.Agent(i), f.Group(i%3)))
		}
		for day := range 60 {
			if day%10 != 0 {
				continue
			}
			var ms []*message.Message
			for i, a := range agents {
				if s := f.State(i, day); a.last == nil || i%7 == 0 {
					ms = append(ms, a.whole(s))
				} else {
					ms = append(ms, a.change(s))
				}
			}
			ingest(t, db, store.Taken, began.Add(time.Duration(day)*24*time.Hour), ms...)
			agree(t, db)
		}
		for i, a := range agents {
			h, err := db.HostByAgent(t.Context(), a.name)
			if err != nil {
				t.Fatal(err)
			}
			d, err := db.Document(t.Context(), h.ID)
			if err != nil {
				t.Fatal(err)
			}
			if want := f.Document(i, 50); d.Counts != want.Counts {
				t.Errorf("host %d: %+v, want %+v", i, d.Counts, want.Counts)
			}
		}
		h, _ := db.HostByAgent(t.Context(), agents[0].name)
		if err := db.Retire(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		agree(t, db)
		ingest(t, db, store.Stranger, began, agents[0].whole(f.State(0, 50)))
	})
}

func agree(t *testing.T, db *store.DB) {
	t.Helper()
	if err := db.Agree(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLargeAgrees: the fleets of measurements are none that could not be.
func TestLargeAgrees(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hub.db")
	storetest.Large{Fleet: synthetic.Fleet{Seed: 3, Hosts: 40, PerHost: 8, Start: began}, Days: 10, Changes: 5, Now: began}.Fill(t, file)
	agree(t, storetest.Open(t, file))
}
