package ingest

import (
	"context"
	"database/sql"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// A message that the database does not take is dropped and counted; it does not hold up
// those beside it.
func TestOneIsRefused(t *testing.T) {
	file := filepath.Join(storetest.Dir(t), "hub.db")
	db := storetest.Open(t, file)
	var items []store.Item
	for _, name := range []string{"one", "poison", "two"} {
		if err := db.AddToken(t.Context(), store.Token{Hash: name, Expires: time.Now().Add(time.Hour), Uses: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.JoinByToken(t.Context(), name, store.Joining{Agent: name, Host: name, Key: "U" + name, How: "token"}); err != nil {
			t.Fatal(err)
		}
		m := message.New(message.Whole)
		m.Agent, m.Instance, m.Seq, m.Sent, m.Run = name, "i", 1, time.Unix(1e9, 0), &message.Run{Failed: name}
		items = append(items, store.Item{Message: m, Key: "U" + name, At: time.Unix(1e9, 0)})
	}
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(t.Context(), `CREATE TRIGGER refuses BEFORE UPDATE ON hosts WHEN NEW.failed = 'poison'
		BEGIN SELECT RAISE(ABORT, 'not this one'); END`); err != nil {
		t.Fatal(err)
	}
	var said []string
	in := newIntake(Config{DB: db, Holder: "h", Log: func(s string) { said = append(said, s) }})
	n := 0
	in.pause = func(context.Context, time.Duration) {
		if n++; n > 100 {
			t.Fatal("it tries for ever")
		}
	}
	got := in.keep(t.Context(), items)
	want := []store.Result{{Verdict: store.Taken, Seq: 1}, {Verdict: store.Refused, Seq: 1}, {Verdict: store.Taken, Seq: 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if len(said) != 2 || !strings.HasPrefix(said[1], "a message of poison: ") {
		t.Errorf("%q", said)
	}
	if b := in.limits.takeBad(); len(b) != 1 || b["poison"].n != 1 || !strings.Contains(b["poison"].last, "not this one") {
		t.Errorf("%+v", b)
	}
}
