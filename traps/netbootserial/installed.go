package netbootserial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/format/osrelease"
	"fettle/tools/netboot/bmc"
	"fettle/tools/netboot/menu"
)

// here is the subject of the running system itself.
const here = "console"

// installed compares what the firmware offers with what Linux and its getty use.
func installed(ctx context.Context, h *host.Host, r *trap.Report, offered bmc.Port, err error) {
	switch {
	case container.Of(ctx, h) != "":
		r.NotApplicable(here, "a container has no firmware")
		return
	case errors.Is(err, host.ErrNotRunning):
		r.NotApplicable(here, "only a running host shows what its firmware offers")
		return
	case errors.Is(err, bmc.ErrDisabled):
		r.NotApplicable(here, err.Error())
		return
	case nothing(err):
		r.NotApplicable(here, "the firmware names no serial console")
		return
	case err != nil:
		r.Unknown(here, err)
		return
	case offered.Unit < 0:
		r.NotApplicable(here, "the firmware's console is not a PC serial port; Linux uses it automatically")
		return
	}
	want := menu.Console{Port: offered.Unit, Speed: offered.Speed}
	ev := []trap.Evidence{trap.Ev(offered.From, "%s, %s", want.Device(), speed(offered.Speed))}
	if offered.SOL.Known {
		ev = append(ev, trap.Ev("ipmitool sol info 1", "enabled, %s", speed(offered.SOL.Speed)))
	}
	line, err := h.ReadString(ctx, "/proc/cmdline")
	if err != nil {
		r.Unknown(here, err, ev...)
		return
	}
	ev = append(ev, trap.Ev("/proc/cmdline", "%s", line))
	var last, all *menu.Console
	for _, w := range strings.Fields(line) {
		if strings.HasPrefix(w, "console=") {
			last = nil
			if c, ok := menu.OfParameter(w); ok {
				last = &c
				if c.Port == want.Port {
					all = &c
				}
			}
		}
	}
	found := func(sev trap.Severity, summary, detail, hand string) {
		r.Found(trap.Finding{Subject: here, Severity: sev, Summary: summary, Detail: trap.Lines(detail), Evidence: ev, ByHand: hand})
	}
	will, unread := false, error(nil)
	if all == nil {
		will, unread = nextBoot(ctx, h, want)
	}
	byHand := kernelByHand(ctx, h, "console=tty0 "+fmt.Sprintf("console=%s,%dn8", want.Device(), max(want.Speed, 9600)))
	switch {
	case offered.Speed != 0 && offered.SOL.Speed != 0 && offered.Speed != offered.SOL.Speed:
		found(
			trap.Warning,
			"the firmware and the BMC use the serial console at different speeds: the BMC shows garbage",
			fmt.Sprintf("The firmware is set to %d, serial over LAN to %d.", offered.Speed, offered.SOL.Speed),
			"Set the speed of console redirection in the firmware's setup, or the "+
				"BMC's: ipmitool sol set volatile-bit-rate, and non-volatile-bit-rate.",
		)
	case will:
		r.Clear(
			here,
			"from the next boot on the kernel and GRUB use "+want.Device(),
			append(ev, trap.Ev(grubConfig, "console=%s for every kernel", want.Device()))...)
	case unread != nil:
		r.Unknown(here, fmt.Errorf("the kernel does not use %s; whether the next boot will is not known: %w", want.Device(), unread), ev...)
	case all == nil:
		found(trap.Notice, "the system is silent on the serial console that its firmware and BMC offer",
			fmt.Sprintf("The console offered is %s; the kernel uses %s.", want.Device(), told(last)), byHand)
	case offered.Speed != 0 && all.Speed != offered.Speed:
		found(trap.Warning, "the kernel and the firmware use the serial console at different speeds: the BMC shows garbage for one of them",
			fmt.Sprintf("The firmware is set to %d, the kernel to %d.", offered.Speed, all.Speed), byHand)
	default:
		getty(ctx, h, r, *all, ev, found)
	}
}

// kernelByHand is how the kernel gets further parameters. Where entries are
// files of their own (the Boot Loader Specification, Red Hat's family), a new menu
// does not change theirs.
func kernelByHand(ctx context.Context, h *host.Host, args string) string {
	if text, err := h.ReadString(ctx, grubDefaults); err == nil && osrelease.Parse(text)["GRUB_ENABLE_BLSCFG"] == "true" {
		return "Run grubby --update-kernel=ALL --args=\"" + args + "\", and reboot."
	}
	return "In /etc/default/grub add " + args + " to GRUB_CMDLINE_LINUX, then " + makeMenu(ctx, h) + " and reboot."
}

// makeMenu is what makes GRUB's menu again.
func makeMenu(ctx context.Context, h *host.Host) string {
	if there, err := h.Exists(ctx, "/boot/grub2"); err == nil && there { // Red Hat, SUSE
		return "grub2-mkconfig -o /boot/grub2/grub.cfg"
	}
	return "update-grub"
}

// nothing is the knowledge that there is no table to be read: no firmware's, or a
// container that is shown none.
func nothing(err error) bool {
	return errors.Is(err, bmc.ErrNone) || errors.Is(err, bmc.ErrDisabled) || errors.Is(err, host.ErrNotRunning) ||
		errors.Is(err, host.ErrNotMounted) ||
		errors.Is(err, host.ErrHidden)
}

func told(c *menu.Console) string {
	if c == nil {
		return "no serial console"
	}
	return c.String()
}

func speed(n int) string {
	if n == 0 {
		return "at the speed that the firmware left"
	}
	return fmt.Sprintf("at %d", n)
}

// getty looks for a login on the port, and for GRUB's own port.
func getty(
	ctx context.Context,
	h *host.Host,
	r *trap.Report,
	c menu.Console,
	ev []trap.Evidence,
	found func(trap.Severity, string, string, string),
) {
	unit := "serial-getty@" + c.Device() + ".service"
	u, err := h.Unit(ctx, unit)
	if err != nil && !host.IsAbsent(err) && !errors.Is(err, host.ErrNoCommand) {
		r.Unknown(here, err, ev...)
		return
	}
	if err == nil && u.ActiveState != "active" {
		found(
			trap.Warning,
			"there is no login on the serial console: no getty runs there",
			"The kernel writes to "+c.Device()+", "+unit+" is "+u.ActiveState+".",
			"systemctl enable --now "+unit,
		)
		return
	}
	g, err := readGRUB(ctx, h)
	if err != nil {
		r.Unknown(here, err, ev...)
		return
	}
	if g.there && !g.serial {
		found(
			trap.Notice,
			"GRUB's menu does not appear on the serial console",
			"GRUB_TERMINAL of /etc/default/grub names no serial terminal: if the kernel does not boot, another cannot be chosen there.",
			fmt.Sprintf(
				"In /etc/default/grub set GRUB_TERMINAL=\"console serial\" and GRUB_SERIAL_COMMAND=\"serial --unit=%d --speed=%d\", then %s.",
				c.Port,
				c.Speed,
				makeMenu(ctx, h),
			),
		)
		return
	}
	r.Clear(here, "the kernel, GRUB and a getty use "+c.Device(), ev...)
}
