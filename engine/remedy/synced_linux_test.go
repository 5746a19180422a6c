package remedy

import (
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
