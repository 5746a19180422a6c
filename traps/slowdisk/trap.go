// Package slowdisk finds the disk that slows its siblings in an array down.
package slowdisk

import (
	"context"
	_ "embed"
	"fmt"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/tools/measure/disks"
)

//go:embed lore.md
var lore string

// Trap is slow-disk.
var Trap = trap.Trap{Lore: trap.Lore(lore), Cost: trap.Sampled, Check: check, Plan: plan}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.Of(ctx, h) != "" { // which sees its host's /sys/block
		r.NotApplicable("", "the disks belong to the host of this container")
		return nil
	}
	seen, err := disks.Look(ctx, h, trap.Interval(ctx))
	if err != nil {
		return err
	}
	if seen.ZFS != nil {
		r.Unknown("zfs", seen.ZFS)
	}
	if len(seen.Groups) == 0 && len(seen.Pools) == 0 && seen.ZFS == nil {
		r.NotApplicable("", "no array, volume or file system here spreads over several disks")
	}
	over := "since the host started"
	if seen.Over > 0 {
		over = "over " + seen.Over.String()
	}
	for _, g := range seen.Groups {
		judge(r, g, over)
	}
	for _, p := range seen.Pools {
		if len(p.Groups()) == 0 {
			r.NotApplicable(p.Name, "this ZFS pool has one disk, which has no siblings")
		}
	}
	return nil
}

// judge reports on one group: a finding for each slow member, or clear.
func judge(r *trap.Report, g disks.Group, over string) {
	if g.Unsure != nil {
		r.Unknown(g.Name, g.Unsure)
		return
	}
	v := g.Judge()
	if !v.Compared {
		r.NotApplicable(g.Name, "its members did too little to be compared, "+over)
		return
	}
	if len(v.Slow) == 0 {
		r.Clear(g.Name, "its members take about equally long", evidence(g)...)
		return
	}
	for _, s := range v.Slow {
		f := trap.Finding{
			Subject: g.Name + "/" + s.Member, Severity: trap.Warning,
			Summary: fmt.Sprintf(
				"takes several times as long for a %s as its siblings in %s (%s), which wait for it",
				s.Direction,
				g.Name,
				g.Kind,
			),
			Detail: trap.Lines(
				fmt.Sprintf(
					"%s a %s, and %s with its siblings (median): %.1f times, %s.",
					disks.Wait(s.Wait),
					s.Direction,
					disks.Wait(s.Others),
					s.Ratio,
					over,
				),
			),
			Evidence: evidence(g),
			Facts:    trap.FactsOf(facts{Group: g.Name, Member: s.Member, Kind: g.Kind}),
		}
		if s.Gain > 0 {
			f.Detail = f.Detail.Also(
				fmt.Sprintf("If it were like the slowest of them, I/O that waits for all members would be %.1f times as fast.", s.Gain),
			)
		}
		r.Found(f)
	}
}

func evidence(g disks.Group) []trap.Evidence {
	var out []trap.Evidence
	for _, m := range g.Members {
		busy := ""
		if m.Busy >= 0 && m.Time > 0 {
			busy = fmt.Sprintf(", busy %.0f %%", 100*m.Busy)
		}
		per, reads, writes := "", m.Reads, m.Writes
		if m.Assumed { // zpool iostat printed rates, of a time that nobody knows
			per, reads, writes = " per second", reads/m.Time.Seconds(), writes/m.Time.Seconds()
		}
		out = append(
			out,
			trap.Ev(m.Name, "%.0f reads%s of %s, %.0f writes%s of %s%s",
				reads, per, disks.Wait(m.ReadWait), writes, per, disks.Wait(m.WriteWait), busy),
		)
	}
	return out
}
