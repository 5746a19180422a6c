package watch

import (
	"testing"

	"fettle/internal/means"
)

// TestSynced: a restart may follow at once, of whatever kind.
func TestSynced(t *testing.T) {
	calls := means.Trace(t, "fsync,renameat,symlinkat,unlinkat", func() {
		dir := t.TempDir()
		if err := Arm(dir, "/usr/bin/fettle"); err != nil {
			t.Fatal(err)
		}
		if err := Disarm(dir); err != nil {
			t.Fatal(err)
		}
	})
	calls.Order(t, "fsync( /.fettle-", "renameat( "+Unit, "symlinkat(", "fsync( /"+wants+">", "fsync( /001>",
		"unlinkat( "+Unit, "unlinkat( "+Unit, "fsync( /001>")
}
