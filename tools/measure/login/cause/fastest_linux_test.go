package cause

import (
	"errors"
	"testing"
	"time"
)

func TestFastest(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		took        []time.Duration // what logins would take, one after the other
		logins      int
		best, noise time.Duration
	}{
		{[]time.Duration{200 * ms, 210 * ms, 1 * ms}, 2, 200 * ms, 10 * ms},
		{[]time.Duration{210 * ms, 200 * ms, 1 * ms}, 2, 200 * ms, 10 * ms},
		{[]time.Duration{900 * ms, 300 * ms, 310 * ms, 1 * ms}, 3, 300 * ms, 10 * ms},
		{[]time.Duration{900 * ms, 300 * ms, 700 * ms, 1 * ms}, 3, 300 * ms, 400 * ms},
		{[]time.Duration{300 * ms, 900 * ms, 500 * ms, 1 * ms}, 3, 300 * ms, 200 * ms},
		{[]time.Duration{6 * time.Second, 1 * ms}, 1, 6 * time.Second, 0},
	} {
		n := 0
		best, noise, err := fastest(func() (times, error) { n++; return times{output: c.took[n-1]}, nil })
		if err != nil || best.output != c.best || noise != c.noise || n != c.logins {
			t.Errorf("%v: best %v, noise %v, %d logins, %v", c.took, best.output, noise, n, err)
		}
	}
	no := errors.New("no login")
	if _, _, err := fastest(func() (times, error) { return times{}, no }); err != no {
		t.Errorf("got %v", err)
	}
}
