package remedy

import (
	"os"
	"testing"

	"fettle/internal/means"
)

// TestGuardIsOnDisk: the copy of fettle that takes a change back after a crash is there then.
func TestGuardIsOnDisk(t *testing.T) {
	calls := means.Trace(t, "fsync", func() {
		store, err := OpenStoreAt(t.TempDir() + "/state")
		must(t, "opening the store", err)
		c := &Change{Head: Head{ID: "0001"}, store: store}
		must(t, "making its folder", store.disk.Mkdir(inStore(c.ID)))
		_, err = copyProgram(c, "/bin/true")
		must(t, "copying", err)
	})
	calls.Order(t, "fsync( /0001/fettle>", "fsync( /0001>")
}

// TestStoreIsOnDisk: the names of the folders above a store, of its own and of the one with the changes are there after
// a power cut, and so is a boot unit with the link to it.
func TestStoreIsOnDisk(t *testing.T) {
	calls := means.Trace(t, "mkdirat,fsync,symlinkat", func() {
		dir := t.TempDir()
		store, err := OpenStoreAt(dir + "/up/state")
		must(t, "opening the store", err)
		must(t, "units", os.Mkdir(dir+"/units", 0o755))
		_, err = Guard{Units: dir + "/units"}.bootUnit(&Change{Head: Head{ID: "0001"}, store: store}, "/bin/fettle")
		must(t, "boot unit", err)
	})
	calls.Order(t, `mkdirat( "up"`, "fsync( /001>", `mkdirat( "state"`, "fsync( /up>", `mkdirat( "changes"`, "fsync( /state>",
		"symlinkat(", "fsync( -boot.service>", "fsync( /sysinit.target.wants>", "fsync( /units>")
}
