// Package interfacenotthere finds network configuration for an interface that is not there, beside one that nothing configures.
package interfacenotthere

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/netstart"
	"fettle/host/format/netconf"
)

//go:embed lore.md
var lore trap.Lore

// Trap is interface-not-there.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.NetworkGiven(ctx, h) {
		r.NotApplicable("", "the container engine sets up its network")
		return nil
	}
	links, err := h.Links(ctx)
	if err != nil {
		return err
	}
	const fine = "the Ethernet devices that the configuration names are there, or none is left over"
	if !slices.ContainsFunc(links, func(l host.Link) bool { return netconf.IsDevice(l) && !works(l) }) {
		r.Clear("", fine)
		return nil
	}
	conf, problems := netconf.Read(ctx, h)
	absent := conf.Absent()
	if len(absent) == 0 {
		if len(problems) > 0 {
			return problems[0]
		}
		r.Clear("", fine)
		return nil
	}
	s, err := netstart.Read(ctx, h) // which takes longer
	if err != nil {
		return err
	}
	spare := slices.DeleteFunc(s.Unnamed(), works)
	if len(spare) == 0 {
		r.Clear("", "a file names each Ethernet device that has no address")
		return nil
	}
	offline := !slices.ContainsFunc(s.Links, works)
	found := false
	for _, i := range absent {
		switch {
		case !offline && !wanted(i):
			continue
		case conf.Active(i.Carrier()):
			report(s, r, i, spare, offline)
		default:
			r.Unknown(i.Name, fmt.Errorf("it is not there, and whether %s sets up the network is not known", i.Carrier()))
		}
		found = true
	}
	if !found {
		r.Clear("", "the network works by the devices that are there")
	}
	return nil
}

// works reports whether a device of any sort has an address or is a port of something that may.
func works(l host.Link) bool {
	hasAddress := slices.ContainsFunc(l.Addrs, func(a host.Addr) bool { return a.Scope == "global" })
	return l.Info.Kind == "" && l.LinkType == "ether" && (l.Master != "" || hasAddress)
}

// wanted reports whether the configuration brings the interface up without being asked, or needs it as a port. Others may be
// left over, or be plugged in now and then.
func wanted(i netconf.Iface) bool {
	auto := func(s netconf.Statement) bool { return s.Key == netconf.KeyAuto && s.Value == "yes" }
	return i.Bridge != nil || slices.ContainsFunc(i.All, auto)
}

func report(s *netstart.Start, r *trap.Report, i netconf.Iface, spare []host.Link, offline bool) {
	if s.Unsure != nil {
		r.Unknown(i.Name, fmt.Errorf("it is not there, and %w", s.Unsure))
		return
	}
	var names []string
	for _, l := range spare {
		names = append(names, l.Name)
	}
	found := trap.Finding{
		Subject: i.Name, Severity: trap.Warning,
		Summary: fmt.Sprintf("is configured, but not there; no configuration names %s", strings.Join(names, ", ")),
		ByHand: fmt.Sprintf("if it is the same card: write its new name in place of %s in %s, "+
			"or keep the old one by a .link file with its MAC address", i.Name, file(s, i)),
	}
	if offline {
		found.Severity = trap.Critical
		found.Summary += "; no Ethernet device has an address"
	}
	found.Evidence = append(found.Evidence, trap.Ev(file(s, i), "%s", i.Name))
	for _, l := range spare {
		found.Evidence = append(found.Evidence, trap.Ev("ip address show "+l.Name, "%s, no address", l.OperState))
	}
	r.Found(found)
}

// file is where the configuration names the interface.
func file(s *netstart.Start, i netconf.Iface) string {
	if len(i.All) > 0 && i.All[0].Path != "" {
		return i.All[0].Source.String()
	}
	if f := s.Mentions(i.Name); f != "" {
		return f
	}
	return "the network configuration"
}
