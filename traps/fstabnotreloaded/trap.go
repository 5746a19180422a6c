// Package fstabnotreloaded finds mounts for which systemd still has an older line of /etc/fstab.
package fstabnotreloaded

import (
	"context"
	_ "embed"
	"errors"
	"path"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
	"fettle/host/format/fstab"
)

//go:embed lore.md
var lore trap.Lore

// Trap is fstab-not-reloaded.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	all, err := startup.Units(ctx, h)
	if errors.Is(err, host.ErrNoSystemd) {
		r.NotApplicable("", "this host does not run systemd")
		return nil
	}
	if err != nil {
		return err
	}
	lines, err := fstab.Read(ctx, h)
	if err != nil {
		return err
	}
	mounted, err := h.Filesystems(ctx)
	if err != nil {
		return err
	}
	looked := false
	for i := range all {
		u := &all[i]
		if u.Kind() != "mount" || u.SourcePath != fstab.File || u.LoadState != "loaded" || !strings.HasPrefix(u.FragmentPath,
			"/run/systemd/generator") {
			continue
		}
		looked = true
		if err := one(ctx, h, r, u, lines, mounted); err != nil {
			r.Unknown(u.ID, err)
		}
	}
	if !looked {
		r.NotApplicable("", "systemd made no unit of a line of "+fstab.File)
	}
	return nil
}

// one compares a unit with the line of its mount point.
func one(ctx context.Context, h *host.Host, r *trap.Report, u *startup.Unit, lines []fstab.Entry, mounted []host.Filesystem) error {
	text, err := startup.Read(ctx, h, u)
	if err != nil {
		return err
	}
	where, what := text.Value("Mount", "Where"), strings.Trim(text.Value("Mount", "What"), `"`)
	line, ok := lineOf(lines, where)
	if where == "/" || where == "" || what == "" || !ok || !strings.Contains(line.Device, "/") && !strings.Contains(line.Device, "=") ||
		strings.ContainsAny(what, `\%`) {
		r.Clear(u.ID, "fstab names no other device for it")
		return nil
	}
	same, err := sameDevice(ctx, h, what, line.Device)
	if err != nil {
		return err
	}
	if same {
		r.Clear(u.ID, "systemd has the line of fstab", trap.Ev(text.File, "What=%s", what))
		return nil
	}
	f := trap.Finding{
		Subject: u.ID, Severity: trap.Warning,
		Summary:  "systemd still has the old line of fstab for " + where + ": it mounts " + what + " there, not " + line.Device,
		ByHand:   "systemctl daemon-reload",
		Evidence: []trap.Evidence{trap.Ev(text.File, "What=%s", what), trap.Ev(fstab.File, "%s", line)},
	}
	now, err := source(ctx, h, where, what, mounted)
	if err != nil {
		return err
	}
	if now {
		f.Severity = trap.Notice
		f.Summary = "fstab was edited, and systemd has not read it: " + where + " is still " + what + ", and will be " + line.Device +
			" after the next start"
	}
	r.Found(f)
	return nil
}

// lineOf is the first line of a mount point: systemd makes the unit of that one.
func lineOf(lines []fstab.Entry, where string) (fstab.Entry, bool) {
	for _, e := range lines {
		if path.Clean(e.Mount) == where && e.Type != "swap" {
			return e, true
		}
	}
	return fstab.Entry{}, false
}

// source reports whether a mount point is mounted from what.
func source(ctx context.Context, h *host.Host, where, what string, mounted []host.Filesystem) (bool, error) {
	for _, m := range mounted {
		if m.Mount != where {
			continue
		}
		if same, err := sameDevice(ctx, h, what, m.Device); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// sameDevice tells whether two specifications name one device. A device that is gone is another one than one that is there.
func sameDevice(ctx context.Context, h *host.Host, a, b string) (bool, error) {
	a, b = name(a), name(b)
	if a == b {
		return true, nil
	}
	for _, dev := range []*string{&a, &b} {
		if !strings.HasPrefix(*dev, "/dev/") {
			continue
		}
		to, err := fstab.Linked(ctx, h, *dev)
		if err != nil && !host.IsAbsent(err) {
			return false, err
		}
		*dev = to
	}
	return a == b, nil
}

// name is the path of a device; what has none is as it is.
func name(spec string) string {
	if dev := fstab.Device(spec); dev != "" {
		return dev
	}
	if strings.HasPrefix(spec, "/") {
		return path.Clean(spec)
	}
	return spec
}
