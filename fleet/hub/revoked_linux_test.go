package hub_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub"
	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// TestRetiredStaysOut: a hub that was restored admits nobody who was shut out after the
// backup: neither a host that the backup has, nor one that joined later.
func TestRetiredStaysOut(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Group: "web", Uses: 2})
	stays, gone := w.join("web1", invite), w.join("web2", invite)
	for _, h := range []*host{stays, gone} {
		h.run(300 * time.Millisecond)
		w.until("the hub has checks", func() bool { return w.latest(db, h) >= 2 })
	}
	file, kept := filepath.Join(w.dir, "backup"), filepath.Join(w.dir, "revoked.txt")
	if err := hub.Backup(t.Context(), w.hubDir(), known, file); err != nil {
		t.Fatal(err)
	}
	late := w.join("web3", w.invited(known, db, hub.Inviting{}))
	late.run(300 * time.Millisecond)
	w.until("it is heard", func() bool { return w.latest(db, late) >= 1 })
	for _, h := range []*host{gone, late} {
		row, err := db.HostByAgent(t.Context(), h.agent)
		if err == nil {
			err = db.Retire(t.Context(), row.ID)
		}
		if err == nil {
			err = hub.Remember(t.Context(), w.hubDir(), db)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(w.hubDir(), hub.RevokedFile))
	if err != nil || strings.Count(string(b), " retired ") != 2 {
		t.Errorf("the list: %s, %v", b, err)
	}
	if err := os.WriteFile(kept, b, 0o600); err != nil {
		t.Fatal(err)
	}
	w.stop(syscall.SIGKILL)
	w.restore(file, kept)
	w.endLease()
	w.start()
	_, db = w.open()
	for range 3 {
		now := stays.checks()
		w.until("the one that stays is heard again", func() bool { return w.latest(db, stays) > now })
	}
	if h, err := db.HostByAgent(t.Context(), gone.agent); err != nil || h.Retired.IsZero() || h.Counts != (store.Counts{}) {
		t.Errorf("a host that was retired after the backup: %+v, %v", h, err)
	}
	if h, err := db.HostByAgent(t.Context(), late.agent); !errors.Is(err, store.ErrNone) {
		t.Errorf("a host that joined and was retired after the backup: %+v, %v", h, err)
	}
}

// TestAllJoinAgain: without the list of what was revoked, no credentials of before are good.
func TestAllJoinAgain(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	h := w.join("web1", w.invited(known, db, hub.Inviting{}))
	h.run(300 * time.Millisecond)
	w.until("the hub has checks", func() bool { return w.latest(db, h) >= 2 })
	file := filepath.Join(w.dir, "backup")
	if err := hub.Backup(t.Context(), w.hubDir(), known, file); err != nil {
		t.Fatal(err)
	}
	w.stop(syscall.SIGKILL)
	w.restore(file, "")
	w.endLease()
	w.start()
	known, db = w.open()
	had := w.latest(db, h)
	time.Sleep(3 * time.Second)
	if n := w.latest(db, h); n != had {
		t.Errorf("a host of before is heard: check %d, then %d", had, n)
	}
	again := w.anew(h, w.invited(known, db, hub.Inviting{Replace: h.agent}))
	again.run(300 * time.Millisecond)
	now := again.checks()
	w.until("it is heard with its new key", func() bool { return w.latest(db, again) > now })
}

// TestRetiredEnds: the agent of a host that is retired says so and ends, with success, so that
// systemd does not start it again; the others go on.
func TestRetiredEnds(t *testing.T) {
	means.Short(t, "takes half a minute")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 2})
	stays, gone := w.join("web1", invite), w.join("web2", invite)
	for _, h := range []*host{stays, gone} {
		h.run(300 * time.Millisecond)
		w.until("the hub has checks", func() bool { return w.latest(db, h) >= 2 })
	}
	row, err := db.HostByAgent(t.Context(), gone.agent)
	if err == nil {
		err = db.Retire(t.Context(), row.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-gone.done:
		if gone.done = nil; err != nil || !gone.said("retired: ") {
			t.Errorf("it ends with %v, and said %q", err, gone.log)
		}
	case <-time.After(means.Patience):
		t.Error("it goes on")
	}
	now := stays.checks()
	w.until("the other one is heard", func() bool { return w.latest(db, stays) > now })
}
