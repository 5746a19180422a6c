package api

import (
	"fmt"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// TestLabelMenu: what filters offer is counted once in half a minute, for each who sees others.
func TestLabelMenu(t *testing.T) {
	means.Ends(t)
	db, now := storetest.SQLite(t), time.Now()
	a, err := New(Config{DB: db, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	host := func(name, group string) {
		t.Helper()
		tok := store.Token{Hash: name, Created: now, Expires: now.Add(time.Hour), Uses: 1, Group: group, Labels: map[string]string{"on": name}}
		if err := db.AddToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if _, err := db.JoinByToken(t.Context(), name, store.Joining{Agent: name, Host: name, Key: "U" + name, How: "token"}); err != nil {
			t.Fatal(err)
		}
	}
	host("web1", "web")
	for _, c := range []struct {
		after time.Duration
		join  string
		sees  store.Rights
		want  string
	}{
		{0, "", store.AllGroups, "[{on=web1 1}]"},
		{29 * time.Second, "db1", store.AllGroups, "[{on=web1 1}]"},
		{0, "", store.OnlyGroups("db"), "[{on=db1 1}]"},
		{0, "", store.OnlyGroups("web"), "[{on=web1 1}]"},
		{time.Second, "", store.AllGroups, "[{on=db1 1} {on=web1 1}]"},
		{0, "db2", store.OnlyGroups("db"), "[{on=db1 1}]"},
		{-time.Hour, "", store.AllGroups, "[{on=db1 1} {on=db2 1} {on=web1 1}]"}, // the clock was set back
	} {
		now = now.Add(c.after)
		if c.join != "" {
			host(c.join, "db")
		}
		l, err := a.LabelMenu(As(t.Context(), Who{Sees: c.sees}), Nothing{})
		if got := fmt.Sprint(l.Labels); err != nil || got != c.want {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
}
