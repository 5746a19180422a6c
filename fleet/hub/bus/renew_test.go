package bus

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"fettle/internal/means"
)

var errFull = errors.New("the disk is full")

// TestRenewing: a certificate is made again while the hub runs, and the old one serves
// where that fails.
func TestRenewing(t *testing.T) {
	now := time.Unix(1e9, 0)
	n, fails := byte(0), false
	get, err := renewing(func() (tls.Certificate, error) {
		if fails {
			return tls.Certificate{}, errFull
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
	}{{0, false, 1}, {59 * time.Minute, false, 1}, {time.Minute, false, 2}, {time.Hour, true, 2}, {30 * time.Minute, false, 2},
		{time.Hour, false, 3}, {-3 * time.Hour, false, 4}} {
		now, fails = now.Add(c.later), c.fails
		got := make(chan byte, 1)
		go func() {
			if c, err := get(nil); err == nil {
				got <- c.Certificate[0][0]
			}
		}()
		select {
		case n := <-got:
			if n != c.want {
				t.Errorf("%d: certificate %d, want %d", i, n, c.want)
			}
		case <-time.After(means.Patience):
			t.Fatalf("%d: no certificate", i)
		}
	}
	none := func() (tls.Certificate, error) { return tls.Certificate{}, errFull }
	if get, err := renewing(none, time.Now); get != nil || !errors.Is(err, errFull) {
		t.Errorf("of a certificate that cannot be made: %v", err)
	}
}
