// Package slowdisk finds the disk that holds its siblings in an array back.
package slowdisk

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"fettle/host"
	"fettle/measure/disks"
	"fettle/trap"
)

//go:embed lore.md
var lore string

// Trap is slow-disk.
var Trap = trap.Trap{Lore: trap.Lore(lore), Cost: trap.Sampled, Check: check, Experiments: experiments}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	groups, err := disks.Layout(ctx, h)
	if err != nil {
		return err
	}
	pools, err := disks.Pools(ctx, h, 0)
	if err != nil {
		r.Unknown("zfs", err)
	}
	if len(groups) == 0 && len(pools) == 0 {
		if err == nil {
			r.NotApplicable("", "no array, volume or file system here spreads over several disks")
		}
		return nil
	}
	loads, over, err := look(ctx, h)
	if err != nil {
		return err
	}
	if iv := trap.Interval(ctx); len(pools) > 0 && h.Kind() == host.KindLive && iv > 0 {
		if pools, err = disks.Pools(ctx, h, iv); err != nil {
			r.Unknown("zfs", err)
		}
	}
	for _, s := range groups {
		judge(r, s.Group(loads), over)
	}
	for _, p := range pools {
		for _, g := range p.Groups() {
			judge(r, g, over)
		}
	}
	return nil
}

// look reads the disks' load: over the sampling interval on a live host, since
// the start elsewhere.
func look(ctx context.Context, h *host.Host) (loads map[string]disks.Load, over string, err error) {
	if iv := trap.Interval(ctx); h.Kind() == host.KindLive && iv > 0 {
		loads, err = disks.Over(ctx, h.Source(), iv)
		return loads, "over " + iv.String(), err
	}
	all, err := disks.Read(ctx, h)
	loads = map[string]disks.Load{}
	for n, c := range all {
		loads[n] = disks.SinceBoot(c)
	}
	return loads, "since the host started", err
}

// judge reports on one group: a finding for each slow member, or clear.
func judge(r *trap.Report, g disks.Group, over string) {
	v := g.Judge()
	if !v.Compared {
		r.NotApplicable(g.Name, "its members did too little to be compared, "+over)
		return
	}
	if len(v.Slow) == 0 {
		r.Clear(g.Name, "its members take about as long as each other", evidence(g)...)
		return
	}
	for _, s := range v.Slow {
		r.Found(trap.Finding{
			Subject: g.Name + "/" + s.Member, Severity: trap.Warning,
			Summary: fmt.Sprintf("takes several times as long for a %s as its siblings in %s (%s), which wait for it", s.Direction, g.Name, g.Kind),
			Detail: fmt.Sprintf("%s a %s, and %s with its siblings (median): %.1f times, %s. Were it like the slowest of them, what waits for all members would go %.1f times as fast.",
				wait(s.Wait), s.Direction, wait(s.Others), s.Ratio, over, s.Gain),
			Evidence: evidence(g),
		})
	}
}

func evidence(g disks.Group) []trap.Evidence {
	var out []trap.Evidence
	for _, m := range g.Members {
		busy := ""
		if m.Busy >= 0 && m.Time > 0 {
			busy = fmt.Sprintf(", busy %.0f %%", 100*m.Busy)
		}
		out = append(out, trap.Ev(m.Name, "%.0f reads of %s, %.0f writes of %s%s", m.Reads, wait(m.ReadWait), m.Writes, wait(m.WriteWait), busy))
	}
	return out
}

// wait writes a time for people.
func wait(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
