package trap

import (
	"context"
	"strings"
	"testing"
	"time"

	"fettle/host"
)

// slowHost takes longer than any limit here to read a table.
type slowHost struct {
	host.Source
	takes time.Duration
}

func (s slowHost) Table(context.Context, host.Table) ([]byte, error) {
	time.Sleep(s.takes)
	return []byte("[]"), nil
}

// TestWaitingIsNotTheChecksTime: a check that waits for a table is not cut off
// for that; one that takes long itself is, before or after it waited.
func TestWaitingIsNotTheChecksTime(t *testing.T) {
	const limit = 300 * time.Millisecond
	check := func(before, after time.Duration) *Trap {
		return testTrap("waits", func(ctx context.Context, h *host.Host, r *Report) error {
			time.Sleep(before)
			if _, err := h.Filesystems(ctx); err != nil {
				return err
			}
			time.Sleep(after)
			r.Clear("", "fine")
			return nil
		})
	}
	for _, c := range []struct {
		before, after time.Duration
		want          Status
	}{{0, 0, Clear}, {10 * limit, 0, Unknown}, {0, 10 * limit, Unknown}} {
		var got Result
		Run(
			t.Context(),
			host.New(slowHost{takes: 3 * limit}),
			[]*Trap{check(c.before, c.after)},
			Options{Limit: limit},
			func(r Result) { got = r },
		)
		if len(got.Outcomes) != 1 || got.Outcomes[0].Status != c.want ||
			c.want == Unknown && !strings.Contains(got.Outcomes[0].Reason, "took too long") {
			t.Errorf("%s before, %s after: %+v", c.before, c.after, got.Outcomes)
		}
	}
}
