// Package counterwrap finds octet counters that wrap unseen: Xen's backends on
// kernels that keep 32 bits behind 64-bit files, and pollers that ask for
// 32-bit counters more rarely than the links wrap them.
package counterwrap

import (
	"context"
	_ "embed"

	"fettle/engine/trap"
	"fettle/host"
)

//go:embed lore.md
var lore trap.Lore

// Trap is counter-wrap. It is instant: what is known without a second look.
// What needs an interval is the instrument's, fettle measure counters.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan}

// netback is the subject of Xen's backends, pollers that of a host without
// the configuration of any.
const (
	netback = "xen-netback"
	pollers = "pollers"
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	checkNetback(ctx, h, r)
	checkPollers(ctx, h, r)
	return nil
}
