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
	ps, err := pools(out.Stdout)
	for _, p := range ps {
		p.last(max(1, interval/time.Second))
	}
	return ps, err
}

// last makes rates of a second into what was done in n of them.
func (v *Vdev) last(n time.Duration) {
	l := &v.Load
	l.Time = n * time.Second
	for _, f := range []*float64{&l.Reads, &l.Writes, &l.ReadBytes, &l.WriteBytes} {
		*f *= float64(n)
	}
	for _, c := range v.Children {
		c.last(n)
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
	return pools(out.Stdout)
}

func pools(out []byte) ([]*Vdev, error) {
	if bytes.Contains(out, []byte("no pools available")) || len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return ParseZpool("zpool", bytes.NewReader(out))
}
