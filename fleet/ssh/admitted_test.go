package ssh

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurnedAway: a server with too many logins at once is asked again, a few times and ever less often.
func TestTurnedAway(t *testing.T) {
	const crowd = "kex_exchange_identification: read: Connection reset by peer\n"
	failed := errors.New("exit status 255")
	for _, c := range []struct {
		name  string
		errs  string
		until int // the run that is admitted; 0: none
		asked int
		least time.Duration
	}{
		{"admitted at once", crowd, 1, 1, 0},
		{"admitted at the third", crowd, 3, 3, 1500 * time.Millisecond},
		{"never admitted", crowd, 0, tries, 7500 * time.Millisecond},
		{"another failure", "Connection refused\n", 0, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began, asked := time.Now(), 0
				_, errs, err := admitted(ctx, func() (int, string, error) {
					if asked++; asked == c.until {
						return 0, "", nil
					} else if ctx.Err() != nil {
						return 0, "", ctx.Err()
					}
					return 0, c.errs, failed
				})
				took := time.Since(began)
				if asked != c.asked || took < c.least || took > time.Minute {
					t.Errorf("asked %d times in %s, want %d in %s or some more", asked, took, c.asked, c.least)
				}
				if (err == nil) != (c.until > 0) || err != nil && (!errors.Is(err, failed) || errs != c.errs) {
					t.Errorf("%q, %v", errs, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, cancel)
		_, _, _ = admitted(ctx, func() (int, string, error) {
			if ctx.Err() != nil {
				return 0, "", ctx.Err()
			}
			return 0, crowd, failed
		})
		if took := time.Since(began); took > time.Second {
			t.Errorf("waited %s for a server although nobody wanted its answer any more", took)
		}
	})
}
