// Package unitnotstartedatboot finds units that run now, and that nothing starts at boot.
package unitnotstartedatboot

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
)

//go:embed lore.md
var lore trap.Lore

// Trap is unit-not-started-at-boot.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Limit: 20 * time.Second, Check: check, Plan: plan}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	all, err := startup.Units(ctx, h)
	if startup.WithoutManager(ctx, h, err) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, h, all)
	if err != nil {
		return err
	}
	for i := range all {
		u := &all[i]
		if !judged(u) {
			continue
		}
		switch c, err := w.lost(ctx, h, u); {
		case err != nil:
			r.Unknown(u.ID, err)
		case c != nil:
			r.Found(c.finding(u))
		default:
			r.Clear(u.ID, "is started at boot, or when it is needed")
		}
	}
	return nil
}

// judged tells whether a unit is one that somebody may miss: neither what the kernel and users'
// sessions make, nor mounts, which other checks look at.
func judged(u *startup.Unit) bool {
	switch u.Kind() {
	case "service", "socket", "timer", "path":
	default:
		return false
	}
	if u.ActiveState != "active" && u.ActiveState != "reloading" {
		return false
	}
	base, _, _ := strings.Cut(u.ID, "@")
	return !slices.Contains(ofSessions, base) && !strings.HasPrefix(u.Slice, "user-")
}

// ofSessions are templates that logins, consoles and dumps make instances of.
var ofSessions = []string{"user", "user-runtime-dir", "getty", "serial-getty", "container-getty", "autovt", "systemd-coredump",
	"console-getty", "modprobe", "systemd-fsck", "sshd", "ssh"}

// cause is why a unit is not started at boot.
type cause struct {
	says     string
	evidence string
	by       string // what the admin does by hand; empty where systemctl enable does it
}

func (c *cause) finding(u *startup.Unit) trap.Finding {
	return trap.Finding{
		Subject:  u.ID,
		Severity: trap.Warning,
		Summary:  c.says,
		ByHand:   c.by,
		Evidence: []trap.Evidence{trap.Ev("systemctl show "+u.ID, "%s", c.evidence)},
	}
}

func plan(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
	if f.ByHand != "" {
		return remedy.Plan{}, remedy.Refuse("%s: %s", f.Subject, f.ByHand)
	}
	return remedy.Plan{
		Title: "enable " + f.Subject + ", so that it is started at boot",
		Steps: []step.Step{step.Unit{Name: f.Subject, Act: "enable"}},
	}, nil
}
