package store_test

import (
	"fmt"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestAttemptsAreFewRows: whoever tries from however many addresses, a day has a bounded
// number of rows, no attempt is uncounted, and no act is lost for them.
func TestAttemptsAreFewRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx, now := t.Context(), began
		db.SetNow(func() time.Time { return now })
		act := store.Audit{At: began, Who: "ann", What: "accept", On: "a:x on h1"}
		if err := db.AddAudit(ctx, act); err != nil {
			t.Fatal(err)
		}
		for day := range 3 {
			at := began.AddDate(0, 0, day)
			var list []store.Attempt
			for i := range 500 {
				list = append(list, store.Attempt{From: fmt.Sprintf("2001:db8:%x::/64", i), Why: "name or password", Name: "ann", Count: 7,
					First: at, Last: at.Add(time.Minute)})
			}
			if err := db.AddAttempts(ctx, append(list, list[3])); err != nil {
				t.Fatal(err)
			}
		}
		list, all, err := db.Attempts(ctx, 0, 1000)
		n := 0
		for _, a := range list {
			n += a.Count
		}
		if err != nil || all != 3*201 || len(list) != all || n != 3*501*7 || list[0].Day != "2026-11-24" {
			t.Errorf("%d rows, %d attempts, %v, %+v", all, n, err, list[0])
		}
		now = began.AddDate(0, 0, 92)
		if _, err := db.Prune(ctx, began.AddDate(-1, 0, 0)); err != nil {
			t.Fatal(err)
		}
		if _, all, err := db.Attempts(ctx, 0, 1000); err != nil || all != 201 {
			t.Errorf("%d rows after 90 days, %v", all, err)
		}
		if acts, err := db.Audits(ctx, 0, 0, 10); err != nil || len(acts) != 1 || acts[0].On != act.On {
			t.Errorf("%+v, %v", acts, err)
		}
	})
}

// TestDevices: a user's last browsers and addresses are known, for that user alone.
func TestDevices(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx, now := t.Context(), began
		db.SetNow(func() time.Time { return now })
		for i := range 30 {
			if err := db.PutDevice(ctx, store.Device{Hash: fmt.Sprint("b", i), User: "ann", From: fmt.Sprint("192.0.2.", i),
				At: began.Add(time.Duration(i) * time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			user, hash, from string
			browser, address bool
		}{{"ann", "b29", "192.0.2.29", true, true}, {"ann", "b10", "", true, false}, {"ann", "", "192.0.2.10", false, true},
			{"ann", "b9", "192.0.2.9", false, false}, {"bob", "b29", "192.0.2.29", false, false}, {"ann", "", "", false, false}} {
			if b, a, err := db.LoggedInBefore(ctx, c.user, c.hash, c.from); err != nil || b != c.browser || a != c.address {
				t.Errorf("%+v: %v %v %v", c, b, a, err)
			}
		}
		now = began.AddDate(0, 0, 200)
		if b, a, err := db.LoggedInBefore(ctx, "ann", "b29", "192.0.2.29"); err != nil || b || a {
			t.Errorf("after half a year: %v %v %v", b, a, err)
		}
	})
}

// TestMigrateAttempts: refused logins that were acts become counts.
func TestMigrateAttempts(t *testing.T) {
	const row = "INSERT INTO audit (at, who, addr, what, subject, details) VALUES (%d, '%s', '%s', '%s', '', '%s')"
	at := began.UnixMilli()
	upgraded(t, 3, []string{
		fmt.Sprintf(row, at, "ann", "192.0.2.1", "log in", "password, operator"),
		fmt.Sprintf(row, at+1, "eve", "203.0.113.9", "log-in refused", "name or password"),
		fmt.Sprintf(row, at+2, "ann", "203.0.113.9", "log-in refused", "name or password"),
		fmt.Sprintf(row, at+3, "", "203.0.113.9", "log-in refused", "oidc: the provider says: x"),
		"INSERT INTO sessions (hash, name, role, how, created, seen, expires, note) " +
			"VALUES ('h', 'ann', 'operator', 'oidc', 1, 1, 99999999999999, '')",
	}, func(t *testing.T, db *store.DB) {
		list, all, err := db.Attempts(t.Context(), 0, 10)
		if err != nil || all != 2 || list[0].Why != "single sign-on" || list[1].Count != 2 || list[1].Name != "eve" ||
			!list[1].Last.Equal(began.Add(2*time.Millisecond)) {
			t.Errorf("%d: %+v, %v", all, list, err)
		}
		if acts, err := db.Audits(t.Context(), 0, 0, 10); err != nil || len(acts) != 1 || acts[0].What != "log in" {
			t.Errorf("%+v, %v", acts, err)
		}
		if s, err := db.Session(t.Context(), "h"); err != nil || !s.Confirmed.IsZero() {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
