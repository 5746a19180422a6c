package store_test

import (
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestLeaseOfAClockAhead: a hub whose clock was days ahead, and that was killed, leaves no lease for days.
func TestLeaseOfAClockAhead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const span = time.Second
		lease := func(holder string, clock time.Duration) bool {
			t.Helper()
			db.SetNow(func() time.Time { return time.Now().Add(clock) })
			held, err := db.Lease(t.Context(), "ingest", holder, span)
			if err != nil {
				t.Fatal(err)
			}
			return held
		}
		const ahead = 5 * 24 * time.Hour
		if !lease("a", ahead) || lease("b", ahead) || !lease("a", ahead) {
			t.Error("one at a time does not have it")
		}
		time.Sleep(span + 200*time.Millisecond)
		if !lease("b", 0) || lease("a", 0) || !lease("b", 0) {
			t.Error("another does not take over")
		}
	})
}
