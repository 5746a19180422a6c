package keypath

import (
	"context"
	"testing"
	"time"
)

// An end beyond 2106 (RFC 4880 section 3.5: times have 32 bits) is far off, not
// long ago.
func TestEndBeyondTheEpoch(t *testing.T) {
	from := time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
	for lasts, want := range map[time.Duration]uint32{
		0:                          forever,
		time.Hour:                  uint32(from.Add(time.Hour).Unix()),
		50 * 365 * 24 * time.Hour:  forever - 1,
		100 * 365 * 24 * time.Hour: forever - 1,
	} {
		if got := end(from, lasts); got != want {
			t.Errorf("made in 2090, for %s: ends at %d, want %d", lasts, got, want)
		}
	}
}

// Of signatures over several user ids the newest is told.
func TestNewestSignatureIsTold(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	if err := bob.AddUserId("robert", "", "robert@example.org", at(made)); err != nil {
		t.Fatal(err)
	}
	older, newer := made.AddDate(1, 0, 0), made.AddDate(2, 0, 0)
	sign(t, alice, bob, "bob", at(older))
	sign(t, alice, bob, "robert", at(newer))
	w := webOf(t, Policy{Now: now}, bytesOf(t, alice), bytesOf(t, bob))
	q := Query{Roots: []Root{{Key: w.Find("alice@example.org")[0]}}, To: w.Find("bob@example.org")[0], MaxLength: 3}
	p, err := w.Shortest(context.Background(), q)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	h := w.hop(q.Roots[0].Key, q.To)
	if !h.Made.Equal(newer) || h.Name != idOf("robert") {
		t.Errorf("told is the one over %s of %s, want that over robert's of %s", h.Name, h.Made, newer)
	}
}
