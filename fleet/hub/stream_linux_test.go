package hub_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub"
	"fettle/internal/means"
)

// TestStreamLost: what NATS keeps is gone, or damaged, when a hub starts: agents
// send again what the database does not have.
func TestStreamLost(t *testing.T) {
	means.Short(t, "takes seconds")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	h := w.join("web1", w.invited(known, db, hub.Inviting{}))
	h.run(300 * time.Millisecond)
	nats := filepath.Join(w.hubDir(), "nats")
	damaged := 0
	bend := func(how func(file string) error) func() error {
		return func() error {
			return filepath.WalkDir(nats, func(file string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				damaged++
				return how(file)
			})
		}
	}
	for what, do := range map[string]func() error{
		"removed": func() error { return os.RemoveAll(nats) },
		"emptied": bend(func(file string) error { return os.Truncate(file, 0) }),
		"noise": bend(func(file string) error {
			st, err := os.Stat(file)
			if err != nil {
				return err
			}
			b := make([]byte, st.Size())
			for i := range b {
				b[i] = byte(i*7 + 1)
			}
			return os.WriteFile(file, b, 0o600)
		}),
		"cut": bend(func(file string) error {
			st, err := os.Stat(file)
			if err != nil {
				return err
			}
			return os.Truncate(file, st.Size()/2)
		}),
	} {
		from := h.checks()
		w.until("some checks arrive", func() bool { return w.newest(db, h) > from })
		w.stop(syscall.SIGKILL)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		waits := h.checks()
		w.start()
		w.until("after the stream was "+what, func() bool { return w.newest(db, h) > waits+2 })
	}
	if damaged < 6 {
		t.Errorf("only %d files were there to be damaged", damaged)
	}
	w.complete(db, h)
}
