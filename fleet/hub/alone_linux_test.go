package hub_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub"
	"fettle/internal/means"
)

// A hub that was killed goes on at once when it is started again: a lease on the
// database in its own folder is nobody else's, however long it lasts. A second hub in that folder is refused.
func TestStartsAgainAtOnce(t *testing.T) {
	means.Short(t, "takes seconds")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	h := w.join("web1", w.invited(known, db, hub.Inviting{}))
	h.run(300 * time.Millisecond)
	w.until("some checks arrive", func() bool { return w.newest(db, h) > 1 })

	second := exec.Command(os.Args[0])
	second.Env = append(append(os.Environ(), "HUB_DIR="+w.hubDir(), "HUB_LISTEN=127.0.0.1:0"), w.env...)
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another fettle-hub runs with the state folder "+w.hubDir()) {
		t.Errorf("a second hub in the same folder: %v\n%s", err, out)
	}

	w.stop(syscall.SIGKILL)
	if err := db.Abandon(t.Context()); err != nil { // its own would last a quarter of a minute
		t.Fatal(err)
	}
	if ok, err := db.Lease(t.Context(), "ingest", "the one that was killed", time.Hour); err != nil || !ok {
		t.Fatal(ok, err)
	}
	waits := h.checks()
	w.start()
	w.until("after it was killed", func() bool { return w.newest(db, h) > waits+1 })
	w.complete(db, h)
}
