package dmcachesmq

import (
	"fmt"
	"time"

	"fettle/engine/trap"
)

// judge reports on one cache: what is wrong with it, each fault by itself.
func judge(r *trap.Report, c *status, k verdict) {
	ev := append(k.evidence(), c.evidence()...)
	some := false
	found := func(sev trap.Severity, summary, detail string) {
		some = true
		r.Found(trap.Finding{Subject: c.name, Severity: sev, Summary: summary, Detail: trap.Lines(detail), Evidence: ev})
	}
	switch {
	case c.failed:
		found(
			trap.Critical,
			"the cache failed: every request to it ends in an error",
			"Look in the kernel's log for the first error; cache_check and cache_repair fix its metadata.",
		)
		return
	case c.check:
		found(trap.Critical, "the cache's metadata needs a check", "Take it offline and run cache_check, or lvconvert --repair.")
	case c.readOnly:
		found(trap.Critical, "the cache's metadata is read-only: nothing more is promoted", "Look in the kernel's log for why.")
	}
	switch {
	case c.policy == "cleaner":
		found(
			trap.Notice,
			"the policy is cleaner: the cache is being emptied and promotes nothing",
			"lvchange --cachepolicy smq makes it a cache again.",
		)
	case c.policy != "smq" && c.policy != "mq" && c.policy != "":
		found(trap.Notice, "the policy is not smq", "It is "+c.policy+"; smq is what the kernel's documentation advises.")
	}
	if c.mode == "passthrough" {
		found(
			trap.Notice,
			"the cache is in passthrough mode: all reads go to the slow device",
			"lvchange --cachemode writethrough makes it a cache again.",
		)
	}
	if c.mode == "writeback" && c.threshold > 0 && c.threshold < c.blockSectors {
		found(
			trap.Notice,
			"migration_threshold is less than one block: dirty blocks are not written back while the disk is idle",
			fmt.Sprintf(
				"It is %d sectors, a block %d: the kernel considers itself busy all the time (drivers/md/dm-cache-target.c, "+
					"spare_migration_bandwidth). %d blocks are dirty. "+
					"LVM requires at least 8 blocks: lvchange --cachesettings migration_threshold=%d.",
				c.threshold,
				c.blockSectors,
				c.dirty,
				8*c.blockSectors,
			),
		)
	}
	asked := c.policy == "" || smqPolicy(c.policy, k.release)
	if asked && k.mend == before {
		found(trap.Warning, "this kernel's smq hardly promotes anything once the cache is full", c.oldDetail(k))
		return // of a cache that is too small it would show the same
	}
	if why := c.tooSmall(); why != "" {
		found(trap.Notice, "the cache is too small for the working set: blocks are promoted and demoted in turn",
			why+" fettle measure cachesim shows how large it would have to be.")
	}
	spread := c.counts && c.full() && c.accesses() > often*c.total && c.hitRatio() < poor
	if spread && c.tooSmall() == "" {
		found(trap.Notice, "few requests hit the full cache: the working set is larger than the cache", c.spreadDetail())
	}
	switch {
	case asked && k.mend == unsure:
		r.Unknown(c.name, fmt.Errorf("%s", k.why), ev...)
	case some:
	case !c.counts:
		r.Unknown(c.name, fmt.Errorf("this lvs output shows neither the policy nor the requests; dmsetup status does"), ev...)
	case !c.moves && c.full() && c.accesses() > warmed*c.total && c.hitRatio() < poor:
		r.Unknown(
			c.name,
			fmt.Errorf(
				"few requests hit this full cache, and lvs does not show whether blocks are promoted and demoted in turn; dmsetup status does",
			),
			ev...)
	default:
		r.Clear(c.name, "the cache works as it should", ev...)
	}
}

// oldDetail is what a kernel of before the fixing does to this cache.
func (c *status) oldDetail(k verdict) string {
	s := ""
	switch {
	case c.over != nil && c.over.accesses() >= busy:
		s = fmt.Sprintf("Over %v: %s. ", c.over.took.Round(time.Second), c.over)
	case c.full() && c.counts:
		s = fmt.Sprintf("The cache is full, and its hit ratio is %.0f %%. ", 100*c.hitRatio())
	case !c.full():
		s = "There is still room. "
	}
	s += capital(k.why) + "."
	if k.target == "" {
		s += " The distribution may have backported the fix; the version of dm-cache, which would show it, could not be read (dmsetup targets)."
	}
	return s + " Linux 4.12 and newer have the fix."
}

// tooSmall tells why the cache is too small; "" where nothing says so.
func (c *status) tooSmall() string {
	if !c.full() || !c.moves {
		return ""
	}
	why := ""
	if c.accesses() > warmed*c.total && c.hitRatio() < poor && c.demotions > churning*c.total {
		why = fmt.Sprintf(
			"%.0f %% hits; %d blocks promoted and %d demoted, of a cache of %d.",
			100*c.hitRatio(),
			c.promotions,
			c.demotions,
			c.total,
		)
	}
	if o := c.over; o != nil && o.accesses() >= busy {
		all := o.exchange(c.total)
		switch {
		case o.hitRatio() < poor && o.demotions >= 10 && all < exchanged:
			why += fmt.Sprintf(
				" Over %v: %s: at this rate, its whole content is replaced every %v.",
				o.took.Round(time.Second),
				o,
				all.Round(time.Second),
			)
		case why != "":
			why += fmt.Sprintf(" That is since it was activated; over %v: %s.", o.took.Round(time.Second), o)
		}
	}
	return why
}

func (c *status) spreadDetail() string {
	s := fmt.Sprintf("%.0f %% hits of %d requests.", 100*c.hitRatio(), c.accesses())
	if c.over != nil && c.over.accesses() >= busy {
		s += fmt.Sprintf(" Over %v: %s.", c.over.took.Round(time.Second), c.over)
	}
	return s + " Did a backup read everything, or is it like this every day? fettle measure cachesim shows how large a cache would have to be."
}

func (c *status) evidence() []trap.Evidence {
	var ev []trap.Evidence
	switch {
	case c.failed:
		ev = append(ev, trap.Ev(c.from+" "+c.name, "Fail"))
	case !c.counts:
		ev = append(ev, trap.Ev(c.from+" "+c.name, "%.2f %% used", c.fill))
	default:
		moves := ""
		if c.moves {
			moves = fmt.Sprintf(", promotions %d, demotions %d", c.promotions, c.demotions)
		}
		ev = append(
			ev,
			trap.Ev(c.from+" "+c.name, "%s, %s, %d of %d blocks used, read hits %d, misses %d, write hits %d, misses %d%s, dirty %d",
				c.policy, c.mode, c.used, c.total, c.readHits, c.readMisses, c.writeHits, c.writeMisses, moves, c.dirty),
		)
	}
	if c.over != nil {
		ev = append(ev, trap.Ev(c.from+" "+c.name+" over "+c.over.took.Round(time.Second).String(), "%s", c.over))
	}
	return ev
}

func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
