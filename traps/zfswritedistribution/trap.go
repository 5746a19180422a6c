// Package zfswritedistribution finds ZFS pools whose vdevs take so unlike a
// part of the writes, or are so unlike in speed, that one of them sets the pace.
package zfswritedistribution

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"fettle/host"
	"fettle/measure/disks"
	"fettle/trap"
)

//go:embed lore.md
var lore string

// Trap is zfs-write-distribution.
var Trap = trap.Trap{Lore: trap.Lore(lore), Cost: trap.Instant, Check: check}

const parameters = "/sys/module/zfs/parameters/"

// uneven is how many times its fair part of the writes one vdev may get.
const uneven = 2.0

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	pools, err := disks.Vdevs(ctx, h)
	if err != nil {
		return err
	}
	if len(pools) == 0 {
		r.NotApplicable("", "no ZFS pool is imported here")
		return nil
	}
	policy, ev, err := policyOf(ctx, h)
	if err != nil {
		return err
	}
	for _, p := range pools {
		pool(ctx, h, r, p, policy, ev)
	}
	return nil
}

// policyOf reads which rule the loaded module follows: from its parameters,
// since versions of distributions do not tell.
func policyOf(ctx context.Context, h *host.Host) (disks.Policy, []trap.Evidence, error) {
	read := func(name string) (string, bool, error) {
		v, err := h.ReadString(ctx, parameters+name)
		if host.IsAbsent(err) {
			return "", false, nil
		}
		return v, true, err
	}
	perf, hasPerf, err := read("metaslab_perf_bias")
	bias, _, err2 := read("metaslab_bias_enabled")
	if err := errors.Join(err, err2); err != nil {
		return "", nil, err
	}
	ev := []trap.Evidence{trap.Ev(parameters+"metaslab_bias_enabled", "%s", bias)}
	if hasPerf {
		ev = append(ev, trap.Ev(parameters+"metaslab_perf_bias", "%s", perf))
	}
	switch {
	case hasPerf && perf != "0" && bias != "0":
		return disks.BySpeed, ev, nil
	case bias != "0":
		return disks.ByFree, ev, nil
	case hasPerf: // came with the change of what "off" means
		return disks.ByCapacity, ev, nil
	}
	return disks.Evenly, ev, nil
}

func pool(ctx context.Context, h *host.Host, r *trap.Report, p *disks.Vdev, policy disks.Policy, ev []trap.Evidence) {
	data := p.Data()
	if len(data) < 2 {
		r.NotApplicable(p.Name, "has one vdev for data, which takes all writes")
		return
	}
	shares := disks.Shares(data, policy)
	var lines []string
	var most disks.Share
	for _, s := range shares {
		held := ""
		if s.Held >= 0 {
			held = fmt.Sprintf(", holds %.0f %% of the data", 100*s.Held)
		}
		lines = append(lines, fmt.Sprintf("%s gets %.0f %% of the next writes%s", s.Vdev, 100*s.Predicted, held))
		if s.Predicted > most.Predicted {
			most = s
		}
	}
	ev = append(ev, trap.Ev("zpool list -v "+p.Name, "%s", strings.Join(lines, "; ")))
	kinds, err := kindsOf(ctx, h, data)
	if err != nil {
		r.Unknown(p.Name, err, ev...)
		return
	}
	detail := "Writes are spread " + string(policy) + ": " + strings.Join(lines, "; ") + "."
	switch {
	case len(kinds) > 1:
		r.Found(trap.Finding{Subject: p.Name, Severity: trap.Warning, Detail: detail, Evidence: ev,
			Summary: "solid state and spinning vdevs hold data side by side, so writes run at the pace of the spinning ones"})
	case policy != disks.BySpeed && most.Predicted*float64(len(shares)) > uneven:
		r.Found(trap.Finding{Subject: p.Name, Severity: trap.Notice, Detail: detail, Evidence: ev,
			Summary: fmt.Sprintf("most writes go to %s, so the pool is little faster than that vdev alone", most.Vdev)})
	default:
		r.Clear(p.Name, "its vdevs take about as much of the writes each", ev...)
	}
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
func deviceName(ctx context.Context, h *host.Host, path string) (string, error) {
	for range 8 {
		i, err := h.Lstat(ctx, path)
		if host.IsAbsent(err) || err == nil && i.Mode&fs.ModeSymlink == 0 {
			break
		}
		if err != nil {
			return "", err
		}
		to, err := h.Readlink(ctx, path)
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(to, "/") {
			to = path[:strings.LastIndex(path, "/")+1] + to
		}
		path = to
	}
	return path[strings.LastIndex(path, "/")+1:], nil
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
