package login

import (
	"testing"
	"time"
)

// Most logins of a host whose name server caches are quick but the first.
func TestCold(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  time.Duration
		n      int
		median float64
		cold   bool
	}{
		{"a second more", 1300 * time.Millisecond, 3, 0.3, true},
		{"of two", 1300 * time.Millisecond, 2, 0.3, false},
		{"by little", 700 * time.Millisecond, 3, 0.3, false},
		{"not twice as long", 3 * time.Second, 3, 2, false},
	} {
		r := Result{Logins: make([]Login, c.n), Total: Stat{Median: c.median}}
		r.Logins[0].Total = c.first
		if first, cold := r.Cold(); cold != c.cold || first != c.first.Seconds() {
			t.Errorf("%s: %v, %v", c.name, first, cold)
		}
	}
}
