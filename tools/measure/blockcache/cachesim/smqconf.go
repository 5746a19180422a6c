package cachesim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/tools/measure/blockcache/trace"
)

// Rules are what the patch series of May 2017 (4d44ec5ab751 to 6cf4cc8f8b3b)
// and the rewrite of dm-cache's core in 4.12 changed, each a switch of its
// own. "Old" was read in drivers/md/dm-cache-policy-smq.c of a 4.9 tree, "new"
// in that of Debian's linux-source-6.1 (6.1.192).
type Rules struct {
	// HotspotAlways: every access moves the hotspot queue; new: misses alone.
	HotspotAlways bool `json:"hotspot_always"`
	// Eager: the threshold starts at all 64 levels; old: at 32 while blocks are
	// free, and at what a table gives for the hit ratio when none is.
	Eager bool `json:"eager"`
	// WriteExtra is by how much higher a level writes need than reads; old: 2.
	WriteExtra int `json:"write_extra"`
	// EnterTop: a promoted block starts at level 63; old: at level 0.
	EnterTop bool `json:"enter_top"`
	// EvictAtOnce: a promotion into a full cache replaces a clean block at once;
	// new: it is dropped, and a block of the lower 32 levels is demoted in the
	// background until a quarter of the cache is free or about to be.
	EvictAtOnce bool `json:"evict_at_once"`
	// Sentinels: only blocks before the first sentinel of their level may be
	// evicted (sentinels passed them twice, in one to two minutes, or they were
	// displaced by a hit or written back); new: any.
	Sentinels bool `json:"sentinels"`
	// RaiseToHead: blocks that are pushed up when levels are evened out go to the
	// head of theirs, before its sentinels; new: to the tail.
	RaiseToHead bool `json:"raise_to_head"`
	// IdleWriteback: dirty blocks are written back while the device is idle, and
	// one where a demotion finds no clean block; old: always, within limits.
	IdleWriteback bool `json:"idle_writeback"`
	// OldCore: promotions stay within migration_threshold, and requests for a
	// block that is being promoted wait; new: no bound below 4096, and reads go to
	// the origin until the copy is done.
	OldCore bool `json:"old_core"`
	// CachePeriod is how often the cache's own queues are put in order; old: 10 s,
	// new: 60 s.
	CachePeriod time.Duration `json:"cache_period"`
}

// Mended is smq of 4.14 to 6.1, Before2017 of 4.9 to 4.11.
var (
	Mended     = Rules{Eager: true, EnterTop: true, IdleWriteback: true, CachePeriod: 60 * time.Second}
	Before2017 = Rules{
		HotspotAlways: true,
		WriteExtra:    2,
		EvictAtOnce:   true,
		Sentinels:     true,
		RaiseToHead:   true,
		OldCore:       true,
		CachePeriod:   10 * time.Second,
	}
)

// switches are the fields of Rules by name, as Find reads them.
var switches = map[string]func(*Rules, string) error{
	"hotspot-always": boolean(func(r *Rules) *bool { return &r.HotspotAlways }),
	"eager":          boolean(func(r *Rules) *bool { return &r.Eager }),
	"enter-top":      boolean(func(r *Rules) *bool { return &r.EnterTop }),
	"evict-at-once":  boolean(func(r *Rules) *bool { return &r.EvictAtOnce }),
	"sentinels":      boolean(func(r *Rules) *bool { return &r.Sentinels }),
	"raise-to-head":  boolean(func(r *Rules) *bool { return &r.RaiseToHead }),
	"idle-writeback": boolean(func(r *Rules) *bool { return &r.IdleWriteback }),
	"old-core":       boolean(func(r *Rules) *bool { return &r.OldCore }),
	"write-extra": func(r *Rules, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > levels {
			return fmt.Errorf("%q is no number of levels", s)
		}
		r.WriteExtra = n
		return nil
	},
	"cache-period": func(r *Rules, s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > 24*time.Hour {
			return fmt.Errorf("%q is no time between 0 and a day", s)
		}
		r.CachePeriod = d
		return nil
	},
}

func boolean(field func(*Rules) *bool) func(*Rules, string) error {
	return func(r *Rules, s string) error {
		switch s {
		case "true", "on", "yes":
			*field(r) = true
		case "false", "off", "no":
			*field(r) = false
		default:
			return fmt.Errorf("%q is neither on nor off", s)
		}
		return nil
	}
}

