// Package bootdevicegone finds file systems, swap and encrypted volumes that boot waits for, and
// whose device, key or source is not there.
package bootdevicegone

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/format/fstab"
)

//go:embed lore.md
var lore trap.Lore

// Trap is boot-device-gone.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if c := container.Of(ctx, h); c != "" {
		r.NotApplicable("", "the container engine mounts its file systems")
		return nil
	}
	if !h.Running() {
		return host.ErrNotRunning
	}
	entries, err := fstab.Read(ctx, h)
	if err != nil {
		return err
	}
	volumes, err := crypttab(ctx, h)
	if err != nil {
		return err
	}
	w := world{h: h, gone: map[string]string{}}
	for _, v := range volumes {
		w.volume(ctx, v, r)
	}
	for _, e := range entries {
		if !waits(e) {
			continue
		}
		w.entry(ctx, e, r)
	}
	r.Clear("", fmt.Sprintf("%s and %s were read", fstab.File, crypttabFile))
	return nil
}

// waits tells whether boot starts the entry at all, and reports its failure (systemd.mount(5), "fstab").
func waits(e fstab.Entry) bool {
	if has(e, "noauto", "x-systemd.automount", "comment=systemd.automount", "nofail") || e.Type == "ignore" {
		return false
	}
	return e.Type == "swap" || strings.HasPrefix(e.Mount, "/")
}

// world is what entries are compared with.
type world struct {
	h    *host.Host
	gone map[string]string // names below /dev/mapper of volumes that will not be unlocked: why
}

// entry judges one line of fstab.
func (w *world) entry(ctx context.Context, e fstab.Entry, r *trap.Report) {
	subject := e.Mount
	if e.Type == "swap" {
		subject = "swap on " + e.Device
	}
	at := fmt.Sprintf("%s:%d", fstab.File, e.Line)
	missing, err := w.missing(ctx, e)
	if err != nil {
		r.Unknown(subject, err)
		return
	}
	if missing == "" {
		return
	}
	f := trap.Finding{Subject: subject, Severity: trap.Critical, Start: trap.StartFails, Evidence: []trap.Evidence{trap.Ev(at, "%s", e),
		trap.Ev(e.Device, "%s", missing)}, ByHand: "correct " + at + ", or add nofail to its options if the host can do without it"}
	switch {
	case e.Type == "swap", has(e, "_netdev"):
		f.Severity, f.Start = trap.Warning, trap.StartWithout
		f.Summary = "its device is not there: the next start waits 90 s for it, and goes on without it"
	case e.Mount == "/":
		f.Summary = "the device that fstab names for the root file system is not there: it stays read-only"
	default:
		f.Summary = "its device is not there: the next start waits 90 s for it, and ends in emergency mode"
		if has(e, "bind", "rbind") {
			f.Summary = "what it binds is not there: the next start ends in emergency mode"
		}
	}
	r.Found(f)
}

func has(e fstab.Entry, options ...string) bool {
	return slices.ContainsFunc(e.Options, func(o string) bool { return slices.Contains(options, o) })
}

// missing says what of an entry is not there; empty if all is, or if nobody can tell: what is
// not made of a device.
func (w *world) missing(ctx context.Context, e fstab.Entry) (string, error) {
	if has(e, "bind", "rbind") {
		there, err := w.h.Exists(ctx, e.Device)
		if err != nil || there || !path.IsAbs(e.Device) {
			return "", err
		}
		return "does not exist", nil
	}
	if name, ok := strings.CutPrefix(e.Device, "/dev/mapper/"); ok && w.gone[name] != "" {
		return w.gone[name], nil
	}
	dev, there, err := fstab.There(ctx, w.h, e.Device)
	if err != nil || there {
		return "", err
	}
	return "no such device: " + dev + " does not exist", nil
}
