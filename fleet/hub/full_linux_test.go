package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/fleet/hub"
	"fettle/internal/means"
)

// TestFull: the disk of the hub is full, or that of its stream alone: it says so,
// keeps running, loses nothing that it acknowledged, and goes on by itself when there is room.
func TestFull(t *testing.T) {
	means.Short(t, "takes seconds")
	if !means.Inside(t, syscall.CLONE_NEWNS, 150*time.Second) {
		return
	}
	for name, disk := range map[string]string{"all": "hub", "stream": "hub/nats"} {
		t.Run(name, func(t *testing.T) { full(t, disk) })
	}
}

func full(t *testing.T, disk string) {
	w := newWorld(t)
	disk = filepath.Join(w.dir, disk)
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=48m,mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop(syscall.SIGKILL)
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 3})
	var hosts []*host
	for _, name := range []string{"web1", "web2", "web3"} {
		h := w.join(name, invite)
		h.wait = 2 * time.Second
		h.run(200 * time.Millisecond)
		hosts = append(hosts, h)
	}
	rounds := 1
	if os.Getenv("FETTLE_LONG") != "" {
		rounds = 2
	}
	for round := range rounds {
		for _, h := range hosts {
			from := h.checks()
			w.until(h.agent+" tells", func() bool { return w.newest(db, h) > from })
		}
		means.Fill(t, filepath.Join(disk, "filler"))
		before := len(w.log())
		at := map[*host]int{}
		for _, h := range hosts {
			at[h] = h.checks()
		}
		w.until("the hub says that the disk is full", func() bool {
			said := w.log()[before:]
			return strings.Contains(said, "no space left on device") || strings.Contains(said, "disk is full")
		})
		for _, h := range hosts {
			w.until("checks while the disk is full", func() bool { return h.checks() > at[h]+15 })
		}
		if round == 1 { // also one that is killed meanwhile; another starts or says why not
			w.stop(syscall.SIGKILL)
			w.start()
			time.Sleep(3 * time.Second)
			w.stop(syscall.SIGKILL)
		}
		if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			w.start()
		}
		for _, h := range hosts {
			now := h.checks()
			w.until(h.agent+" is heard again", func() bool { return w.newest(db, h) > now })
		}
	}
	for _, h := range hosts {
		w.complete(db, h)
	}
	if !strings.Contains(w.log(), "agents' messages are kept again") {
		t.Errorf("the hub does not say that there is room again:\n%s", w.log())
	}
}