// Switches are the names of what can be switched in smq.
func Switches() []string { return slices.Sorted(maps.Keys(switches)) }

// switched is smq with other rules: "smq-4.11+enter-top=on".
func switched(base Kind, rules Rules, name string) (Kind, error) {
	for _, s := range strings.Split(name, "+")[1:] {
		key, value, _ := strings.Cut(s, "=")
		set, ok := switches[key]
		if !ok {
			return Kind{}, fmt.Errorf("policy %q: smq has no switch %q; it has %s", name, key, strings.Join(Switches(), ", "))
		}
		if err := set(&rules, value); err != nil {
			return Kind{}, fmt.Errorf("policy %q: %s: %w", name, key, err)
		}
	}
	return Kind{name, base.About, func(n int, in *input) Policy { return newSMQ(n, in, rules) }}, nil
}

// SMQ is what smq depends on besides the requests themselves: time above all.
// Zero values are defaults.
type SMQ struct {
	// OriginBlocks is the size of the slow device in cache blocks; 0 is what the trace
	// spans. It decides how many blocks a hotspot block has.
	OriginBlocks int64 `json:"origin_blocks"`
	// Rate is that of the requests, in requests a second. 0 is the trace's own times,
	// or, without any, Depth.
	Rate float64 `json:"rate,omitempty"`
	// Depth is how many requests are in flight, as with fio's iodepth: the next
	// one comes when one is done. 0 is 8.
	Depth int `json:"depth,omitempty"`
	// Hit and Miss are how long a request takes; Copy is how long a block takes
	// from the slow device to the fast one, or back; Commit is how long a
	// change of the mapping takes to be on disk.
	Hit    time.Duration `json:"hit"`
	Miss   time.Duration `json:"miss"`
	Copy   time.Duration `json:"copy"`
	Commit time.Duration `json:"commit"`
	// MigrationThreshold bounds what is copied at a time, in sectors of 512 bytes; 0 is
	// the kernel's default of 2048.
	MigrationThreshold int64 `json:"migration_threshold"`
	// Writethrough: no block is ever dirty.
	Writethrough bool `json:"writethrough,omitempty"`
	// WholeBlocks: each write is of a whole block, which needs no copy.
	WholeBlocks bool `json:"whole_blocks,omitempty"`
}

// defaults fills in what is not given, and refuses what makes no sense.
func (c SMQ) defaults(t *trace.Trace) (SMQ, error) {
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&c.Hit, 100*time.Microsecond)
	or(&c.Miss, 5*time.Millisecond)
	or(&c.Copy, c.Miss)
	or(&c.Commit, time.Millisecond)
	for name, d := range map[string]time.Duration{"hit": c.Hit, "miss": c.Miss, "copy": c.Copy, "commit": c.Commit} {
		if d < 0 || d > time.Hour {
			return c, fmt.Errorf("smq: a %s of %v: it is between 0 and an hour", name, d)
		}
	}
	if c.Rate < 0 || c.Rate > 1e9 || c.Rate != c.Rate {
		return c, fmt.Errorf("smq: %g requests a second: it is 0 to 1e9", c.Rate)
	}
	if c.Depth == 0 {
		c.Depth = 8
	}
	if c.Depth < 0 || c.Depth > 4096 {
		return c, fmt.Errorf("smq: %d requests in flight: it is 1 to 4096", c.Depth)
	}
	if c.MigrationThreshold == 0 {
		c.MigrationThreshold = 2048
	}
	if c.OriginBlocks == 0 {
		c.OriginBlocks = t.Span
	}
	if c.OriginBlocks < t.Span {
		return c, fmt.Errorf("smq: an origin of %d blocks, but the trace asks for block %d", c.OriginBlocks, t.Span-1)
	}
	return c, nil
}

// hotspots are how many hotspot blocks there are, and how many cache blocks
// each has: a quarter of the cache's number, at least 1024, of 16 blocks each,
// halved while they would cover more than the origin.
func hotspots(cacheBlocks int, originBlocks int64) (count int, each uint32) {
	count, each = max(cacheBlocks/4, 1024), 16
	for each > 1 && int64(each)*int64(count) > originBlocks {
		each /= 2
	}
	return count, each
}
