// Package netbootserial finds boot menus, and installed systems, that are
// silent on the serial console through which a BMC shows them.
package netbootserial

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/tftpd"
	"fettle/tools/netboot/bmc"
	"fettle/tools/netboot/menu"
)

//go:embed lore.md
var lore trap.Lore

// Trap is netboot-serial. fettle netboot serial asks for its plan, too.
var Trap = trap.Trap{
	Lore: lore, Cost: trap.Instant, Check: check, Plan: plan,
	Setup: &trap.Setup{Name: "netboot-serial", Finding: trap.Finding{Summary: "switch boot menus and what they boot to a serial console"}},
	Choices: []trap.Choice{
		{
			Name:  "port",
			About: "the serial port that the BMC shows: ttyS0 to ttyS3 (default: what most entries use, else what the firmware names)",
		},
		{Name: "speed", About: "its speed in bits per second (default: as the port's, else 115200)"},
	},
}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	offered, err := bmc.Find(ctx, h)
	installed(ctx, h, r, offered, err)
	known := err == nil && offered.Unit >= 0
	untold := err // nobody could look
	if nothing(err) {
		untold = nil
	}
	roots, unread := tftpd.Roots(ctx, h)
	for _, err := range unread {
		r.Unknown("", fmt.Errorf("a TFTP server's configuration: %w", err))
	}
	for _, root := range roots {
		m, err := menu.Read(ctx, h, root.Path)
		switch {
		case errors.Is(err, menu.ErrNone), host.IsAbsent(err):
			r.NotApplicable(root.Path, "serves no boot menu")
		case err != nil:
			r.Unknown(root.Path, err)
		default:
			served(r, m, known, untold)
		}
	}
	return nil
}
