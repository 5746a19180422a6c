// Package zfswritedistribution finds ZFS pools whose vdevs take so unlike a
// part of the writes, or are so unlike in speed, that one of them sets the pace.
package zfswritedistribution

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/fstab"
	"fettle/tools/measure/disks"
)

//go:embed lore.md
var lore string

// Trap is zfs-write-distribution.
var Trap = trap.Trap{Lore: trap.Lore(lore), Cost: trap.Instant, Samples: true, Check: check}

// uneven is how many times its fair part of the writes one vdev may get: at one
// and a half, vdevs of one speed write at two thirds of the pace they could.
const uneven = 1.5

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	// Where there is an interval, what was written in it is compared too.
	over := trap.Interval(ctx).Truncate(time.Second)
	if h.Kind() != host.KindLive {
		over = 0
	}
	var pools []*disks.Vdev
	var err error
	if over > 0 {
		pools, err = disks.Pools(ctx, h, over)
	} else {
		pools, err = disks.Vdevs(ctx, h)
	}
	if err != nil {
		return err
	}
	if len(pools) == 0 {
		r.NotApplicable("", "no ZFS pool is imported here")
		return nil
	}
	rule, err := disks.RuleOf(ctx, h)
	if err != nil {
		return err
	}
	for _, p := range pools {
		look{rule: rule, over: over}.pool(ctx, h, r, p)
	}
	return nil
}

type look struct {
	rule disks.Rule
	over time.Duration // how long writes were watched; 0: they were not
}

func (l look) pool(ctx context.Context, h *host.Host, r *trap.Report, p *disks.Vdev) {
	data := p.Data()
	if len(data) < 2 {
		r.NotApplicable(p.Name, "has one vdev for data, which takes all writes")
		return
	}
	shares := l.rule.Shares(data)
	compared := disks.Compare(shares)
	watched := l.over > 0 && compared.Enough
	lines, most := l.lines(shares, watched)
	if l.over > 0 && !watched {
		lines = append(lines, fmt.Sprintf("too little was written in %s to compare", l.over))
	}
	ev := l.evidence(p.Name, lines)
	kinds, err := kindsOf(ctx, h, data)
	if err != nil {
		r.Unknown(p.Name, err, ev...)
		return
	}
	f := trap.Finding{Subject: p.Name, Severity: trap.Warning, Evidence: ev,
		Detail: trap.Lines("Writes are spread " + l.rule.String() + ". " + strings.Join(lines, "; ") + ".")}
	var slow []disks.Slow
	if l.over > 0 {
		for _, s := range p.Tops().Judge().Slow {
			if s.Direction == disks.Writing {
				slow = append(slow, s)
			}
		}
	}
	switch {
	case len(slow) > 0:
		s := slow[0]
		f.Summary = fmt.Sprintf("%s takes several times as long for a write as the other vdevs, and slows the pool down", s.Member)
		f.Detail = trap.Lines(
			fmt.Sprintf(
				"%s a write, where the others take %s (median): %.1f times, over %s. %s",
				disks.Wait(s.Wait),
				disks.Wait(s.Others),
				s.Ratio,
				l.over,
				f.Detail,
			),
		)
	case len(kinds) > 1:
		f.Summary = "the pool mixes solid state and spinning vdevs, so writes run at the speed of the spinning ones"
	case most.Predicted*float64(len(shares)) > uneven:
		f.Severity = trap.Notice
		f.Summary = fmt.Sprintf("most writes go to %s, so the pool is little faster than that vdev alone", most.Vdev)
	case watched && compared.Lags != nil:
		f.Severity = trap.Notice
		f.Summary = fmt.Sprintf("%s takes less than its share of the writes: it does not keep up with the other vdevs", compared.Lags.Vdev)
	default:
		r.Clear(p.Name, "its vdevs each take about their share of the writes", ev...)
		return
	}
	r.Found(f)
}

// lines puts shares into words, and finds the largest that is predicted.
func (l look) lines(shares []disks.Share, watched bool) (lines []string, most disks.Share) {
	for _, s := range shares {
		line := fmt.Sprintf("%s gets %.0f %% of the next writes", s.Vdev, 100*s.Predicted)
		if s.High-s.Low >= 0.02 {
			line += fmt.Sprintf(
				" (%.0f to %.0f %%, by the size of records%s)",
				100*s.Low,
				100*s.High,
				map[bool]string{true: " and by speed"}[l.rule.Slow == disks.Outrun],
			)
		}
		if s.Held >= 0 {
			line += fmt.Sprintf(", holds %.0f %% of the data", 100*s.Held)
		}
		if watched {
			line += fmt.Sprintf(", took %.0f %% in %s", 100*s.Written, l.over)
		}
		lines = append(lines, line)
		if s.Predicted > most.Predicted {
			most = s
		}
	}
	return lines, most
}

func (l look) evidence(pool string, lines []string) []trap.Evidence {
	var ev []trap.Evidence
	for _, p := range l.rule.Read {
		ev = append(ev, trap.Ev(disks.Parameters+p.Name, "%s", p.Value))
	}
	from := "zpool list -v "
	if l.over > 0 {
		from = "zpool iostat -v "
	}
	return append(ev, trap.Ev(from+pool, "%s", strings.Join(lines, "; ")))
}

// kindsOf tells which kinds of disks the vdevs stand on: "rotational" of
// /sys/block, 0 and 1. Files, and disks that sysfs does not know, are left out.
func kindsOf(ctx context.Context, h *host.Host, vdevs []*disks.Vdev) (map[string]bool, error) {
	kinds := map[string]bool{}
	blocks, err := h.ReadDir(ctx, "/sys/block")
	if err != nil {
		return nil, err
	}
	for _, v := range vdevs {
		for _, leaf := range leaves(v) {
			name, err := deviceName(ctx, h, leaf.Name)
			if err != nil {
				return nil, err
			}
			for _, b := range blocks {
				if name != b.Name && !partitionOf(name, b.Name) {
					continue
				}
				rot, err := h.ReadString(ctx, "/sys/block/"+b.Name+"/queue/rotational")
				if err != nil {
					return nil, err
				}
				kinds[rot] = true
			}
		}
	}
	return kinds, nil
}

func leaves(v *disks.Vdev) []*disks.Vdev {
	if len(v.Children) == 0 {
		return []*disks.Vdev{v}
	}
	var out []*disks.Vdev
	for _, c := range v.Children {
		out = append(out, leaves(c)...)
	}
	return out
}

// deviceName is what sysfs calls a disk that zpool names by any of its links.
func deviceName(ctx context.Context, h *host.Host, name string) (string, error) {
	dev, err := fstab.Linked(ctx, h, name)
	if err != nil && !host.IsAbsent(err) {
		return "", err
	}
	return dev[strings.LastIndex(dev, "/")+1:], nil
}

// partitionOf tells whether name is a partition of disk: sda1, nvme0n1p1.
func partitionOf(name, disk string) bool {
	rest, ok := strings.CutPrefix(name, disk)
	if !ok || rest == "" {
		return false
	}
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		if rest, ok = strings.CutPrefix(rest, "p"); !ok {
			return false
		}
	}
	return rest != "" && strings.Trim(rest, "0123456789") == ""
}
