// Package raforwarding finds interfaces that ignore router advertisements
// because the host forwards IPv6, and makes them listen again.
//
// The rule is the kernel's ipv6_accept_ra() (Linux 6.18, include/net/ipv6.h):
// with the interface's own "forwarding" other than 0, advertisements are taken
// only if its own accept_ra is exactly 2; "all" is not asked. A manager that
// takes advertisements itself sets the kernel's accept_ra to 0.
package raforwarding

import (
	"context"
	_ "embed"
	"errors"
	"slices"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/netconf"
)

//go:embed lore.md
var lore trap.Lore

// Trap is the whole of it, for the list in traps/all.go.
var Trap = trap.Trap{Lore: lore, Units: netconf.Units(), Check: check, Plan: plan}

const confDir = "/proc/sys/net/ipv6/conf/"

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	conf, err := readConfig(ctx, h)
	if err != nil {
		return err
	}
	if !h.Running() {
		checkConfig(conf, r)
		return nil
	}
	all, err := h.ReadString(ctx, confDir+"all/forwarding")
	if host.IsAbsent(err) {
		r.NotApplicable("", "this kernel runs without IPv6")
		return nil
	}
	if err != nil {
		return err
	}
	links, err := h.Links(ctx)
	if err != nil {
		return err
	}
	routes, routesErr := h.Routes6(ctx)
	routes = slices.DeleteFunc(routes, func(r host.Route) bool { return r.Dst != "default" })
	var tunnels []string
	for _, l := range links {
		if l.Info.Kind == "wireguard" || l.Info.Kind == "tun" {
			tunnels = append(tunnels, l.Name)
		}
	}
	ipv4, said := hasIPv4(links), false
	for _, l := range links {
		if !listens(l, links) {
			continue
		}
		s := state{link: l, all: all, release: h.Identity().Release, ipv4: ipv4, routes: routes, routesErr: routesErr, tunnels: tunnels}
		err := s.read(ctx, h)
		if errors.Is(err, errNoIPv6) {
			continue
		}
		i := conf.of(l.Name)
		if err != nil {
			r.Unknown(l.Name, err)
			said = true
			continue
		}
		if s.forwarding != 0 && s.acceptRA != 0 || s.concerns(i) {
			s.ras, s.rasErr = advertisements(ctx, h, l.Name)
			s.sends = sendsThem(ctx, h, l.Name)
		}
		if !s.concerns(i) {
			if s.rasErr != nil && s.ignores() { // whether any arrive is all that matters here
				r.Unknown(l.Name, s.rasErr, s.evidence()...)
				said = true
			}
			continue // up, but without address, configuration or advertisement
		}
		s.more(ctx, h)
		judge(r, s, i)
		said = true
	}
	if !said {
		r.NotApplicable("", "no interface here has an address or a configuration that could come with router advertisements")
	}
	return nil
}

// listens tells whether the kernel can take advertisements on a link: not on
// the loopback, on tunnels without multicast, and on ports, whose packets
// belong to their bridge or bond (addrconf_notify and the receive handlers
// leave them no IPv6 of their own).
func listens(l host.Link, all []host.Link) bool {
	if l.Has("LOOPBACK") || l.LinkType == "loopback" || l.Has("SLAVE") {
		return false
	}
	if l.LinkType != "ether" && l.LinkType != "ppp" {
		return false
	}
	switch l.Info.SlaveKind {
	case "bridge", "bond", "team", "openvswitch":
		return false
	}
	for _, m := range all {
		if l.Master != "" && m.Name == l.Master {
			return m.Info.Kind == "vrf"
		}
	}
	return true
}

// hasIPv4 tells whether the host can be reached over IPv4 at all. The address
// of a bridge that leads nowhere (docker0, virbr0) does not count.
func hasIPv4(links []host.Link) bool {
	leads := func(bridge string) bool {
		for _, l := range links {
			if l.Master == bridge && l.Info.Kind != "veth" && l.Info.Kind != "tun" {
				return true
			}
		}
		return false
	}
	for _, l := range links {
		for _, a := range l.Addrs {
			if a.Family == "inet" && !l.Has("LOOPBACK") && (l.Info.Kind != "bridge" || leads(l.Name)) {
				return true
			}
		}
	}
	return false
}
