// Package networkbyhand finds addresses, links, routes, policy rules and neighbours that no configuration names.
package networkbyhand

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/netstart"
)

//go:embed lore.md
var lore trap.Lore

// Trap is network-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.NetworkGiven(ctx, h) {
		r.NotApplicable("", "the container engine sets up its network")
		return nil
	}
	s, err := netstart.Read(ctx, h)
	if err != nil {
		return err
	}
	found := links(s, r)
	more, err := routes(ctx, h, s, r)
	if err != nil {
		r.Unknown("routes", err)
		found = true
	}
	for _, look := range []func(context.Context, *host.Host, *netstart.Start, *trap.Report) (bool, error){rules, neighbours} {
		also, err := look(ctx, h, s, r)
		if err != nil {
			r.Unknown("rules and neighbours", err)
		}
		found = found || also || err != nil
	}
	if !found && !more {
		r.Clear("", "files name every link, address, route, rule and neighbour, or a program brings it back")
	}
	return nil
}

// unsure reports what nobody can tell, and tells whether it did.
func unsure(s *netstart.Start, r *trap.Report, subject string) bool {
	if s.Unsure != nil {
		r.Unknown(subject, s.Unsure)
	}
	return s.Unsure != nil
}

func links(s *netstart.Start, r *trap.Report) (found bool) {
	told := map[string]bool{}
	for _, l := range s.Links {
		if s.LinkByHand(l) {
			found = true
			if !told[l.Parent] || l.Info.Kind != "veth" { // a pair is one finding
				link(s, r, l)
			}
			told[l.Name] = true
			continue
		}
		for _, a := range l.Addrs {
			if !s.AddressByHand(l, a) {
				continue
			}
			found = true
			what := fmt.Sprintf("%s/%d on %s", a.Local, a.PrefixLen, l.Name)
			byHand(s, r, what, "the address "+what, l.Name,
				trap.Ev("ip address show "+l.Name, "%s/%d, without a lifetime", a.Local, a.PrefixLen))
		}
	}
	return found
}

// link reports a link, with the addresses that are gone with it.
func link(s *netstart.Start, r *trap.Report, l host.Link) {
	if m := s.Maker(); m != "" {
		r.Unknown(l.Name, fmt.Errorf("no file names it, but %s may have made it", m))
		return
	}
	if unsure(s, r, l.Name) {
		return
	}
	lost, evidence := "the link "+l.Name, l.Info.Kind
	var with []string
	for _, a := range l.Addrs {
		if a.Scope == "global" {
			with = append(with, fmt.Sprintf("%s/%d", a.Local, a.PrefixLen))
		}
	}
	if len(with) > 0 {
		lost += " with " + strings.Join(with, ", ")
		evidence += ", " + strings.Join(with, ", ")
	}
	r.Found(trap.Finding{
		Subject: l.Name, Severity: trap.Warning, Lost: lost,
		Summary:  "was made by hand: no configuration names it, and it is gone after a restart",
		ByHand:   persist(s, l.Name),
		Evidence: []trap.Evidence{trap.Ev("ip -d link show "+l.Name, "%s", evidence)},
	})
}

func routes(ctx context.Context, h *host.Host, s *netstart.Start, r *trap.Report) (found bool, err error) {
	four, err := h.Routes4(ctx)
	if err != nil {
		return false, err
	}
	six, err := h.Routes6(ctx)
	if err != nil {
		return false, err
	}
	for _, rt := range append(four, six...) {
		if !s.RouteByHand(rt) {
			continue
		}
		found = true
		added(s, r, "route to "+rt.Dst, rt.Dev, trap.Ev("ip route", "%s proto %s", rt.Text(), rt.Protocol))
	}
	return found, nil
}

// added reports what somebody added, unless a program that sets up networks may have.
func added(s *netstart.Start, r *trap.Report, what, dev string, evidence trap.Evidence) {
	if m := s.Maker(); m != "" {
		r.Unknown(what, fmt.Errorf("no file names it, but %s may have added it", m))
		return
	}
	byHand(s, r, what, "the "+what, dev, evidence)
}

// byHand reports what is lost, unless there are files that leave open whether they name it.
func byHand(s *netstart.Start, r *trap.Report, what, lost, dev string, evidence trap.Evidence) {
	if unsure(s, r, what) {
		return
	}
	r.Found(trap.Finding{
		Subject: what, Severity: trap.Warning, Lost: lost,
		Summary:  "was added by hand: no configuration names it, and it is gone after a restart",
		ByHand:   persist(s, dev),
		Evidence: []trap.Evidence{evidence},
	})
}

func rules(ctx context.Context, h *host.Host, s *netstart.Start, r *trap.Report) (found bool, err error) {
	all, err := h.Rules(ctx)
	if err != nil {
		return false, err
	}
	for _, x := range all {
		if !s.RuleByHand(x) {
			continue
		}
		found = true
		what := text(x)
		added(s, r, what, x.Iif, trap.Ev("ip rule", "%d: %s proto %s", x.Priority, what, x.Protocol))
	}
	return found, nil
}

// text is a rule as ip-rule(8) takes it, without its priority.
func text(x host.PolicyRule) string {
	out := "rule from " + x.Src
	for _, f := range []struct{ word, value string }{{"to", x.Dst}, {"fwmark", x.Mark}, {"iif", x.Iif}, {"oif", x.Oif}} {
		if f.value != "" && f.value != "all" {
			out += " " + f.word + " " + f.value
		}
	}
	return out + " lookup " + x.Table
}

func neighbours(ctx context.Context, h *host.Host, s *netstart.Start, r *trap.Report) (found bool, err error) {
	all, err := h.Neighbours(ctx)
	if err != nil {
		return false, err
	}
	for _, n := range all {
		if !s.NeighbourByHand(n) {
			continue
		}
		found = true
		added(s, r, "neighbour "+n.Dst+" on "+n.Dev, n.Dev,
			trap.Ev("ip neighbour", "%s dev %s lladdr %s PERMANENT", n.Dst, n.Dev, n.LLAddr))
	}
	return found, nil
}

// persist says where it belongs.
func persist(s *netstart.Start, dev string) string {
	if m := s.Manager(dev); m != "" {
		return fmt.Sprintf("if it is wanted, add it to the configuration of %s", m)
	}
	return "if it is wanted, add it to the configuration of the program that sets up this host's network"
}
