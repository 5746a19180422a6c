package totp

import (
	"os"
	"testing"

	"fettle/internal/means"
)

// TestSynced: the telephone has the secret by then, so the host's must outlive a power cut.
func TestSynced(t *testing.T) {
	for what, replace := range map[string]bool{"new": false, "replaced": true} {
		t.Run(what, func(t *testing.T) {
			calls := means.Trace(t, "fsync,renameat,renameat2", func() {
				dir := t.TempDir()
				if err := (Place{Path: dir + "/codes", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}).Write([]byte("x"), replace); err != nil {
					t.Fatal(err)
				}
			})
			calls.Order(t, "fsync( /codes~", "renameat \"codes~", "fsync( /001>")
		})
	}
}
