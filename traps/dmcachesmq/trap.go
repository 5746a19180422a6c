package dmcachesmq

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/lab"
	"fettle/trap"
)

//go:embed lore.md
var lore string

// Trap is dm-cache-smq.
var Trap = trap.Trap{Lore: trap.Lore(lore), Cost: trap.Instant, Check: check, Experiments: []lab.Experiment{ModelExperiment, RunsExperiment}}

const (
	// warmed is how many times its blocks a cache must have been asked for
	// before its hit ratio says something.
	warmed = 20
	// poor is a hit ratio at which a cache is of little use.
	poor = 0.30
	// churning is how many times its blocks a cache has thrown out.
	churning = 5
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	// Without device-mapper there is no need to ask.
	if some, err := h.Glob(ctx, "/sys/block", "dm-*"); err != nil {
		return err
	} else if len(some) == 0 {
		r.NotApplicable("", "no device-mapper device is here")
		return nil
	}
	out, err := h.Run(ctx, "dmsetup", "status")
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("dmsetup status: exit status %d: %s", out.Exit, strings.TrimSpace(string(out.Stderr)))
	}
	caches, err := parseStatus(out.Stdout)
	if err != nil {
		return err
	}
	if len(caches) == 0 {
		r.NotApplicable("", "no dm-cache is here")
		return nil
	}
	for _, c := range caches {
		judge(r, c, h.Identity().Release)
	}
	return nil
}

func judge(r *trap.Report, c *status, release string) {
	found := func(sev trap.Severity, summary, detail string) {
		r.Found(trap.Finding{Subject: c.name, Severity: sev, Summary: summary, Detail: detail, Evidence: evidence(c, release)})
	}
	some := false
	switch {
	case c.failed:
		found(trap.Critical, "the cache failed: every request to it ends in an error", "Look in the kernel's log for the first error; cache_check and cache_repair mend its metadata.")
		return
	case c.check:
		found(trap.Critical, "the cache's metadata needs a check", "Take it offline and run cache_check, or lvconvert --repair.")
		some = true
	case c.readOnly:
		found(trap.Critical, "the cache's metadata is read-only: nothing is promoted any more", "Look in the kernel's log for why.")
		some = true
	}
	switch {
	case c.policy == "cleaner":
		found(trap.Notice, "the policy is cleaner: the cache is being emptied and promotes nothing", "lvchange --cachepolicy smq makes it a cache again.")
		some = true
	case c.policy != "smq" && c.policy != "mq":
		found(trap.Notice, "the policy is not smq", "It is "+c.policy+"; smq is what the kernel's documentation advises.")
		some = true
	}
	full := c.total > 0 && c.used*100 >= c.total*95
	if old, known := beforeMend(release); known && old && c.policy == "smq" {
		detail := "Linux 4.12 has it mended. A distribution may have taken that into an older version; then accept this finding."
		if full {
			detail = fmt.Sprintf("The cache is full, and its hit ratio is %.0f %%. ", 100*c.hitRatio()) + detail
		}
		found(trap.Warning, "this kernel's smq hardly promotes anything once the cache is full", detail)
		return
	}
	if full && c.accesses() > warmed*c.total && c.hitRatio() < poor && c.demotions > churning*c.total {
		found(trap.Notice, "the cache is too small for what is used again and again: blocks go in and out in turn",
			fmt.Sprintf("%.0f %% hits; %d blocks promoted and %d demoted, of a cache of %d. fettle measure cachesim tells how large it had to be.",
				100*c.hitRatio(), c.promotions, c.demotions, c.total))
		some = true
	}
	if !some {
		r.Clear(c.name, "the cache works as it should", evidence(c, release)...)
	}
}

func evidence(c *status, release string) []trap.Evidence {
	ev := []trap.Evidence{trap.Ev("uname -r", "%s", release)}
	if c.failed {
		return append(ev, trap.Ev("dmsetup status "+c.name, "Fail"))
	}
	return append(ev, trap.Ev("dmsetup status "+c.name, "%s, %d of %d blocks used, read hits %d, misses %d, write hits %d, misses %d, promotions %d, demotions %d, dirty %d",
		c.policy, c.used, c.total, c.readHits, c.readMisses, c.writeHits, c.writeMisses, c.promotions, c.demotions, c.dirty))
}

// beforeMend tells whether a kernel's upstream version is before 4.12, and
// whether its name tells that.
func beforeMend(release string) (old, known bool) {
	major, rest, _ := strings.Cut(release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if i := strings.IndexFunc(minor, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		minor = minor[:i]
	}
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err != nil || err2 != nil {
		return false, false
	}
	return a < 4 || a == 4 && b < 12, true
}
