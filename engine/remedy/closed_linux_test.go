package remedy

import (
	"context"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestClosed: what a store, its lock and its guards open does not stay open.
func TestClosed(t *testing.T) {
	privately(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	dir := t.TempDir()
	must(t, "mkdir", os.Mkdir(dir+"/units", 0o755))
	put(t, dir+"/guard", "#!/bin/sh\necho "+GuardReady+"\n", 0o755)
	put(t, dir+"/mute", "#!/bin/sh\n", 0o755)
	put(t, dir+"/f", "", 0o600)
	store, err := OpenStoreAt(dir + "/state")
	must(t, "store", err)
	defer store.Close()
	c, err := store.create(Head{Format: 1, ConfirmWithin: time.Minute})
	must(t, "create", err)
	e := &Engine{Store: store, Machine: here{}}
	guard := Guard{Units: dir + "/units"}
	for name, act := range map[string]func(){
		"open and close": func() {
			os.RemoveAll(dir + "/a")
			s, err := OpenStoreAt(dir + "/a/b/state")
			must(t, "store", err)
			must(t, "close", s.Close())
		},
		"an unfit one": func() { OpenStoreAt(dir + "/f/state") },
		"unfit changes": func() {
			os.MkdirAll(dir+"/unfit/changes", 0o755)
			os.Chmod(dir+"/unfit/changes", 0o755)
			OpenStoreAt(dir + "/unfit")
		},
		"lock": func() {
			unlock, err := store.Lock(t.Context(), "test", false)
			must(t, "lock", err)
			if _, err := store.Lock(t.Context(), "another", false); err == nil {
				t.Error("locked twice")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			store.Lock(ctx, "another", true)
			unlock()
		},
		"read and write":  func() { store.Change("1"); store.Changes(); c.append(Record{Event: evNote}) },
		"not written":     func() { store.disk.WriteAt("nosuch", nil, 0); store.disk.Sync("nosuch") },
		"a program":       func() { copyProgram(c, dir+"/guard") },
		"no program":      func() { copyProgram(c, dir+"/nosuch") },
		"this program":    func() { copyProgram(c, "") },
		"a guard":         func() { detach(c, dir+"/guard", time.Now()) },
		"a mute guard":    func() { detach(c, dir+"/mute", time.Now()) },
		"no guard":        func() { detach(c, dir+"/nosuch", time.Now()) },
		"a boot unit":     func() { guard.bootUnit(c, dir+"/guard"); guard.disarm(t.Context(), e.Machine, c) },
		"who has a lock":  func() { store.holdsLock(os.Getpid()) },
		"confirm":         func() { e.Confirm(t.Context(), "") },
		"resume":          func() { e.Resume(t.Context(), "7", nil) },
		"undo":            func() { e.Undo(t.Context(), "7", UndoOptions{}) },
		"a guard's check": func() { e.UndoUnconfirmed(t.Context(), "1", time.Time{}, true, func() {}) },
	} {
		act()
		before := len(means.OpenFiles(t))
		for range 3 {
			act()
		}
		// What ended is still reaped.
		means.Until(t, name+": descriptors to be closed", func() bool { return len(means.OpenFiles(t)) <= before })
	}
}
