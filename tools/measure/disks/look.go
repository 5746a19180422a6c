package disks

import (
	"context"
	"sync"
	"time"

	"fettle/host"
)

// Seen is what a look at the disks of a host showed.
type Seen struct {
	Groups []Group // MD arrays, volumes, file systems over several disks; then vdevs of ZFS
	Pools  []*Vdev // ZFS pools
	Rule   Rule    // by which they spread writes
	ZFS    error   // why the pools could not be looked at, where there are some
	Over   time.Duration
	// ZFSOver is how long the pools were looked at: whole seconds, a minute at most.
	ZFSOver time.Duration
}

// zfsLongest is the longest interval that zpool is asked for.
const zfsLongest = time.Minute

// Look reads how the disks of a host are put together, and what they did: over
// the interval on a live host, since they appeared on another or when the
// interval is 0. The kernel's counters and the pools are looked at side by
// side, so it takes one interval; none where nothing spreads over several disks.
func Look(ctx context.Context, h *host.Host, interval time.Duration) (Seen, error) {
	if h.Kind() != host.KindLive {
		interval = 0
	}
	s := Seen{Over: interval, ZFSOver: min(interval, zfsLongest).Truncate(time.Second)}
	layout, err := Layout(ctx, h)
	if err != nil {
		return s, err
	}
	var loads map[string]Load
	var side sync.WaitGroup
	side.Go(func() {
		if s.Pools, s.ZFS = Pools(ctx, h, s.ZFSOver); len(s.Pools) > 0 {
			s.Rule, s.ZFS = RuleOf(ctx, h)
		}
	})
	switch {
	case len(layout) == 0:
	case interval > 0:
		loads, err = Over(ctx, h.Source(), interval)
	default:
		loads, err = sinceBoot(ctx, h)
	}
	side.Wait()
	if err != nil {
		return s, err
	}
	for _, l := range layout {
		s.Groups = append(s.Groups, l.Group(loads))
	}
	for _, p := range s.Pools {
		s.Groups = append(s.Groups, p.Groups()...)
	}
	return s, nil
}

func sinceBoot(ctx context.Context, h *host.Host) (map[string]Load, error) {
	all, err := Read(ctx, h)
	loads := map[string]Load{}
	for n, c := range all {
		loads[n] = SinceBoot(c)
	}
	return loads, err
}
