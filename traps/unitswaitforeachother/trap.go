// Package unitswaitforeachother finds circles in the order of the units that boot starts: systemd drops one of them.
package unitswaitforeachother

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
)

//go:embed lore.md
var lore trap.Lore

// Trap is units-wait-for-each-other.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if startup.WithoutManager(ctx, h, h.Systemd(ctx)) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	o, err := startup.ReadOrder(ctx, h)
	if host.IsAbsent(err) {
		for _, systemd := range []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd"} {
			there, err := h.Exists(ctx, systemd)
			if err != nil || there {
				return cmp.Or(err, errors.New("the default target has no file: which units boot starts is unknown"))
			}
		}
		r.NotApplicable("", "this host does not boot with systemd")
		return nil
	}
	if err != nil {
		return err
	}
	circles := o.Circles()
	for _, c := range circles {
		var ev []trap.Evidence
		for i, name := range c {
			ev = append(ev, trap.Ev(name, "starts after %s", c[(i+1)%len(c)]))
		}
		r.Found(trap.Finding{
			Subject: c[0], Severity: trap.Warning,
			Summary:  fmt.Sprintf("%s wait for each other: systemd does not start one of them at boot", strings.Join(c, ", ")),
			Detail:   trap.Prose(fmt.Sprintf("systemd says: Found ordering cycle on %s", c[0])),
			Lost:     "one of " + strings.Join(c, ", "),
			ByHand:   "delete After= or Before= from one of them; systemd-analyze verify default.target names the circle too",
			Evidence: ev,
		})
	}
	if len(circles) == 0 {
		r.Clear("", "no units that boot starts wait for each other", trap.Ev("units in order", "%d", len(o.After)))
	}
	return nil
}
