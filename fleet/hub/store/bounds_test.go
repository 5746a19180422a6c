package store_test

import (
	"fmt"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestPruneSaysWhetherMore: as many changes as are deleted at once mean that there may be more.
func TestPruneSaysWhetherMore(t *testing.T) {
	db := storetest.SQLite(t)
	join(t, db, "h1", "web")
	for n, want := range map[int]bool{4999: false, 5000: true} {
		if err := db.Exec(t.Context(), "DELETE FROM tokens"); err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(t.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO tokens (hash, created, expires, uses, grp, labels, host, note) SELECT 'h' || i, 1, 1, 1, '', '', '',
				'' FROM n`, n)); err != nil {
			t.Fatal(err)
		}
		if more, err := db.Prune(t.Context(), time.Now()); err != nil || more != want {
			t.Errorf("%d rows: more %v, %v", n, more, err)
		}
	}
}

// TestSilentSince: a host that was heard of at that very moment is not silent any more.
func TestSilentSince(t *testing.T) {
	db := storetest.SQLite(t)
	a := join(t, db, "h1", "web")
	ingest(t, db, store.Taken, began, a.whole(state(clear("a"))))
	h, err := db.HostByAgent(t.Context(), "h1")
	if err != nil {
		t.Fatal(err)
	}
	silent := store.Tidings{HostID: h.ID, Agent: "h1", Host: "h1", Trap: store.HostSilent, Rank: 3, Since: began}
	if err := db.Tell(t.Context(), "mail", store.ChannelState{}, []store.Tidings{silent}, nil); err != nil {
		t.Fatal(err)
	}
	for since, want := range map[time.Time]int{began: 0, began.Add(time.Millisecond): 3, {}: 3} {
		told, err := db.Told(t.Context(), "mail", since)
		if err != nil || len(told) != 1 || told[0].Now != want {
			t.Errorf("silent since %s: %+v, %v, want %d", since, told, err, want)
		}
	}
}

// TestOver: what is over is told so: a clone that an operator shut out, a pack that goes on.
func TestOver(t *testing.T) {
	db := storetest.SQLite(t)
	a := join(t, db, "h1", "web")
	ingest(t, db, store.Taken, began, a.whole(state(clear("a"))))
	h, err := db.HostByAgent(t.Context(), "h1")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Offer(t.Context(), store.Pack{Name: "acme", Version: 2, Wait: time.Hour, StopAt: 50, File: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	told := []store.Tidings{{HostID: h.ID, Agent: "h1", Host: "h1", Trap: store.HostCloned, Rank: 3, Since: began},
		{HostID: h.ID, Agent: "h1", Host: "h1", Trap: store.PackStopped, Subject: "acme", Rank: 2, Since: began}}
	if err := db.Tell(t.Context(), "mail", store.ChannelState{}, told, nil); err != nil {
		t.Fatal(err)
	}
	now := func(what string, cloned, stopped int) {
		t.Helper()
		l, err := db.Told(t.Context(), "mail", began)
		if err != nil || len(l) != 2 || l[0].Now != cloned || l[1].Now != stopped {
			t.Errorf("%s: %+v, %v, want %d and %d", what, l, err, cloned, stopped)
		}
	}
	now("neither is so", 0, 0)
	if err := db.Exec(t.Context(), "UPDATE hosts SET twin = 1"); err != nil {
		t.Fatal(err)
	}
	now("two machines", 3, 0)
	if err := db.StopPack(t.Context(), "acme", "by ann"); err != nil {
		t.Fatal(err)
	}
	now("both are so", 3, 2)
}

// TestCanariesAtTheirBounds: half of the canaries must have answered, the wait be over, and no more of them than that share be worse.
func TestCanariesAtTheirBounds(t *testing.T) {
	for _, c := range []struct {
		name              string
		got, worse, share int // of four canaries
		after             time.Duration
		want              string
	}{
		{"nobody answered", 0, 0, 50, time.Hour, store.Canary}, {"one did", 1, 0, 50, time.Hour, store.Canary},
		{"half of them did", 2, 0, 50, time.Hour, store.All}, {"before the wait is over", 4, 0, 50, time.Hour - time.Millisecond, store.Canary},
		{"just as many are worse as may be", 4, 2, 50, time.Hour, store.All}, {"one more", 4, 3, 50, time.Hour, store.Stopped},
		{"none may be", 4, 1, 0, time.Hour, store.Stopped}, {"none is", 4, 0, 0, time.Hour, store.All},
	} {
		db, now := storetest.SQLite(t), began
		db.SetNow(func() time.Time { return now })
		has := message.HasPack{Name: "acme", Version: 2}
		offered := store.Pack{Name: "acme", Version: 2, Canary: "test", Wait: time.Hour, StopAt: c.share, Traps: []string{"acme-full"},
			File: []byte("x")}
		if err := db.Offer(t.Context(), offered); err != nil {
			t.Fatal(err)
		}
		var all []*agent
		for i := range 4 {
			a := join(t, db, fmt.Sprintf("c%d", i), "test")
			all = append(all, a)
			ingestAs(t, db, a, began, packed(a.whole(state(clear("acme-full")))))
		}
		for i, a := range all[:c.got] {
			s := state(clear("acme-full"))
			if i < c.worse {
				s = state(found("acme-full", "new", trap.Warning))
			}
			ingestAs(t, db, a, began.Add(time.Second), packed(a.whole(s), has))
		}
		now = began.Add(c.after)
		if _, err := db.Judge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l, err := db.Packs(t.Context()); err != nil || len(l) != 1 || l[0].Stage != c.want {
			t.Errorf("%s: %+v, %v, want %s", c.name, l, err, c.want)
		}
	}
}

// ingestAs has the hub take a message of an agent.
func ingestAs(t *testing.T, db *store.DB, a *agent, at time.Time, m *message.Message) {
	t.Helper()
	if r, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "U" + a.name, At: at}}); err != nil || r[0].Verdict != store.Taken {
		t.Fatalf("%s: %+v, %v", a.name, r, err)
	}
}

// TestPassedByAMinute: a number that was passed is another machine's once more than a minute lies between, by the hub's clock and its own.
func TestPassedByAMinute(t *testing.T) {
	for _, c := range []struct {
		name         string
		heard, given time.Duration // after the message that passed it
		twin         bool
	}{
		{"a minute", time.Minute, time.Minute, false}, {"a minute, heard later", time.Hour, time.Minute, false},
		{"a minute, made later", time.Minute, time.Hour, false},
		{"more than a minute", time.Minute + time.Millisecond, time.Minute + time.Millisecond, true},
	} {
		db := storetest.SQLite(t)
		a := join(t, db, "h1", "web")
		first := a.whole(state(clear("a")))
		second := a.whole(state(clear("a")))
		second.Sent = began
		for _, m := range []*message.Message{first, second} {
			ingestAs(t, db, a, began, m)
		}
		late := *first
		late.Sent = began.Add(c.given)
		if _, err := db.Ingest(t.Context(), []store.Item{{Message: &late, Key: "Uh1", At: began.Add(c.heard)}}); err != nil {
			t.Fatal(err)
		}
		if h, err := db.HostByAgent(t.Context(), "h1"); err != nil || h.Twin.IsZero() == c.twin {
			t.Errorf("%s: twin %v, %v", c.name, h.Twin, err)
		}
	}
}

// TestStanding: what a pack waits for, in words.
func TestStanding(t *testing.T) {
	for _, c := range []struct {
		pack  store.Pack
		after time.Duration
		want  string
	}{
		{store.Pack{Stage: store.Stopped, Why: "by ann"}, 0, "by ann"}, {store.Pack{Stage: store.All}, 0, "all hosts get it, step by step"},
		{store.Pack{Stage: store.Canary, Canary: "test"}, 0, "no host of the group test that takes packs has reported since"},
		{store.Pack{Stage: store.Canary, Sent: 4}, 0, "only canaries get it, for 2 h more"},
		{store.Pack{Stage: store.Canary, Sent: 4}, 30 * time.Minute, "only canaries get it, for 1 h 30 min more"},
		{store.Pack{Stage: store.Canary, Sent: 4}, 2*time.Hour - time.Second, "only canaries get it, for 1 min more"},
		{store.Pack{Stage: store.Canary, Sent: 4, Taken: 1}, 2 * time.Hour, "too few of its canaries have it: 1 of 4"},
		{store.Pack{Stage: store.Canary, Sent: 4, Taken: 1, Refused: 1}, 2 * time.Hour, "the others get it next"},
	} {
		c.pack.Began, c.pack.Wait = began, 2*time.Hour
		if got := c.pack.Standing(began.Add(c.after)); got != c.want {
			t.Errorf("%+v after %s: %q, want %q", c.pack, c.after, got, c.want)
		}
	}
}
