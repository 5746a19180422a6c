package hub_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fettle/fleet/hub"
	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// TestBackup: a backup of a hub that serves makes a hub in an empty folder, to
// which the agents go on sending: also one that joined after the backup, and one
// that was reinstalled after it, whose old key is revoked once more. What waits
// for the hub then is taken, where it begins with a whole report.
func TestBackup(t *testing.T) {
	means.Short(t, "takes seconds")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Group: "web", Uses: 3})
	stays, ended, before := w.join("web1", invite), w.join("web2", invite), w.join("web4", invite)
	for _, h := range []*host{stays, ended, before} {
		h.run(300 * time.Millisecond)
		w.until("the hub has checks", func() bool { return w.latest(db, h) >= 2 })
	}
	file := filepath.Join(w.dir, "backup")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := hub.Backup(t.Context(), w.hubDir(), known, file); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", st.Mode(), err)
	}
	had := w.latest(db, stays)
	late := w.join("web3", w.invited(known, db, hub.Inviting{}))
	late.run(300 * time.Millisecond)
	// Of a host that was reinstalled, the backup has only the old key.
	old := before.key()
	again := w.anew(before, w.invited(known, db, hub.Inviting{Replace: before.agent}))
	again.run(300 * time.Millisecond)
	w.until("the hub has what the backup does not", func() bool {
		return w.latest(db, stays) > had+2 && w.latest(db, late) > 2 && w.latest(db, again) > 2
	})
	w.stop(syscall.SIGKILL)

	ended.end()
	from := ended.checks() + 1
	ended.run(300 * time.Millisecond)
	w.until("checks wait", func() bool { return ended.checks() >= from+3 })
	w.restore(file, os.DevNull)
	w.endLease()
	w.start()
	_, db = w.open()
	for _, h := range []*host{stays, ended, late, again} {
		now := h.checks()
		w.until(h.agent+" is heard again", func() bool { return w.latest(db, h) > now })
		row, err := db.HostByAgent(t.Context(), h.agent)
		if err != nil || row.Name != filepath.Base(h.dir) || row.Counts.Notice != 1 {
			t.Errorf("%+v, %v", row, err)
		}
	}
	w.inOrder(db, ended, from)
	if gone, err := db.Revoked(t.Context()); err != nil || !slices.Equal(gone, []string{old}) {
		t.Errorf("revoked: %v, %v, want %s", gone, err, old)
	}
	if strings.Contains(w.log(), "the database") {
		t.Error(w.log())
	}
}

// latest is the last check that the hub has of a host.
func (w *world) latest(db *store.DB, h *host) (n int) {
	row, err := db.HostByAgent(w.Context(), h.agent)
	if err != nil {
		return 0
	}
	if f, err := db.Findings(w.Context(), row.ID, 0, 100); err == nil && len(f) > 0 {
		_, _ = fmt.Sscanf(f[0].Subject, "run-%d", &n)
	}
	return n
}

// restore recreates the hub's folder, but only where there is none.
func (w *world) restore(file, revoked string) {
	w.Helper()
	if err := hub.Restore(w.hubDir(), file, os.DevNull); err == nil || !strings.Contains(err.Error(), "of another hub already") {
		w.Errorf("restored over a hub: %v", err)
	}
	if err := os.Rename(w.hubDir(), w.hubDir()+"-lost"); err != nil {
		w.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	for name, bad := range map[string][]byte{"none": []byte("no backup"), "empty": nil, "cut": b[:len(b)/2], "half": half(w.T, b)} {
		bent := filepath.Join(w.dir, name)
		if err := os.WriteFile(bent, bad, 0o600); err != nil {
			w.Fatal(err)
		}
		if err := hub.Restore(filepath.Join(w.dir, "from-"+name), bent, os.DevNull); err == nil || !strings.Contains(err.Error(), bent) {
			w.Errorf("restored from a file that is %s: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Join(w.dir, "from-"+name)); err != nil || len(left) > 0 {
			w.Errorf("of a file that is %s is left: %v, %v", name, left, err)
		}
	}
	if os.Geteuid() == 0 {
		theirs := filepath.Join(w.dir, "theirs")
		if err := errors.Join(os.Mkdir(theirs, 0o700), os.Chown(theirs, 65534, 65534), hub.Restore(theirs, file, os.DevNull)); err != nil {
			w.Fatal(err)
		}
		es, err := os.ReadDir(theirs)
		if err != nil || len(es) < 5 {
			w.Errorf("%v, %v", es, err)
		}
		for _, e := range es {
			if st, err := e.Info(); err != nil || st.Sys().(*syscall.Stat_t).Uid != 65534 {
				w.Errorf("%s is not the service's: %v, %v", e.Name(), st, err)
			}
		}
	}
	// What is left of another hub, each by itself: SQLite would replay the log.
	for _, name := range []string{"hub.json", "hub.db", "hub.db-wal", "hub.db-shm", "hub.db-journal", "nats-keys.json", "ca-key.pem", "nats"} {
		left := filepath.Join(w.dir, "left-"+name)
		if err := os.MkdirAll(left, 0o700); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, name), []byte("another's"), 0o600); err != nil {
			w.Fatal(err)
		}
		if err := hub.Restore(left, file, os.DevNull); err == nil || !strings.Contains(err.Error(), left+" has "+name+" of another hub") {
			w.Errorf("restored beside another's %s: %v", name, err)
		}
		if b, err := os.ReadFile(filepath.Join(left, name)); string(b) != "another's" {
			w.Errorf("%s, which was there before: %q, %v", name, b, err)
		}
	}
	if err := hub.Restore(w.hubDir(), file, revoked); err != nil {
		w.Fatal(err)
	}
}

// half is the first half of what is packed, packed: some files of a hub, and the
// beginning of one.
func half(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := r.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(plain[:len(plain)/2], nil)
}

// endLease takes the restored hub's database from the hub that was killed: waiting
// for the end of its lease would be 15 s.
func (w *world) endLease() {
	w.Helper()
	raw, err := sql.Open("sqlite", "file:"+filepath.Join(w.hubDir(), hub.DatabaseFile))
	if err != nil {
		w.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec("DELETE FROM leases"); err != nil {
		w.Fatal(err)
	}
}

// inOrder wants each check of a host from one on to have come once.
func (w *world) inOrder(db *store.DB, h *host, from int) {
	w.Helper()
	row, err := db.HostByAgent(w.Context(), h.agent)
	if err != nil {
		w.Fatal(err)
	}
	es, err := db.HostEvents(w.Context(), row.ID, 0, 1000)
	if err != nil {
		w.Fatal(err)
	}
	var got, want []string
	for _, e := range es {
		n := 0
		if _, err := fmt.Sscanf(e.Subject, "run-%d", &n); err == nil && n >= from && e.Kind == store.New {
			got = append(got, e.Subject)
		}
	}
	for n := from + len(got) - 1; n >= from; n-- {
		want = append(want, fmt.Sprintf("run-%d", n))
	}
	if len(got) < 4 || !slices.Equal(got, want) {
		w.Errorf("%v, not %v", got, want)
	}
}
