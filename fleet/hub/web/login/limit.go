package login

import (
	"net/netip"
	"sync"
	"time"
)

// limit counts attempts by key: a burst, then one each interval. What it
// remembers is bounded, whoever tries with however many names.
type limit struct {
	burst    float64
	interval time.Duration
	most     int // keys remembered

	mu      sync.Mutex
	buckets map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

func newLimit(burst int, interval time.Duration) *limit {
	return &limit{burst: float64(burst), interval: interval, most: 10_000, buckets: map[string]bucket{}}
}

// take reports whether an attempt may be made now, and else when.
func (l *limit) take(key string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.refilled(key, now)
	if b.left < 1 {
		return time.Duration((1 - b.left) * float64(l.interval))
	}
	b.left--
	if _, known := l.buckets[key]; !known && len(l.buckets) >= l.most {
		l.forget(now)
	}
	l.buckets[key] = b
	return 0
}

// back gives an attempt back: it succeeded.
func (l *limit) back(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.refilled(key, now)
	b.left = min(b.left+1, l.burst)
	l.buckets[key] = b
}

func (l *limit) refilled(key string, now time.Time) bucket {
	b, ok := l.buckets[key]
	if !ok {
		return bucket{l.burst, now}
	}
	b.left = min(b.left+max(0, now.Sub(b.at).Seconds())/l.interval.Seconds(), l.burst)
	b.at = now
	return b
}

// forget drops who has its whole burst again; and if that is not enough, those
// who tried once, so that a flood of names does not free the one that is
// attacked. It makes room for many, since it looks at all.
func (l *limit) forget(now time.Time) {
	for key := range l.buckets {
		if l.refilled(key, now).left >= l.burst {
			delete(l.buckets, key)
		}
	}
	room := l.most * 3 / 4
	for _, spare := range []float64{l.burst - 1, 0} {
		for key, b := range l.buckets {
			if len(l.buckets) <= room {
				return
			}
			if b.left >= spare {
				delete(l.buckets, key)
			}
		}
	}
}

// neighbours is an address as attempts are counted: of IPv6 the /64, which one
// customer has to choose from.
func neighbours(a netip.Addr) string {
	a = a.Unmap()
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
