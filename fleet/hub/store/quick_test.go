package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestQuick: an answer that nothing changed is taken by one statement, and by it alone where the host is as it was;
// whatever is odd goes the long way.
func TestQuick(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "web1", "web")
		s := state(found("bridge-mtu", "br0", trap.Warning))
		ingest(t, db, store.Taken, began, a.whole(s))
		answer := func() *message.Message {
			m := a.change(s)
			m.Ask, m.Self = "q", &message.Self{Machine: "m", Every: time.Hour, Waiting: 3, Accepts: message.NoAccepts}
			return m
		}
		item := func(m *message.Message) store.Item {
			return store.Item{Message: m, Key: "Uweb1", Prev: m.Seq - 1, At: began.Add(time.Hour), Skew: time.Second}
		}
		for what, spoil := range map[string]func(*store.Item){
			"strange key":   func(it *store.Item) { it.Key = "Uother" },
			"taken before":  func(it *store.Item) { it.Message.Seq, it.Prev = 1, 0 },
			"gap":           func(it *store.Item) { it.Prev = 7; it.Message.Seq = 8 },
			"other agent":   func(it *store.Item) { it.Message.Instance = "two" },
			"another state": func(it *store.Item) { it.Message.Base, it.Message.Digest = "x", "x" },
			"failed":        func(it *store.Item) { it.Message.Run.Failed = "no fettle" },
			"gone":          func(it *store.Item) { it.Message.Run.Gone = []string{"bridge-mtu"} },
			"a beat":        func(it *store.Item) { it.Message.Kind = message.Beat },
			"unlike before": func(it *store.Item) { it.Message.Base = "x" },
			"nothing of it": func(it *store.Item) { it.Message.Self = nil },
			"a fix":         func(it *store.Item) { it.Message.Fixes = []message.Fix{{}} },
		} {
			it := item(answer())
			spoil(&it)
			if got, err := db.Quick(t.Context(), it); len(got) > 0 || err != nil {
				t.Errorf("%s: %v, %v", what, got, err)
			}
			a.seq--
		}
		it := item(answer())
		if got, err := db.Quick(t.Context(), it); err != nil || len(got) != 1 || got["web1"].Verdict != store.Taken || got["web1"].Seq != 2 ||
			got["web1"].Accepts != nil {
			t.Fatalf("%+v, %v", got, err)
		}
		if r, err := db.Ingest(t.Context(), []store.Item{it}); err != nil || r[0].Verdict != store.Taken {
			t.Fatal(r, err)
		}
		h, err := db.HostByAgent(t.Context(), "web1")
		if err != nil || h.LastAsk != "q" || !h.Checked.Equal(it.At) || !h.Seen.Equal(it.At) || h.Every != time.Hour || h.Waiting != 3 ||
			h.Skew != time.Second || h.Counts.Warning != 1 {
			t.Errorf("%+v, %v", h, err)
		}
		// What is late turns no clock back, and another machine is noticed.
		late := item(answer())
		late.At = began
		if _, err := db.Ingest(t.Context(), []store.Item{late}); err != nil {
			t.Fatal(err)
		}
		if h, err = db.HostByAgent(t.Context(), "web1"); err != nil || !h.Checked.Equal(it.At) {
			t.Errorf("%v, %v", h.Checked, err)
		}
		clone := item(answer())
		clone.Message.Self.Machine = "another"
		if got, err := db.Quick(t.Context(), clone); len(got) > 0 || err != nil {
			t.Errorf("another machine: %v, %v", got, err)
		}
		// An agent that does not have what is accepted is sent it.
		if err := db.Accept(t.Context(), store.Accepted{Host: store.HostRef{Agent: "web1"}, Trap: "bridge-mtu", Subject: "br0",
			Reason: "known", Who: "ann", At: began}, store.Audit{At: began, Who: "ann", What: "accept"}); err != nil {
			t.Fatal(err)
		}
		clone.Message.Self.Machine = "m"
		if got, err := db.Quick(t.Context(), clone); err != nil || got["web1"].Accepts == nil || len(got["web1"].Accepts.Entries) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestQuickOfMany: answers of many hosts in one transaction are taken each, and in order, also where some are odd and where
