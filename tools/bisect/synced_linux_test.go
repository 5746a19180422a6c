package bisect

import (
	"testing"

	"fettle/internal/means"
)

// TestSynced: a reading that took an hour outlives a power cut.
func TestSynced(t *testing.T) {
	calls := means.Trace(t, "write,fsync", func() {
		j, err := openJournal(t.TempDir(), begun{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.close()
		if err := j.add(entry{Commit: "c0ffee"}); err != nil {
			t.Fatal(err)
		}
	})
	calls.Order(t, `write( journal.jsonl> c0ffee`, "fsync( /journal.jsonl>")
}
