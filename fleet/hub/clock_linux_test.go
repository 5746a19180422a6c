package hub_test

import (
	"fmt"
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

// timed is counting, with the time of each check beside it.
var timed = strings.Replace(counting, "echo $n > n\n", "echo $n > n\necho $n $(date +%s.%N) >> times\n", 1)

// TestClocks: hosts whose clocks are five days off, or jump by as much, have a history
// in the order in which things were, at the times at which they were, and are silent
// when they are.
func TestClocks(t *testing.T) {
	means.Short(t, "takes seconds")
	const off = 5 * 24 * time.Hour
	w := newWorld(t)
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 3})
	jumps := 0
	clocks := map[string]func() time.Time{
		"ahead":  func() time.Time { return time.Now().Add(off) },
		"behind": func() time.Time { return time.Now().Add(-off) },
		"jumps":  func() time.Time { jumps++; return time.Now().Add(off - time.Duration(jumps%3)*off) }, // one goroutine asks
	}
	began := time.Now()
	hosts := map[string]*host{}
	for name, now := range clocks {
		h := w.join(name, invite)
		h.fettle, h.now, h.wait = timed, now, time.Second
		h.run(300 * time.Millisecond)
		hosts[name] = h
	}
	for _, h := range hosts {
		w.until("some checks", func() bool { return w.newest(db, h) > 4 })
	}
	w.stop(syscall.SIGTERM)
	for _, h := range hosts { // what waits is of two instances
		at := h.checks()
		w.until("checks without a hub", func() bool { return h.checks() > at+4 })
		h.end()
		h.run(300 * time.Millisecond)
	}
	w.start()
	for name, h := range hosts {
		at := h.checks()
		w.until(name+" has told all", func() bool { return w.newest(db, h) > at })
	}
	silent := func(since time.Duration) int {
		rows, err := db.Hosts(t.Context(), store.HostQuery{Scope: store.Everything, SilentBefore: time.Now().Add(-since), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if n := silent(20 * time.Second); n != 0 {
		t.Errorf("%d hosts are silent that tell", n)
	}
	for _, h := range hosts {
		h.end()
	}
	w.until("all fall silent", func() bool { return silent(2*time.Second) == 3 })
	for name, h := range hosts {
		row, err := db.HostByAgent(t.Context(), h.agent)
		if err != nil {
			t.Fatal(err)
		}
		if want := clocks[name]().Sub(time.Now()); name != "jumps" && (row.Skew-want).Abs() > time.Minute {
			t.Errorf("%s: its clock is said to be %s off, not %s", name, row.Skew, want)
		}
		h.punctual(db, row.ID, began)
	}
}

// punctual compares when findings were new with when the checks were.
func (h *host) punctual(db *store.DB, id int64, began time.Time) {
	h.w.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, "times"))
	if err != nil {
		h.w.Fatal(err)
	}
	times := map[int]time.Time{}
	for line := range strings.Lines(string(b)) {
		var n int
		var at float64
		if _, err := fmt.Sscan(line, &n, &at); err != nil {
			h.w.Fatal(err)
		}
		times[n] = time.UnixMicro(int64(at * 1e6))
	}
	es, err := db.HostEvents(h.w.Context(), id, 0, 1000)
	if err != nil {
		h.w.Fatal(err)
	}
	last, n, seen, off := time.Now(), 1<<30, 0, 0
	for _, e := range es { // the newest first
		if e.At.After(last) || e.At.Before(began.Add(-time.Second)) {
			h.w.Errorf("%s: %s:%s at %s, before it %s; the test began at %s", h.agent, e.Kind, e.Subject, e.At, last, began)
		}
		last = e.At
		run := 0
		if _, err := fmt.Sscanf(e.Subject, "run-%d", &run); err != nil || e.Kind != store.New {
			continue
		}
		if run >= n {
			h.w.Errorf("%s: run %d comes after run %d", h.agent, n, run)
		}
		n = run
		seen++
		if e.At.Sub(times[run]).Abs() > 2*time.Second {
			off++
		}
	}
	if off > 0 {
		h.w.Errorf("%s: %d findings are said to be of another time than they were", h.agent, off)
	}
	if lost := h.checks() - seen; lost > 2 { // the agent was ended twice, perhaps in the midst of a check
		h.w.Errorf("%s: of %d checks %d are not known", h.agent, h.checks(), lost)
	}
}
