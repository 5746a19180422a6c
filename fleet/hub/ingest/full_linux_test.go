package ingest

import (
	"database/sql"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// A disk that is full takes what fits into the log that is there, and not what is larger:
// that the database takes others does not make the larger one refused, which its agent
// would drop. It waits, and is taken when there is room.
func TestFullDiskRefusesNothing(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	file := filepath.Join(dir, "hub.db")
	db := storetest.Open(t, file)
	if err := db.AddToken(t.Context(), store.Token{Hash: "one", Expires: time.Now().Add(time.Hour), Uses: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.JoinByToken(t.Context(), "one", store.Joining{Agent: "one", Host: "one", Key: "Uone", How: "token"}); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "PRAGMA wal_checkpoint(RESTART)"); err != nil { // the log is written from its beginning again
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	means.Fill(t, filler)
	said := make(chan string, 100)
	in := newIntake(Config{DB: db, Holder: "h", Log: func(s string) { said <- s }})
	if !in.takes(t.Context()) {
		t.Fatal("nothing fits into the log: this proves nothing")
	}
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Run = "one", "i", 1, time.Unix(1e9, 0), &message.Run{Failed: strings.Repeat("x", 4<<20)}
	item := store.Item{Message: m, Key: "Uone", At: time.Unix(1e9, 0)}
	got := make(chan []store.Result, 1)
	go func() { got <- in.keep(t.Context(), []store.Item{item, item}) }()
	for range 2 { // tried, and tried again
		select {
		case s := <-said:
			if !strings.Contains(s, "full") {
				t.Errorf("said %q", s)
			}
		case r := <-got:
			t.Fatalf("on a full disk: %+v", r)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r := <-got
	want := []store.Result{{Verdict: store.Taken, Seq: 1}, {Verdict: store.Again, Seq: 1}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("with room again: %+v", r)
	}
}
