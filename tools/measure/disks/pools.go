package disks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/host"
)

// Pools asks zpool for the pools of a host and what their disks did: over an
// interval in whole seconds, or, when that is 0, since they were imported. No
// ZFS: none, and no error.
func Pools(ctx context.Context, h *host.Host, interval time.Duration) ([]*Vdev, error) {
	if ok, err := loaded(ctx, h); err != nil || !ok {
		return nil, err
	}
	args := []string{"iostat", "-v", "-l", "-p", "-P"}
	if s := int(interval / time.Second); s > 0 {
		args = append(args, "-y", strconv.Itoa(s), "1")
	}
	out, err := h.Run(ctx, "zpool", args...)
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, fmt.Errorf("zpool %s: exit status %d: %s", strings.Join(args, " "), out.Exit, strings.TrimSpace(string(out.Stderr)))
	}
	ps, err := pools(out.Stdout, interval.Truncate(time.Second))
	if interval < time.Second {
		for _, p := range ps {
			if d := sinceImport(ctx, h, p.Name); d > 0 {
				p.lasted(d)
			}
		}
	}
	return ps, err
}

// sinceImport is for how long a pool has been imported; 0: not known. The heads of
// its kstats tell when they were made, which is at the import, and when they were
// read, in nanoseconds (module/os/linux/spl/spl-kstat.c, kstat_seq_show_headers).
func sinceImport(ctx context.Context, h *host.Host, pool string) time.Duration {
	text, err := h.ReadString(ctx, "/proc/spl/kstat/zfs/"+pool+"/txgs")
	if err != nil {
		return 0
	}
	head, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(head)
	if len(f) != 7 {
		return 0
	}
	made, err1 := strconv.ParseInt(f[5], 10, 64)
	read, err2 := strconv.ParseInt(f[6], 10, 64)
	if err1 != nil || err2 != nil || made < 0 || read <= made {
		return 0
	}
	return time.Duration(read - made)
}

// lasted makes what was counted over an assumed time into that of the real one.
func (v *Vdev) lasted(d time.Duration) {
	l, times := &v.Load, float64(d)/float64(v.Load.Time)
	l.Time, l.Assumed = d, false
	for _, f := range []*float64{&l.Reads, &l.Writes, &l.ReadBytes, &l.WriteBytes} {
		*f *= times
	}
	for _, c := range v.Children {
		c.lasted(d)
	}
}

// loaded tells whether ZFS runs here. Where a container does not see its host's
// modules, pools are the host's concern.
func loaded(ctx context.Context, h *host.Host) (bool, error) {
	ok, err := h.Exists(ctx, "/sys/module/zfs")
	if errors.Is(err, host.ErrHidden) {
		return false, nil
	}
	return ok, err
}

// Vdevs asks zpool for the pools of a host with what each vdev holds. No ZFS:
// none, and no error.
func Vdevs(ctx context.Context, h *host.Host) ([]*Vdev, error) {
	if ok, err := loaded(ctx, h); err != nil || !ok {
		return nil, err
	}
	out, err := h.Run(ctx, "zpool", "list", "-v", "-p", "-P")
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, fmt.Errorf("zpool list: exit status %d: %s", out.Exit, strings.TrimSpace(string(out.Stderr)))
	}
	return pools(out.Stdout, 0)
}

func pools(out []byte, interval time.Duration) ([]*Vdev, error) {
	if bytes.Contains(out, []byte("no pools available")) || len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return ParseZpool("zpool", bytes.NewReader(out), interval)
}
