package dmcachesmq

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
)

//go:embed lore.md
var lore string

// Trap is dm-cache-smq.
var Trap = trap.Trap{Lore: trap.Lore(lore), Cost: trap.Instant, Samples: true, Check: check}

const (
	// warmed is how many times its blocks a cache must have been asked for
	// before its hit ratio says something.
	warmed = 20
	// poor is a hit ratio at which a cache is of little use.
	poor = 0.30
	// churning is how many times its blocks a cache has thrown out.
	churning = 5
	// often is how many times its blocks a cache must have been asked for before
	// few hits alone tell that it is of little use: much more than one pass of
	// small requests over all that there is.
	often = 1000
	// busy is how many requests between two looks say something, and
	// exchanged the time in which a cache that churns throws out all it has.
	busy      = 1000
	exchanged = time.Hour
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	// Without device-mapper there is no need to ask.
	switch some, err := h.Glob(ctx, "/sys/block", "dm-*"); {
	case errors.Is(err, host.ErrNotCollected): // as in sosreports
	case err != nil:
		return err
	case len(some) == 0:
		r.NotApplicable("", "there is no device-mapper device here")
		return nil
	}
	caches, err := look(ctx, h)
	if nowhere(err) && unloaded(ctx, h) {
		r.NotApplicable("", "there is no dm-cache here: its module is not loaded")
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range caches {
		judge(r, c, kernel(ctx, h, c))
	}
	if len(caches) == 0 {
		r.NotApplicable("", "there is no dm-cache here")
	}
	return nil
}

// look finds the caches: by dmsetup, over the sampling interval of a live
// host; where there is no dmsetup, by lvs.
func look(ctx context.Context, h *host.Host) ([]*status, error) {
	caches, err := viaDmsetup(ctx, h)
	if nowhere(err) {
		byLVM, lerr := viaLVS(ctx, h)
		switch {
		case nowhere(lerr):
			return nil, err // what was asked first
		case lerr != nil:
			return nil, lerr
		}
		if len(byLVM) == 0 {
			return nil, fmt.Errorf("lvs shows no cache; only dmsetup shows caches that are not LVM's: %w", err)
		}
		return byLVM, nil
	}
	if iv := trap.Interval(ctx); err == nil && len(caches) > 0 && iv > 0 && h.Kind() == host.KindLive {
		return sample(ctx, h.Source(), iv)
	}
	return caches, err
}

// nowhere tells that a command's output is not available.
func nowhere(err error) bool {
	return errors.Is(err, host.ErrNoCommand) || errors.Is(err, host.ErrNotCollected)
}

// unloaded tells whether the kernel's list of modules is known and dm_cache, which no
// distribution builds in, is not in it.
func unloaded(ctx context.Context, h *host.Host) bool {
	b, err := h.ReadFile(ctx, "/proc/modules")
	return err == nil && len(b) > 0 && !strings.Contains("\n"+string(b), "\ndm_cache ")
}

func viaDmsetup(ctx context.Context, h *host.Host) ([]*status, error) {
	out, err := h.Run(ctx, "dmsetup", "status")
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, failed("dmsetup status", out)
	}
	return parseStatus(out.Stdout)
}

func failed(command string, out host.Output) error {
	why, _, _ := strings.Cut(strings.TrimSpace(string(out.Stderr)), "\n")
	return fmt.Errorf("%s: exit status %d: %s", command, out.Exit, why)
}

// verdict is what is known of the kernel's smq.
type verdict struct {
	release, target string
	mend
	why string
}

// kernel judges the kernel for one cache. dm-cache's own version is asked for
// only where uname -r leaves it open.
func kernel(ctx context.Context, h *host.Host, c *status) verdict {
	v := verdict{release: h.Identity().Release}
	v.mend, v.why = kernelOf(v.release, c.policy, "")
	if v.mend != mended {
		switch out, err := h.Run(ctx, "dmsetup", "targets"); {
		case nowhere(err): // sos does not ask: uname -r has to do
		case err != nil:
			v.mend, v.why = unsure, "what this kernel has of the fix is not known: "+host.Reason(err)
		case out.Exit == 0:
			v.target = cacheTarget(out.Stdout)
			v.mend, v.why = kernelOf(v.release, c.policy, v.target)
		}
	}
	return v
}

func (v verdict) evidence() []trap.Evidence {
	ev := []trap.Evidence{trap.Ev("uname -r", "%s", v.release)}
	if v.target != "" {
		ev = append(ev, trap.Ev("dmsetup targets", "cache v%s", v.target))
	}
	return ev
}
