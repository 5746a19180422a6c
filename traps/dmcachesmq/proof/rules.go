package proof

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fettle/lab"
)

// oldRules are the switches of lab/kernels/smq-old/smq-old.patch.
var oldRules = []string{"hotspot", "threshold", "write_level", "enter", "evict", "sentinels", "redistribute", "writeback", "period"}

const (
	rulesFill  = 60 * time.Second
	rulesOther = 120 * time.Second
	rulesLast  = 40 * time.Second // of the other data's time, which counts
)

// whichRule fixes some of the old rules at a time, and looks at what becomes of
// other data then.
func whichRule(b *lab.Bench) error {
	b.Columns("Fixed", "Hits %", "IOPS", "Promoted", "Demoted")
	l := &modelBench{Bench: b}
	below, err := l.loop("origin", runsOrigin)
	if err != nil {
		return err
	}
	if l.origin, err = l.dm("origin", delay(runsOrigin, below)); err != nil {
		return err
	}
	for _, mended := range [][]string{nil, {"hotspot"}, {"enter"}, {"evict"}, {"threshold"}, oldRules} {
		for _, r := range oldRules {
			value := "Y"
			if slices.Contains(mended, r) {
				value = "N"
			}
			if err := os.WriteFile("/sys/module/dm_cache_smq/parameters/old_"+r, []byte(value), 0); err != nil {
				return fmt.Errorf("switching a rule of smq: %w", err)
			}
		}
		name := strings.Join(mended, ", ")
		switch len(mended) {
		case 0:
			name = "none"
		case len(oldRules):
			name = "all"
		}
		n, err := l.otherData()
		if err != nil {
			return fmt.Errorf("mended %s: %w", name, err)
		}
		b.Row(
			name,
			percent(n.ratio()),
			fmt.Sprintf("%.0f", float64(n.requests)/rulesLast.Seconds()),
			fmt.Sprint(n.promotions),
			fmt.Sprint(n.demotions),
		)
	}
	b.Note(
		"A new cache, %s of the load, then %s on other data; the last %s of these count. %d MiB of cache for %d MiB of data, disk of %s ms.",
		rulesFill,
		rulesOther,
		rulesLast,
		runsCache>>20,
		runsData>>20,
		modelDelay,
	)
	return nil
}

// otherData fills a new cache, reads other data, and returns what was counted
// at the end of that.
func (l *modelBench) otherData() (n counted, err error) {
	ssd, err := l.loop("cache", runsCache)
	if err != nil {
		return n, err
	}
	defer l.Run("losetup", "-d", ssd)
	meta, err := l.loop("meta", 4<<20)
	if err != nil {
		return n, err
	}
	defer l.Run("losetup", "-d", meta)
	if _, err := l.cached(runsOrigin, meta, ssd); err != nil {
		return n, err
	}
	defer l.Run("dmsetup", "remove", "--noudevsync", "cached")
	if err := l.load(0, rulesFill); err != nil {
		return n, err
	}
	ended := make(chan error, 1)
	go func() { ended <- l.load(runsData, rulesOther) }()
	time.Sleep(rulesOther - rulesLast)
	before, err := l.count()
	if err == nil {
		err = <-ended
	}
	if err != nil {
		return n, err
	}
	after, err := l.count()
	return after.since(before), err
}

// load is runsJob from an offset on.
func (l *modelBench) load(offset int64, d time.Duration) error {
	job := runsJob + fmt.Sprintf(
		"filename=/dev/mapper/cached\noffset=%d\noffset_increment=16m\ntime_based=1\nruntime=%d\n",
		offset,
		int(d.Seconds()),
	)
	if err := os.WriteFile("/run/rules.fio", []byte(job), 0o644); err != nil {
		return err
	}
	_, err := l.Run("fio", "/run/rules.fio")
	return err
}
