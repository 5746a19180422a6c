package bridgemtu

import (
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/internal/octets"
)

// fault is one thing that is wrong with a bridge.
type fault struct {
	severity        trap.Severity
	summary, detail string
	byHand          string // where fettle cannot know what is wanted
}

func alone(sev trap.Severity, summary, detail string) []fault {
	return []fault{{severity: sev, summary: summary, detail: detail}}
}

// faults lists what is wrong with b: running, then configured; that nothing holds
// its MTU only where nothing else is wrong.
func (s *survey) faults(b *bridge) []fault {
	var out []fault
	if b.present {
		out = append(out, s.running(b)...)
	}
	out = append(out, s.configured(b)...)
	if len(out) == 0 && b.present {
		out = s.adrift(b)
	}
	return out
}

// adrift is a bridge with more than the default that nobody configured: its MTU is
// that of ports which come and go. Left in peace are those whose uplink carries as
// much, since that one stays; those of container engines, which give all their ports
// one MTU; and smaller ones, which are meant for tunnels. That the bridge was pinned
// by hand cannot be seen: no interface shows it.
func (s *survey) adrift(b *bridge) []fault {
	least, _ := b.least(anyPort)
	up, _ := b.least(isUplink)
	if b.conf.MTU != nil || b.engine != "" || b.mtu <= defaultMTU || b.mtu != least || up != 0 {
		return nil
	}
	name := octets.Name(b.name)
	set := []string{fmt.Sprintf("ip link set dev %s mtu %d", name, defaultMTU)} // the bridge first: only a change pins
	for _, p := range b.ports {
		if want, _ := s.want(p); want != 0 || p.conf.Manager != "" {
			return nil
		}
		set = append(set, fmt.Sprintf("ip link set dev %s mtu %d", octets.Name(p.name), defaultMTU))
	}
	out := alone(trap.Notice, "the bridge has the MTU of ports that come and go: nothing configures it",
		fmt.Sprintf("%s has %d because of %s, whatever MTU it was made with; it follows the next port that is added or removed.",
			b.name, b.mtu, list(b.like(b.mtu))))
	out[0].byHand = fmt.Sprintf("if %d is wanted, in this order: %s; what adds ports must then give them that MTU "+
		"(ip link set PORT master %s mtu %d). If %d is wanted, "+
		"ip link set dev %s mtu %d and then mtu %d pins it, and its MTU belongs in the network configuration",
		defaultMTU, strings.Join(set[:min(len(set), maxEvidence)], "; "), name, defaultMTU, b.mtu, name, b.mtu-1, b.mtu)
	return out
}

// running compares the running MTUs with the configuration and each other.
func (s *survey) running(b *bridge) []fault {
	least, _ := b.least(anyPort)
	up, uplink := b.least(isUplink)
	m := b.conf.MTU
	switch {
	case m != nil && b.mtu != m.N && least == 0 && b.mtu == defaultMTU:
		return alone(trap.Warning, fmt.Sprintf("the bridge does not have the configured MTU %d", m.N),
			fmt.Sprintf("%s has %d, the default of a bridge whose last port was removed. %s says %d.", b.name, b.mtu, m.Source, m.N))
	case m != nil && b.mtu != m.N && b.mtu == least:
		return alone(trap.Warning, fmt.Sprintf("the bridge does not have the configured MTU %d: its ports set it", m.N),
			fmt.Sprintf("%s has %d, the smallest MTU of its ports %s; %s says %d.", b.name, b.mtu, list(b.like(b.mtu)), m.Source, m.N))
	case m != nil && b.mtu != m.N:
		return alone(trap.Warning, fmt.Sprintf("the bridge does not have the configured MTU %d", m.N),
			fmt.Sprintf(
				"%s has %d, which is not the smallest of its ports either, so it was set by hand. %s says %d.",
				b.name,
				b.mtu,
				m.Source,
				m.N,
			))
	case up > 0 && b.mtu > up:
		return alone(trap.Warning, "the bridge's MTU exceeds that of its uplink "+uplink.name+": larger packets are dropped",
			fmt.Sprintf(
				"%s has %d, %s %d: larger packets are dropped silently, because a bridge does not fragment.",
				b.name,
				b.mtu,
				uplink.name,
				up,
			))
	case m == nil && up > 0 && b.mtu < up && b.mtu == least:
		return alone(trap.Warning, "a local port makes the bridge's MTU smaller than that of its uplink "+uplink.name,
			fmt.Sprintf("%s has %d because of %s; %s carries %d.", b.name, b.mtu, list(b.like(b.mtu)), uplink.name, up))
	}
	if odd := b.odd(); len(odd) > 0 {
		return alone(trap.Notice, "the bridge's ports have different MTUs: packets too large for a port are dropped there",
			fmt.Sprintf(
				"%s has %d; these differ: %s. A bridge without a pinned MTU takes the smallest of its ports, and changes when that port goes.",
				b.name,
				b.mtu,
				list(odd),
			))
	}
	return nil
}

