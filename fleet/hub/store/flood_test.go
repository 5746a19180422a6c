package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// lies is a state of n findings that no other one has.
func lies(turn, n int) message.State {
	r := trap.Result{Trap: "a"}
	for i := range n {
		r.Outcomes = append(r.Outcomes, found("a", fmt.Sprintf("subject %d of %d", i, turn), trap.Warning).Outcomes...)
	}
	return state(r)
}

// TestFloodingHost: what one host sends is bounded in rows, a day and in all, and its
// page tells what is not kept; others go on.
func TestFloodingHost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx, now := t.Context(), began
		db.SetNow(func() time.Time { return now })
		db.SetBounds(store.Bounds{ChangesADay: 50, ChangesInAll: 120, Past: 30, WorkADay: 500})
		flooder, honest := join(t, db, "f", "web"), join(t, db, "h", "web")
		host, err := db.HostByAgent(ctx, "f")
		if err != nil {
			t.Fatal(err)
		}
		count := func(what string, want int64) {
			t.Helper()
			if n, err := db.Number(ctx, what, host.ID); err != nil || n > want {
				t.Errorf("%s: %d rows, %v, want %d at most", what, n, err, want)
			}
		}
		turn := 0
		for day := range 4 {
			now = began.AddDate(0, 0, day)
			for range 20 {
				turn++
				ingest(t, db, store.Taken, now, flooder.whole(lies(turn, 40)))
			}
			count("SELECT COUNT(*) FROM changes WHERE host = ?", int64(50*(day+1)))
			count("SELECT COUNT(*) FROM past WHERE host = ?", 30)
			count("SELECT COUNT(*) FROM findings WHERE host = ?", 40)
		}
		if _, err := db.Fold(ctx); err != nil {
			t.Fatal(err)
		}
		count("SELECT COUNT(*) FROM changes WHERE host = ?", 120)
		ingest(t, db, store.Taken, now, honest.whole(state(found("a", "x", trap.Critical))))
		if h, err := db.HostByAgent(ctx, "h"); err != nil || h.Counts.Critical != 1 || h.Folded != 0 || !h.Held.IsZero() {
			t.Errorf("the honest host: %+v, %v", h, err)
		}
		h, err := db.HostByAgent(ctx, "f")
		if err != nil || h.Folded < 100 || !h.Held.Equal(now) {
			t.Errorf("the flooding host: %d folded, held %v, %v", h.Folded, h.Held, err)
		}
		agree(t, db)
		// The next day it is heard again, by a whole report; a change builds on what was not stored.
		now = began.AddDate(0, 0, 5)
		last := state(found("a", "last", trap.Notice))
		flooder.last = &last
		ingest(t, db, store.NeedWhole, now, flooder.change(state(found("a", "later", trap.Notice))))
		ingest(t, db, store.Taken, now, flooder.whole(last))
		if h, err := db.HostByAgent(ctx, "f"); err != nil || h.Counts != (store.Counts{Notice: 1}) {
			t.Errorf("the next day: %+v, %v", h, err)
		}
		agree(t, db)
	})
}

// TestStateIsBounded: changes that each are within a message's bounds add up to no state
// that is beyond them.
func TestStateIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "h1", "web")
		ingest(t, db, store.Taken, began, a.whole(state()))
		for i := range 3 {
			r := trap.Result{Trap: fmt.Sprint("t", i)}
			for j := range 1400 {
				r.Outcomes = append(r.Outcomes, found(r.Trap, fmt.Sprint(j), trap.Notice).Outcomes...)
			}
			m := a.message(message.Change)
			m.Base, m.Digest = a.last.Digest(), fmt.Sprint("d", i)
			if i > 0 {
				m.Base = fmt.Sprint("d", i-1)
			}
			m.Run = &message.Run{Results: state(r).Results}
			want := store.Taken
			if i == 2 {
				want = store.NeedWhole
			}
			ingest(t, db, want, began, m)
		}
	})
}

