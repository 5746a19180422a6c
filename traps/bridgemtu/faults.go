package bridgemtu

import (
	"fmt"
	"slices"

	"fettle/engine/trap"
)

// fault is one thing that is wrong with a bridge.
type fault struct {
	severity        trap.Severity
	summary, detail string
}

// faults lists what is wrong with b: running, then configured.
func (s *survey) faults(b *bridge) []fault {
	var out []fault
	if b.present {
		out = append(out, s.running(b)...)
	}
	return append(out, s.configured(b)...)
}

// running compares the running MTUs with the configuration and each other.
func (s *survey) running(b *bridge) []fault {
	least, _ := b.least(anyPort)
	up, uplink := b.least(isUplink)
	m := b.conf.MTU
	switch {
	case m != nil && b.mtu != m.N && least == 0 && b.mtu == defaultMTU:
		return []fault{{trap.Warning, fmt.Sprintf("the bridge does not have the configured MTU %d", m.N),
			fmt.Sprintf("%s has %d, the default of a bridge whose last port was removed. %s says %d.", b.name, b.mtu, m.Source, m.N)}}
	case m != nil && b.mtu != m.N && b.mtu == least:
		return []fault{{trap.Warning, fmt.Sprintf("the bridge does not have the configured MTU %d: its ports set it", m.N),
			fmt.Sprintf("%s has %d, the smallest MTU of its ports %s; %s says %d.", b.name, b.mtu, list(b.like(b.mtu)), m.Source, m.N)}}
	case m != nil && b.mtu != m.N:
		return []fault{{trap.Warning, fmt.Sprintf("the bridge does not have the configured MTU %d", m.N),
			fmt.Sprintf(
				"%s has %d, which is not the value of its ports either, so it was set by hand. %s says %d.",
				b.name,
				b.mtu,
				m.Source,
				m.N,
			)}}
	case up > 0 && b.mtu > up:
		return []fault{{trap.Warning, "the bridge's MTU exceeds that of its uplink " + uplink.name + ": larger packets are dropped",
			fmt.Sprintf(
				"%s has %d, %s %d: larger packets are dropped silently, because a bridge does not fragment.",
				b.name,
				b.mtu,
				uplink.name,
				up,
			)}}
	case m == nil && up > 0 && b.mtu < up && b.mtu == least:
		return []fault{{trap.Warning, "a local port makes the bridge's MTU smaller than that of its uplink " + uplink.name,
			fmt.Sprintf("%s has %d because of %s; %s carries %d.", b.name, b.mtu, list(b.like(b.mtu)), uplink.name, up)}}
	}
	if odd := b.odd(); len(odd) > 0 {
		return []fault{{trap.Notice, "the bridge's ports have different MTUs: packets too large for a port are dropped there",
			fmt.Sprintf(
				"%s has %d; these differ: %s. A bridge without a pinned MTU takes the smallest of its ports, and changes when that port goes.",
				b.name,
				b.mtu,
				list(odd),
			)}}
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
			return []fault{{trap.Warning, fmt.Sprintf("the configuration gives the bridge the MTU %d, but its port %s %d", m.N, p.name, want),
				fmt.Sprintf(
					"%s says %d for %s, %s says %d for %s; at the next boot, the order in which they come up decides.",
					m.Source,
					m.N,
					b.name,
					src,
					want,
					p.name,
				)}}
		case want == 0 && p.device && m.N > defaultMTU && b.conf.Manager != "" && !(p.present && p.mtu >= m.N):
			// A driver may come up with more than the default by itself, as
			// some cloud drivers do: without the running link this is a guess.
			severity := trap.Warning
			if !p.present {
				severity = trap.Notice
			}
			return []fault{{severity, fmt.Sprintf("the configuration gives the bridge the MTU %d, but none to its port %s", m.N, p.name),
				fmt.Sprintf(
					"%s sets %d for %s; nothing sets more than the default %d for %s, and a bridge does not pass its MTU to its ports.",
					m.Source,
					m.N,
					b.name,
					defaultMTU,
					p.name,
				)}}
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
			return []fault{{trap.Warning, fmt.Sprintf("the configuration gives the ports %s and %s different MTUs", first.name, p.name),
				fmt.Sprintf("%d and %d (%s): the bridge uses the smallest, and drops larger packets.", had, want, src)}}
		}
	}
	return nil
}
