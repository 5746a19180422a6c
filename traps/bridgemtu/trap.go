// Package bridgemtu finds bridges whose MTU is not what it should be: a port
// that is added, removed or changed sets the MTU of a bridge that nothing pins.
package bridgemtu

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/netconf"
	"fettle/internal/sorted"
)

//go:embed lore.md
var lore trap.Lore

// Trap is the trap bridge-mtu.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Units: netconf.Units(), Check: check, Plan: plan}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	s := look(ctx, h)
	if s.linksErr != nil && h.Running() && len(s.bridges) == 0 {
		return s.linksErr
	}
	if len(s.bridges) == 0 {
		s.noBridge(h, r)
		return nil
	}
	for _, b := range s.bridges {
		s.judge(h, r, b)
	}
	return nil
}

// noBridge reports of a host without a bridge. Where only configuration is
// seen, that is sure only if all of it could be read.
func (s *survey) noBridge(h *host.Host, r *trap.Report) {
	if h.Running() {
		r.NotApplicable("", "there is no bridge")
		return
	}
	if len(s.cfg.Problems) > 0 {
		r.Unknown("", first(s.cfg.Problems))
		return
	}
	r.NotApplicable("", "no bridge is configured")
}

// judge reports of one bridge: its most severe fault, the others as detail.
func (s *survey) judge(h *host.Host, r *trap.Report, b *bridge) {
	faults := s.faults(b)
	hidden := s.hidden(b)
	if !b.present && s.linksErr != nil && h.Running() {
		hidden = append(hidden, s.linksErr)
	}
	if len(faults) == 0 {
		switch {
		case len(hidden) > 0:
			r.Unknown(b.name, first(hidden), b.evidence()...)
		case b.conf.MTU != nil && b.present:
			r.Clear(b.name, "has the configured MTU, and its ports fit", b.evidence()...)
		case b.conf.MTU != nil:
			r.Clear(b.name, "configured MTUs of bridge and ports fit", b.evidence()...)
		default:
			r.Clear(b.name, "MTUs of bridge and ports fit", b.evidence()...)
		}
		return
	}
	sorted.By(faults, func(x, y fault) int { return int(y.severity - x.severity) })
	f := trap.Finding{
		ByHand:   faults[0].byHand,
		Subject:  b.name,
		Severity: faults[0].severity,
		Summary:  faults[0].summary,
		Detail:   trap.Lines(faults[0].detail),
		Evidence: b.evidence(),
	}
	for _, o := range faults[1:] {
		f.Detail = f.Detail.Also("Also: " + o.summary + ". " + o.detail)
	}
	if len(hidden) > 0 {
		f.Detail = f.Detail.Also("Not everything could be checked: " + host.Reason(first(hidden)))
	}
	r.Found(f)
}

// first is the first of several errors, with how many more there are: where
// one folder was not collected, twenty were not.
func first(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more that may contain network configuration)", errs[0], len(errs)-1)
}

// hidden lists what could not be read and might say something about b.
func (s *survey) hidden(b *bridge) []error {
	var out []error
	switch {
	case b.engine == "libvirt" || slices.Contains(b.conf.Claims, netconf.Libvirt):
		out = s.cfg.ProblemsOf(netconf.Libvirt)
	case b.engine != "" && b.conf.Manager == "":
		// Container engines keep their bridges' MTUs to themselves.
	default:
		out = s.cfg.ProblemsOf(netconf.Ifupdown, netconf.Netplan, netconf.Networkd, netconf.NetworkManager)
	}
	out = slices.Clip(out)
	ifaces := []netconf.Iface{b.conf}
	for _, p := range b.ports {
		ifaces = append(ifaces, p.conf)
	}
	for _, i := range ifaces {
		for _, err := range i.Unsure {
			var d *netconf.Doubt
			if errors.As(err, &d) && slices.Contains(d.Keys, netconf.KeyMTU) {
				out = append(out, err)
			}
		}
	}
	return out
}