// like lists the running ports with that MTU.
func (b *bridge) like(mtu int) []*brPort {
	var out []*brPort
	for _, p := range b.ports {
		if p.present && p.mtu == mtu {
			out = append(out, p)
		}
	}
	return out
}

// odd lists the ports whose MTU does not fit the bridge's: smaller ones drop
// what the bridge sends, larger ones of this host send what others drop. A
// lone uplink that could carry more than its bridge does no harm; of several
// that differ, the larger one brings what the other drops, unless the bridge's
// MTU was chosen in the configuration.
func (b *bridge) odd() []*brPort {
	var out []*brPort
	harmless := b.conf.MTU != nil || !b.uplinksDiffer()
	for _, p := range b.ports {
		if p.present && p.mtu != b.mtu && !(p.uplink && p.mtu > b.mtu && harmless) {
			out = append(out, p)
		}
	}
	return out
}

func (b *bridge) uplinksDiffer() bool {
	mtu, _ := b.least(isUplink)
	return slices.ContainsFunc(b.ports, func(p *brPort) bool { return p.present && p.uplink && p.mtu != mtu })
}

// configured compares what the configuration gives the bridge and its ports.
func (s *survey) configured(b *bridge) []fault {
	m := b.conf.MTU
	if m == nil {
		return s.conflictingPorts(b)
	}
	for _, p := range b.ports {
		switch want, src := s.want(p); {
		case want != 0 && want != m.N:
			return alone(trap.Warning, fmt.Sprintf("the configuration gives the bridge the MTU %d, but its port %s %d", m.N, p.name, want),
				fmt.Sprintf(
					"%s says %d for %s, %s says %d for %s; at the next boot, the order in which they come up decides.",
					m.Source,
					m.N,
					b.name,
					src,
					want,
					p.name,
				))
		case want == 0 && p.device && m.N > defaultMTU && b.conf.Manager != "" && !(p.present && p.mtu >= m.N):
			// A driver may come up with more than the default by itself, as
			// some cloud drivers do: without the running link this is a guess.
			severity := trap.Warning
			if !p.present {
				severity = trap.Notice
			}
			return alone(severity, fmt.Sprintf("the configuration gives the bridge the MTU %d, but none to its port %s", m.N, p.name),
				fmt.Sprintf(
					"%s sets %d for %s; nothing sets more than the default %d for %s, and a bridge does not pass its MTU to its ports.",
					m.Source,
					m.N,
					b.name,
					defaultMTU,
					p.name,
				))
		}
	}
	return nil
}

// conflictingPorts finds ports that are configured with different MTUs where the bridge has none.
func (s *survey) conflictingPorts(b *bridge) []fault {
	var first *brPort
	var had int
	for _, p := range b.ports {
		want, src := s.want(p)
		if want == 0 {
			continue
		}
		if first == nil {
			first, had = p, want
		} else if want != had {
			return alone(trap.Warning, fmt.Sprintf("the configuration gives the ports %s and %s different MTUs", first.name, p.name),
				fmt.Sprintf("%d and %d (%s): the bridge uses the smallest, and drops larger packets.", had, want, src))
		}
	}
	return nil
}
