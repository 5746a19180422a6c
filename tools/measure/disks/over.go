package disks

import (
	"context"
	"time"

	"fettle/host"
)

// diskstats is where the kernel counts (Documentation/admin-guide/iostats.rst).
const diskstats = "/proc/diskstats"

// Read reads the counters of all block devices.
func Read(ctx context.Context, h *host.Host) (map[string]Counters, error) {
	b, err := h.ReadFile(ctx, diskstats)
	if err != nil {
		return nil, err
	}
	return ParseDiskstats(diskstats, b)
}

// Over is what each disk did over an interval: two readings, each with a host
// of its own, since a host remembers what it read.
func Over(ctx context.Context, src host.Source, interval time.Duration) (map[string]Load, error) {
	before, err := Read(ctx, host.New(src))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	select {
	case <-time.After(interval):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	after, err := Read(ctx, host.New(src))
	if err != nil {
		return nil, err
	}
	loads := map[string]Load{}
	for n, c := range after {
		b, ok := before[n]
		if !ok {
			continue // it came meanwhile
		}
		if l, err := Between(b, c, time.Since(start)); err == nil {
			loads[n] = l
		}
	}
	return loads, nil
}
