package disks

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
)

// live is a host whose zpool takes as long as it was told, as zpool does.
type live struct {
	*hosttest.Source
	ran []string
}

func (l *live) Kind() host.Kind { return host.KindLive }

func (l *live) Command(ctx context.Context, c host.Command) (host.Output, error) {
	l.ran = append(l.ran, c.String())
	if c.Name == "zpool" && len(c.Args) == 8 {
		d, err := time.ParseDuration(c.Args[6] + "s")
		if err != nil {
			return host.Output{}, err
		}
		time.Sleep(d)
		c.Args = c.Args[:5]
	}
	return l.Source.Command(ctx, c)
}

const pair = `-- root/sys/block/md0/md/level --
raid1
-- stat/sys/block/md0/slaves/sda --
mode 0755 type dir
-- stat/sys/block/md0/slaves/sdb --
mode 0755 type dir
-- root/proc/diskstats --
   8       0 sda 1 0 8 1 1 0 8 1 0 1 2 0 0 0 0 0 0
   8      16 sdb 1 0 8 1 1 0 8 1 0 1 2 0 0 0 0 0 0
`

const zfs = `-- root/sys/module/zfs/version --
2.1.11
-- root/sys/module/zfs/parameters/metaslab_bias_enabled --
0
-- command/zpool iostat -v -l -p -P --
pool alloc free read write read write read write read write read write read write wait wait
tank 2 8 0 10 0 4000000 - 10 - 9000000 - - - 5 - -
  /dev/sdc 1 4 0 5 0 2000000 - 10 - 9000000 - - - 5 - -
  /dev/sdd 1 4 0 5 0 2000000 - 10 - 9000000 - - - 5 - -
`

// The counters and the pools are looked at side by side: it takes one interval,
// and none where there is nothing to look at.
func TestLook(t *testing.T) {
	// A report of the time since the import says nothing of how long that was.
	seconds := func(s Seen) float64 {
		if s.ZFSOver == 0 {
			return Assumed.Seconds()
		}
		return s.ZFSOver.Seconds()
	}
	for _, c := range []struct {
		name, text string
		interval   time.Duration
		takes      time.Duration
		groups     string
	}{
		{"arrays and pools", pair + zfs, 10 * time.Second, 10 * time.Second, "md0 tank"},
		{"arrays alone", pair, 10 * time.Second, 10 * time.Second, "md0"},
		{"pools alone, a fraction", "-- root/sys/block/sdc/queue/rotational --\n0\n" + zfs, 2500 * time.Millisecond, 2 * time.Second, "tank"},
		{"an hour of pools", "-- root/sys/block/sdc/queue/rotational --\n0\n" + zfs, time.Hour, time.Minute, "tank"},
		{"nothing", "-- root/sys/block/sda/queue/rotational --\n0\n", 10 * time.Second, 0, ""},
		{"since the start", pair + zfs, 0, 0, "md0 tank"},
	} {
		synctest.Test(t, func(t *testing.T) {
			src, _, err := hosttest.Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			seen, err := Look(t.Context(), host.New(&live{Source: src}), c.interval)
			if err != nil || seen.ZFS != nil {
				t.Fatalf("%s: %v, %v", c.name, err, seen.ZFS)
			}
			if took := time.Since(start); took != c.takes {
				t.Errorf("%s: took %s, want %s", c.name, took, c.takes)
			}
			if c.interval == 0 && seen.Groups[0].Members[0].Reads != 1 {
				t.Errorf("%s: %+v", c.name, seen.Groups[0].Members)
			}
			var groups []string
			for _, g := range seen.Groups {
				groups = append(groups, g.Name)
			}
			if got := strings.Join(groups, " "); got != c.groups {
				t.Errorf("%s: groups %q, want %q", c.name, got, c.groups)
			}
			if len(seen.Pools) > 0 &&
				(seen.Rule.Policy != Evenly || seen.Pools[0].Children[0].Load.WriteBytes != 2e6*seconds(seen)) {
				t.Errorf("%s: %+v by %s", c.name, seen.Pools[0].Children[0].Load, seen.Rule)
			}
		})
	}
}

// A capture is not waited for.
func TestLookAtCapture(t *testing.T) {
	start := time.Now()
	seen, err := Look(t.Context(), hosttest.New(t, pair+zfs), time.Hour)
	if err != nil || seen.Over != 0 || len(seen.Groups) != 2 || time.Since(start) > time.Minute {
		t.Errorf("%+v, %v", seen, err)
	}
}
