package dmcachesmq

import (
	"context"
	"fmt"
	"time"

	"fettle/host"
)

// change is what a cache did between two looks at it.
type change struct {
	took                  time.Duration
	hits, misses          uint64 // requests
	promotions, demotions uint64 // blocks
}

func (c *change) accesses() uint64 { return c.hits + c.misses }

func (c *change) hitRatio() float64 {
	if n := c.accesses(); n > 0 {
		return float64(c.hits) / float64(n)
	}
	return 0
}

// exchange is how long it takes at this rate until as many blocks as the cache
// has were demoted; 0 is never.
func (c *change) exchange(total uint64) time.Duration {
	if c.demotions == 0 {
		return 0
	}
	return time.Duration(float64(c.took) * float64(total) / float64(c.demotions))
}

func (c *change) String() string {
	return fmt.Sprintf(
		"%.0f %% hits of %d requests, %d blocks promoted, %d demoted",
		100*c.hitRatio(),
		c.accesses(),
		c.promotions,
		c.demotions,
	)
}

// between is what happened from a to b. A table that was loaded again in
// between counts from 0: then nothing is known.
func between(a, b *status, took time.Duration) *change {
	if a == nil || a.failed || b.failed || a.total != b.total || took <= 0 {
		return nil
	}
	for _, c := range [][2]uint64{{a.readHits, b.readHits}, {a.readMisses, b.readMisses}, {a.writeHits, b.writeHits},
		{a.writeMisses, b.writeMisses},
		{a.promotions, b.promotions}, {a.demotions, b.demotions}} {
		if c[1] < c[0] {
			return nil
		}
	}
	return &change{
		took:       took,
		hits:       b.readHits + b.writeHits - a.readHits - a.writeHits,
		misses:     b.readMisses + b.writeMisses - a.readMisses - a.writeMisses,
		promotions: b.promotions - a.promotions,
		demotions:  b.demotions - a.demotions,
	}
}

// sample looks at the caches twice, and returns the second look with what
// each did. Each look has a host of its own, since a host remembers answers.
func sample(ctx context.Context, src host.Source, interval time.Duration) ([]*status, error) {
	first, err := viaDmsetup(ctx, host.New(src))
	if err != nil || len(first) == 0 {
		return first, err
	}
	start := time.Now()
	select {
	case <-time.After(interval):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	second, err := viaDmsetup(ctx, host.New(src))
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	old := map[string]*status{}
	for _, s := range first {
		old[s.name] = s
	}
	for _, s := range second {
		s.over = between(old[s.name], s, took)
	}
	return second, nil
}