// one agent sends twice.
func TestQuickOfMany(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const hosts = 90
		s := state(found("bridge-mtu", "br0", trap.Warning))
		var agents []*agent
		var first, items []*message.Message
		for i := range hosts {
			a := join(t, db, fmt.Sprintf("web%d", i), "web")
			agents = append(agents, a)
			first = append(first, a.whole(s))
		}
		ingest(t, db, store.Taken, began, first...)
		for round := range 2 {
			for i, a := range agents {
				m := a.change(s)
				m.Ask, m.Self = fmt.Sprintf("q%d", round), &message.Self{Every: time.Hour}
				if i%7 == 0 { // the long way
					m = a.whole(state(found("bridge-mtu", "br1", trap.Critical)))
					a.last = &s
					if round == 0 {
						m = a.whole(s)
					}
				}
				items = append(items, m)
				if i == 40 {
					again := a.change(s)
					again.Ask, again.Self = "twice", m.Self
					items = append(items, again)
				}
			}
		}
		ingest(t, db, store.Taken, began.Add(time.Hour), items...)
		for i, a := range agents {
			h, err := db.HostByAgent(t.Context(), a.name)
			want, ask := [2]int{0, 1}, "q1"
			if i%7 == 0 {
				want, ask = [2]int{1, 0}, ""
			}
			if i == 40 {
				ask = "twice"
			}
			if err != nil || [2]int{h.Counts.Critical, h.Counts.Warning} != want || h.LastAsk != ask ||
				!h.Checked.Equal(began.Add(time.Hour)) {
				t.Errorf("%d: %+v, %v", i, h, err)
			}
			if n, err := db.Number(t.Context(), "SELECT seq FROM hosts WHERE agent = '"+a.name+"'"); err != nil || n != a.seq {
				t.Errorf("%d: %d, want %d, %v", i, n, a.seq, err)
			}
		}
		if err := db.Agree(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestQuickByKey: PostgreSQL looks up hosts by their keys also while it has not counted them yet, as after many have
// joined; it would read the table once for each answer otherwise.
func TestQuickByKey(t *testing.T) {
	db := storetest.Open(t, storetest.NewServer(t).Database(t)) // a new one has counted nothing
	s := state(found("bridge-mtu", "br0", trap.Warning))
	var items []store.Item
	var first []*message.Message
	for i := range 200 {
		a := join(t, db, fmt.Sprintf("web%d", i), "web")
		first = append(first, a.whole(s))
		m := a.change(s)
		m.Self = &message.Self{Every: time.Hour}
		items = append(items, store.Item{Message: m, Key: "U" + m.Agent, At: began})
	}
	ingest(t, db, store.Taken, began, first...)
	plan, err := db.QuickPlan(t.Context(), items...)
	text := strings.Join(plan, "\n")
	if err != nil || !strings.Contains(text, "Index Scan using hosts_agent_key on hosts") || strings.Contains(text, "Seq Scan on hosts") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestTwoHubsAtOnce: two hubs that take in the same messages, as when one is so slow that its lease passes to the other,
// refuse none of them and count each once: of hosts that the database does not know, and then of those that it has.
func TestTwoHubsAtOnce(t *testing.T) {
	where := storetest.Postgres(t)
	hubs := []*store.DB{storetest.Open(t, where), storetest.Open(t, where)}
	var agents []*agent
	for i := range 100 {
		agents = append(agents, &agent{name: fmt.Sprintf("web%d", i), instance: "one"})
	}
	for _, s := range []message.State{state(found("bridge-mtu", "br0", trap.Warning)), state(found("no-swap", "swap", trap.Critical))} {
		var items []store.Item
		for _, a := range agents {
			items = append(items, store.Item{Message: a.whole(s), Key: "U" + a.name, At: began})
		}
		errs := make(chan error, 2)
		for _, db := range hubs {
			go func() {
				for left := items; len(left) > 0; {
					some, err := db.Ingest(t.Context(), left)
					if err != nil && !store.Passing(err) {
						errs <- err
						return
					}
					left = left[len(some):]
				}
				errs <- nil
			}()
		}
		for range hubs {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		seq := agents[0].seq
		if n, err := hubs[0].Number(t.Context(), fmt.Sprintf("SELECT COUNT(*) FROM hosts WHERE seq = %d", seq)); err != nil || n != 100 {
			t.Errorf("%d hosts, %v", n, err)
		}
		if n, err := hubs[0].Number(t.Context(), "SELECT COUNT(*) FROM changes"); err != nil || n > 200*seq {
			t.Errorf("%d changes, %v", n, err)
		}
		if err := hubs[0].Agree(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkAnswers takes 1,000 hosts' answers that nothing changed.
func BenchmarkAnswers(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			where, server := filepath.Join(storetest.Dir(b), "hub.db"), 0
			if name == "postgres" {
				pg := storetest.NewServer(b)
				where, server = pg.Database(b), pg.PID()
			}
			db := storetest.Open(b, where)
			s := state(found("bridge-mtu", "br0", trap.Warning))
			var agents []*agent
			var first []*message.Message
			for i := range 1000 {
				a := join(b, db, fmt.Sprintf("web%d", i), "web")
				agents = append(agents, a)
				first = append(first, a.whole(s))
			}
			ingest(b, db, store.Taken, began, first...)
			own, its := storetest.Processor(b, os.Getpid()), 0.0
			if server != 0 {
				its = storetest.Processor(b, server)
			}
			for b.Loop() {
				var items []*message.Message
				for _, a := range agents {
					m := a.change(s)
					m.Self = &message.Self{Every: time.Hour, Accepts: message.NoAccepts}
					items = append(items, m)
				}
				ingest(b, db, store.Taken, began.Add(time.Hour), items...)
			}
			b.ReportMetric(1000*(storetest.Processor(b, os.Getpid())-own)/float64(b.N), "hub-cpu-ms/op")
			if server != 0 {
				b.ReportMetric(1000*(storetest.Processor(b, server)-its)/float64(b.N), "database-cpu-ms/op")
			}
		})
	}
}