// TestReadersDoNotWait: while another process writes to SQLite's file, lists are read at once.
func TestReadersDoNotWait(t *testing.T) {
	file := filepath.Join(storetest.Dir(t), "hub.db")
	db := storetest.Open(t, file)
	join(t, db, "h1", "web")
	release := db.Busy(t)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	start := time.Now()
	other, err := store.Open(ctx, file)
	if err != nil {
		t.Fatalf("after %s: %v", time.Since(start), err)
	}
	defer other.Close()
	if hosts, err := other.HostsFrom(ctx, store.Everything, "", "", 10); err != nil || len(hosts) != 1 {
		t.Errorf("%v %v", hosts, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestForget: a host that is forgotten leaves its sums and its revoked key, and nothing else.
func TestForget(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		a, b := join(t, db, "h1", "web"), join(t, db, "h2", "web")
		for i, s := range []message.State{state(found("a", "x", trap.Critical)), state(clear("a")), state(found("a", "x", trap.Critical))} {
			ingest(t, db, store.Taken, began.Add(time.Duration(i)*time.Hour), a.whole(s), b.whole(s))
		}
		h, err := db.HostByAgent(ctx, "h1")
		if err != nil {
			t.Fatal(err)
		}
		log := store.Audit{At: began, Who: "ann"}
		if err := db.Accept(ctx, store.Accepted{Host: store.HostRef{Agent: "h1"}, Trap: "a", Subject: "x", Reason: "r"}, log); err != nil {
			t.Fatal(err)
		}
		if err := db.Attach(ctx, "h1", store.Capture{}, []byte("x"), log); err != nil {
			t.Fatal(err)
		}
		for _, row := range []string{
			"fixes (host, id, at, who, trap, subject, summary, phase, verified, standing, undo) VALUES (?, '1', 1, '', 'a', '', '', '', 0, '', '')",
			"labels (host, name, value) VALUES (?, 'rack', '7')",
			"speakers (host, instance, machine, boot, kernel, seen, critical, warning, notice, unknown) VALUES (?, 'i', '', '', '', 1, 0, 0, 0, 0)",
			"pack_hosts (pack, host, sent) VALUES ('acme', ?, 1)", "told (channel, host, trap, subject, rank, name, grp, summary, since) " +
				"VALUES ('mail', ?, 'a', 'x', 3, 'h1', 'web', '', 1)",
		} {
			if err := db.Exec(ctx, "INSERT INTO "+row, h.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Exec(ctx, "INSERT INTO hostkeys (fingerprint, agent) VALUES ('SHA256:x', 'h1')"); err != nil {
			t.Fatal(err)
		}
		had := rowsOf(t, db, h.ID, "h1")
		for _, table := range []string{"findings", "past", "changes", "captures", "acceptances", "states", "fixes", "labels", "speakers",
			"pack_hosts", "told", "hostkeys", "agents"} {
			if had[table] == 0 {
				t.Fatalf("no row of %s is the host's: %v", table, had)
			}
		}
		for range 2 { // also one that is retired already
			if err := db.Retire(ctx, h.ID); err != nil {
				break
			}
		}
		if err := db.Forget(ctx, h.ID); err != nil {
			t.Fatal(err)
		}
		if left := rowsOf(t, db, h.ID, "h1"); len(left) != 1 || left["agents"] != 1 {
			t.Errorf("rows that are left, but for the key: %v", left)
		}
		if _, err := db.HostByAgent(ctx, "h1"); err != store.ErrNone {
			t.Error(err)
		}
		agree(t, db)
		ingest(t, db, store.Stranger, began.Add(9*time.Hour), a.whole(state()))
		if gone, err := db.Revoked(ctx); err != nil || len(gone) != 1 || gone[0] != "Uh1" {
			t.Errorf("%v %v", gone, err)
		}
		if h, err := db.HostByAgent(ctx, "h2"); err != nil || h.Counts.Critical != 1 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

// rowsOf counts what the database has of a host, by table.
func rowsOf(t *testing.T, db *store.DB, host int64, agent string) map[string]int64 {
	t.Helper()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range regexp.MustCompile(`(?s)CREATE TABLE (\w+) \(\n(.*?)\n\);`).FindAllStringSubmatch(string(b), -1) {
			for column, is := range map[string]any{"  host BIGINT": host, "  agent TEXT": agent} {
				if !strings.Contains(table[2], column) {
					continue
				}
				n, err := db.Number(t.Context(), "SELECT COUNT(*) FROM "+table[1]+" WHERE "+strings.Fields(column)[0]+" = ?", is)
				if err != nil {
					t.Fatal(err)
				}
				if n > 0 {
					out[table[1]] = n
				}
			}
		}
	}
	return out
}

// TestForgottenIsNobody: SQLite gives a number again that no row has. What a channel was sent of a host that is forgotten
// ends, and is not taken for the next host's.
func TestForgottenIsNobody(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		told := func() []store.Tidings {
			t.Helper()
			list, err := db.Untold(ctx, "mail", 1, time.Time{})
			if err == nil {
				err = db.Tell(ctx, "mail", store.ChannelState{}, list, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		for _, name := range []string{"h1", "h2", "h3"} {
			a := join(t, db, name, "web")
			ingest(t, db, store.Taken, began, a.whole(state(found("a", "x", trap.Critical))))
			if list := told(); len(list) != 1 || list[0].Agent != name {
				t.Errorf("the channel is sent of %s: %+v", name, list)
			}
			h, err := db.HostByAgent(ctx, name)
			if err == nil {
				err = db.Forget(ctx, h.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ended, err := db.Told(ctx, "mail", time.Time{})
		if err != nil || len(ended) == 0 {
			t.Fatal(ended, err)
		}
		for _, e := range ended {
			if !e.Hidden || e.Agent != "" {
				t.Errorf("%+v", e)
			}
		}
	})
}

// TestCatalogue: what hosts report counts over the fleet while this hub knows the trap,
// also after another version of it has started on the same database.
func TestCatalogue(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		a, b := join(t, db, "h1", "web"), join(t, db, "h2", "db")
		know := func(cells, foreign int, traps ...string) {
			t.Helper()
			if err := db.Know(ctx, traps); err != nil {
				t.Fatal(err)
			}
			sums, err := db.TrapSums(ctx, store.Everything)
			if err != nil || len(sums) != cells {
				t.Errorf("knowing %v: %+v, %v", traps, sums, err)
			}
			if _, n, err := db.Foreigns(ctx, store.Everything, 0, 10); err != nil || n != foreign {
				t.Errorf("knowing %v: %d foreign, %v", traps, n, err)
			}
			agree(t, db)
		}
		own := found("b", "x", trap.Warning)
		own.Outcomes[0].Accepted = &trap.Acceptance{Reason: "known on the host"}
		s := state(found("a", "x", trap.Critical), found("a2", "y", trap.Notice), own, blind("c"))
		ingest(t, db, store.Taken, began, a.whole(s), b.whole(s))
		know(3, 2, "a", "b", "c")
		know(1, 6, "a2", "later")
		ingest(t, db, store.Taken, began.Add(time.Hour), a.whole(state(found("a", "x", trap.Notice), found("later", "", trap.Critical))))
		know(2, 4, "a2", "later")
		know(4, 1, "a", "b", "c", "a2")
		know(4, 1, "a", "b", "c", "a2")
		h, err := db.HostByAgent(ctx, "h1")
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Retire(ctx, h.ID); err != nil {
			t.Fatal(err)
		}
		know(4, 0, "a", "b", "c", "a2")
	})
}

// TestMigrateBounds: a hub of before the bounds is brought within them, and its sums stay.
func TestMigrateBounds(t *testing.T) {
	at := began.UnixMilli()
	fill := []string{
		"INSERT INTO hosts (id, agent, name, grp, joined, critical) VALUES (7, 'h1', 'web1', 'web', 1, 1)",
		"INSERT INTO totals (grp, hosts, critical, warning, notice, unknown, accepted) VALUES ('web', 1, 1, 0, 0, 0, 0)",
		"INSERT INTO cells (trap, grp, critical, warning, notice, unknown, accepted) VALUES ('invented', 'web', 1, 0, 0, 0, 0)",
		"INSERT INTO traps (id, title) VALUES ('invented', 'the words of the first')",
		fmt.Sprintf(
			"INSERT INTO findings (host, trap, subject, rank, summary, since, outcome) VALUES (7, 'invented', '', 3, 's', %d, '{}')",
			at,
		),
	}
	for i := range 60 {
		fill = append(
			fill,
			fmt.Sprintf("INSERT INTO changes (at, host, trap, subject, kind, rank, summary) VALUES (%d, 7, 'a', '%d', 'new', 1, 's')",
				at+int64(i), i),
		)
	}
	upgraded(t, 4, fill, func(t *testing.T, db *store.DB) {
		agree(t, db)
		if err := db.Know(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		agree(t, db)
		list, n, err := db.Foreigns(t.Context(), store.Everything, 0, 10)
		if err != nil || n != 1 || list[0].Trap != "invented" || list[0].Title != "" || list[0].Severity != "critical" {
			t.Errorf("%+v, %v", list, err)
		}
		db.SetBounds(store.Bounds{ChangesInAll: 25})
		if _, err := db.Fold(t.Context()); err != nil {
			t.Fatal(err)
		}
		h, err := db.HostByAgent(t.Context(), "h1")
		if err != nil || h.Folded != 35 || h.Counts.Critical != 1 {
			t.Errorf("%+v, %v", h, err)
		}
		if l, err := db.HostEvents(t.Context(), 7, 0, 100); err != nil || len(l) != 25 || l[24].Subject != "35" {
			t.Errorf("%d events, %v", len(l), err)
		}
	})
}
