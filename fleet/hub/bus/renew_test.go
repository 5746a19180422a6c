package bus

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"
)

// TestRenewing: a certificate is made again while the hub runs, and the old one serves
// where that fails.
func TestRenewing(t *testing.T) {
	now := time.Unix(1e9, 0)
	n, fails := byte(0), false
	get, err := renewing(func() (tls.Certificate, error) {
		if fails {
			return tls.Certificate{}, errors.New("the disk is full")
		}
		n++
		return tls.Certificate{Certificate: [][]byte{{n}}}, nil
	}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		later time.Duration
		fails bool
		want  byte
	}{{0, false, 1}, {renewEvery / 2, false, 1}, {renewEvery, false, 2}, {renewEvery, true, 2}, {renewEvery / 2, false, 2},
		{renewEvery, false, 3}, {-3 * renewEvery, false, 4}} {
		now, fails = now.Add(c.later), c.fails
		if got, err := get(nil); err != nil || got.Certificate[0][0] != c.want {
			t.Errorf("%d: %v, %v", i, got, err)
		}
	}
}
