package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestAccept: what an operator accepts counts no more, in no sum, until it is
// taken back, says something else, is graver, or its day is over.
func TestAccept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "h1", "web")
		now := time.Now()
		db.SetNow(func() time.Time { return now })
		ingest(t, db, store.Taken, began, a.whole(state(found("a", "x", trap.Warning), found("b", "", trap.Notice))))
		word := store.Accepted{
			Host:    store.HostRef{Agent: "h1"},
			Trap:    "a",
			Subject: "x",
			Reason:  "known",
			Who:     "ann",
			At:      now,
			Until:   now.AddDate(0, 0, 2).UTC().Format(time.DateOnly),
		}
		log := store.Audit{At: now, Who: "ann", What: "accept"}
		counts := func(what string, want store.Counts) {
			t.Helper()
			agree(t, db)
			h, err := db.HostByAgent(t.Context(), "h1")
			if err != nil {
				t.Fatal(err)
			}
			if h.Counts != want {
				t.Errorf("%s: %+v, want %+v", what, h.Counts, want)
			}
		}
		both, one := store.Counts{Warning: 1, Notice: 1}, store.Counts{Notice: 1, Accepted: 1}
		for _, wrong := range []store.Accepted{{Host: store.HostRef{Agent: "h2"}, Trap: "a", Subject: "x"}, {Host: word.Host, Trap: "c"},
			{Host: word.Host, Trap: "a"}} {
			if err := db.Accept(t.Context(), wrong, log); !errors.Is(err, store.ErrNone) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		counts("before", both)
		if err := db.Accept(t.Context(), word, log); err != nil {
			t.Fatal(err)
		}
		counts("accepted", one)
		ingest(t, db, store.Taken, began, a.whole(state(found("a", "x", trap.Warning), found("b", "", trap.Notice))))
		counts("reported again", one)
		if l, err := db.Acceptances(t.Context(), store.Everything, 0, 0, 10); err != nil || len(l) != 1 || l[0].Who != "ann" ||
			l[0].Severity != "warning" ||
			l[0].Host.Agent != "h1" {
			t.Errorf("%+v, %v", l, err)
		}
		ingest(t, db, store.Taken, began, a.whole(state(found("a", "x", trap.Critical), found("b", "", trap.Notice))))
		counts("graver", store.Counts{Critical: 1, Notice: 1})
		ingest(t, db, store.Taken, began, a.whole(state(found("a", "x", trap.Warning), found("b", "", trap.Notice))))
		counts("as it was", one)
		if n, err := db.Lapse(t.Context()); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		now = now.AddDate(0, 0, 3)
		if n, err := db.Lapse(t.Context()); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		counts("its day is over", both)
		word.Until = ""
		if err := db.Accept(t.Context(), word, log); err != nil {
			t.Fatal(err)
		}
		counts("again, without an end", one)
		if err := db.Unaccept(t.Context(), word, log); err != nil {
			t.Fatal(err)
		}
		counts("taken back", both)
		if err := db.Unaccept(t.Context(), word, log); !errors.Is(err, store.ErrNone) {
			t.Error(err)
		}
		if l, err := db.Audits(t.Context(), 0, 0, 10); err != nil || len(l) != 4 || l[3].What != "join" || l[0].ID <= l[1].ID {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

func TestUsersAndSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now().Truncate(time.Millisecond).UTC()
		ann := store.User{Name: "ann", Role: store.Operator, Password: "$argon2id$…", Created: now}
		if err := db.PutUser(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
		if u, err := db.User(t.Context(), "ann"); err != nil || u != ann {
			t.Errorf("%+v, %v", u, err)
		}
		if _, err := db.User(t.Context(), "bob"); !errors.Is(err, store.ErrNone) {
			t.Error(err)
		}
		put := func(hash, how string, expires time.Time) {
			t.Helper()
			s := store.Session{Hash: hash, User: "ann", Role: store.Operator, How: how, Created: now, Seen: now, Expires: expires, Note: "n"}
			if err := db.PutSession(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got, err := db.Session(t.Context(), hash); err != nil || got != s {
				t.Errorf("%+v, %v", got, err)
			}
		}
		there := func(hash string, want bool) {
			t.Helper()
			if _, err := db.Session(t.Context(), hash); want != (err == nil) || !want && !errors.Is(err, store.ErrNone) {
				t.Errorf("%s: %v", hash, err)
			}
		}
		put("old", "password", now.Add(-time.Second))
		put("p", "password", now.Add(time.Hour))
		put("t", "token", now.Add(time.Hour))
		put("o", "oidc", now.Add(time.Hour))
		there("old", false)
		if l, err := db.Tokens(t.Context()); err != nil || len(l) != 1 || l[0].Hash != "t" {
			t.Errorf("%+v, %v", l, err)
		}
		ann.Role = store.Reader
		if err := db.PutUser(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
		there("p", false)
		there("t", false)
		there("o", false) // whoever vouched for it: it may log in again, if that one still does
		put("q", "password", now.Add(time.Hour))
		put("l", "oidc", now.Add(time.Hour))
		put("t", "token", now.Add(time.Hour))
		if n, err := db.EndSessions(t.Context(), "ann", false); err != nil || n != 2 {
			t.Errorf("logging out: %d, %v", n, err)
		}
		there("l", false)
		there("t", true)
		if n, err := db.EndSessions(t.Context(), "ann", true); err != nil || n != 1 {
			t.Errorf("revoking: %d, %v", n, err)
		}
		// A login that began before the password was changed.
		late := store.Session{Hash: "late", User: "ann", Role: store.Operator, How: "password", Expires: now.Add(time.Hour), Password: "old"}
		if err := db.PutSession(t.Context(), late); !errors.Is(err, store.ErrNone) {
			t.Errorf("a session by the password of before: %v", err)
		}
		put("q", "password", now.Add(time.Hour))
		if err := db.DropSession(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		there("q", false)
		put("q", "oidc", now.Add(time.Hour))
		if l, err := db.Users(t.Context()); err != nil || len(l) != 1 || l[0].Role != store.Reader {
			t.Errorf("%+v, %v", l, err)
		}
		if err := db.PutDevice(t.Context(), store.Device{User: "ann", Hash: "d", From: "192.0.2.1", At: now}); err != nil {
			t.Fatal(err)
		}
		if browser, _, err := db.LoggedInBefore(t.Context(), "ann", "d", ""); err != nil || !browser {
			t.Fatalf("the browser is not known: %v", err)
		}
		if err := db.DropUser(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		there("q", false)
		if browser, address, err := db.LoggedInBefore(t.Context(), "ann", "d", "192.0.2.1"); err != nil || browser || address {
			t.Errorf("a browser of a user who is gone is known: %v, %v, %v", browser, address, err)
		}
		if err := db.DropUser(t.Context(), "ann"); !errors.Is(err, store.ErrNone) {
			t.Error(err)
		}
	})
}

// TestSessionsUsedLast: of more sessions than a user may have, those go that were used longest ago; tokens stay.
func TestSessionsUsedLast(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now().Truncate(time.Millisecond).UTC()
		put := func(n int, how string) {
			t.Helper()
			at := now.Add(time.Duration(n) * time.Second)
			if err := db.PutSession(t.Context(), store.Session{Hash: fmt.Sprintf("%s%03d", how, n), User: "ann", Role: store.Reader, How: how,
				Created: at, Seen: at, Expires: now.Add(24 * time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		put(0, "token")
		put(0, "oidc")
		for n := range 51 {
			put(n, "password")
			if n == 1 { // the first one is in use
				if err := db.TouchSession(t.Context(), "password000", now.Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for hash, want := range map[string]bool{"password000": true, "password001": false, "password002": true, "password050": true,
			"token000": true, "oidc000": true} {
			if _, err := db.Session(t.Context(), hash); (err == nil) != want {
				t.Errorf("%s: %v, want there %t", hash, err, want)
			}
		}
	})
}
