package remedy

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testdata/journals/every-step was written by an earlier fettle, on a host
// whose /mnt held the files of fillCrashWorld. What it changed must still be
// undone, and finished where it was cut off.
func TestJournalsOfEarlierVersions(t *testing.T) {
	const root, state = "/mnt/r", "/mnt/state"
	privately(t)
	must(t, "tmpfs", unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"))
	put(t, "/mnt/boot", "11111111-2222-3333-4444-555555555555\n", 0o644)
	fillCrashWorld(t, root)
	store, err := OpenStoreAt(state)
	must(t, "store", err)
	was := world(t, root, true)
	m := here{machineAt(root)}
	operateHere := func(op string) {
		t.Helper()
		if _, err := operate(crashSpec{State: state, Root: root, Op: op}, m, func(l string) { t.Log(l) }); err != nil {
			t.Fatalf("%s: %v", op, err)
		}
	}
	earlier, err := os.ReadFile("testdata/journals/every-step/journal.jsonl")
	must(t, "journal", err)
	lines := bytes.SplitAfter(earlier, []byte("\n"))
	if len(lines) != 49 {
		t.Fatalf("the journal has %d lines", len(lines)-1)
	}
	for name, journal := range map[string][]byte{
		"whole":                earlier,
		"cut before the end":   bytes.Join(lines[:47], nil),
		"cut in the last step": bytes.Join(lines[:46], nil),
	} {
		operateHere("apply")
		must(t, "copy", os.Remove(root+"/etc/came.conf")) // that version copied no files
		mended := world(t, root, true)
		forget(t, store)
		must(t, "copy", os.CopyFS(store.folder("0001"), os.DirFS("testdata/journals/every-step")))
		must(t, "journal", os.WriteFile(filepath.Join(store.folder("0001"), "journal.jsonl"), journal, 0o600))
		operateHere("resume")
		same(t, name+", resumed", mended, world(t, root, true))
		operateHere("undo")
		same(t, name+", undone", was, world(t, root, true))
		forget(t, store)
	}
}
