package bridgemtu

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/netconf"
	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// defaultMTU is what an Ethernet device has when nobody sets one
// (ETH_DATA_LEN, include/uapi/linux/if_ether.h).
const defaultMTU = 1500

// survey is all that is known of a host's bridges.
type survey struct {
	cfg      *netconf.Config
	linksErr error // why running state is not known
	links    map[string]host.Link
	bridges  []*bridge
}

// bridge is one bridge, running, configured or both.
type bridge struct {
	name    string
	present bool // running; mtu and addrs are facts
	mtu     int
	addrs   []host.Addr
	conf    netconf.Iface
	engine  string // the program that makes bridges of this name
	ports   []*brPort
}

// brPort is one port of a bridge.
type brPort struct {
	name    string
	present bool
	mtu     int
	parent  string // the lower device of a VLAN
	uplink  bool   // leads out of the host
	device  bool   // hardware, whose MTU at boot is the default
	conf    netconf.Iface
}

// look gathers everything the check and the plan need.
func look(ctx context.Context, h *host.Host) *survey {
	s := &survey{links: map[string]host.Link{}}
	s.cfg, _ = netconf.Read(ctx, h)
	links, err := h.Links(ctx)
	s.linksErr = err
	for _, l := range links {
		s.links[l.Name] = l
	}
	for _, l := range links {
		if l.Info.Kind == "bridge" {
			s.bridges = append(s.bridges, s.bridge(l.Name))
		}
	}
	for _, n := range s.cfg.Names() {
		if _, running := s.links[n]; !running && s.cfg.Iface(n).Kind == "bridge" {
			s.bridges = append(s.bridges, s.bridge(n))
		}
	}
	sorted.By(s.bridges, func(a, b *bridge) int { return strings.Compare(a.name, b.name) })
	return s
}

func (s *survey) bridge(name string) *bridge {
	l, present := s.links[name]
	b := &bridge{name: name, present: present, mtu: l.MTU, addrs: l.Addrs, conf: s.cfg.Iface(name), engine: engine(name)}
	var names []string
	for _, p := range s.links {
		if p.Master == name {
			names = append(names, p.Name)
		}
	}
	for _, p := range b.conf.Ports {
		names = append(names, p.Value)
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		b.ports = append(b.ports, s.port(n))
	}
	return b
}

func (s *survey) port(name string) *brPort {
	l, present := s.links[name]
	p := &brPort{name: name, present: present, mtu: l.MTU, parent: l.Parent, conf: s.cfg.Iface(name)}
	if present {
		p.device = l.Info.Kind == ""
		switch l.Info.Kind {
		case "", "vlan", "bond", "team", "vxlan", "gretap", "ip6gretap", "geneve", "macvlan", "wireguard", "batadv":
			p.uplink = true
		}
		if l.Info.Kind != "vlan" && l.Info.Kind != "macvlan" {
			p.parent = "" // of a veth, "link" is its peer
		}
		return p
	}
	if p.conf.Parent != nil {
		p.parent = p.conf.Parent.Value
	}
	p.device = p.conf.Kind == "" && !madeName().MatchString(name)
	p.uplink = p.device || p.conf.Kind == "vlan" || p.conf.Kind == "bond"
	return p
}

// madeName fits the names that programs give to the ports they make.
var madeName = lazy.Regexp(`^(tap|tun|vnet|veth|macvtap|lxc|vif|fwpr|fwln|dummy|vxlan|gretap|cali|qvb|qvo)`)

var engines = []struct {
	names func() *regexp.Regexp
	by    string
}{
	{lazy.Regexp(`^virbr\d+$`), "libvirt"},
	{lazy.Regexp(`^(docker0|docker_gwbridge|br-[0-9a-f]{12})$`), "docker"},
	{lazy.Regexp(`^(cni0|cni-podman\d+|podman\d+|lxcbr\d+|lxdbr\d+|incusbr\d+|nerdctl\d+)$`), "a container engine"},
}

func engine(name string) string {
	for _, e := range engines {
		if e.names().MatchString(name) {
			return e.by
		}
	}
	return ""
}

// want is the MTU that the configuration gives a port; 0 when it says
// nothing. A VLAN without one takes that of its lower device (vlan_dev_init
// and register_vlan_dev, net/8021q).
func (s *survey) want(p *brPort) (mtu int, src string) {
	i := p.conf
	for range 3 {
		if i.MTU != nil {
			return i.MTU.N, i.MTU.Source.String()
		}
		if i.Parent == nil {
			break
		}
		i = s.cfg.Iface(i.Parent.Value)
	}
	return 0, ""
}

// least is the least MTU of the running ports for which ok holds; 0 for none.
func (b *bridge) least(ok func(*brPort) bool) (mtu int, who *brPort) {
	for _, p := range b.ports {
		if p.present && ok(p) && (mtu == 0 || p.mtu < mtu) {
			mtu, who = p.mtu, p
		}
	}
	return mtu, who
}

func anyPort(*brPort) bool    { return true }
func isUplink(p *brPort) bool { return p.uplink }

// maxEvidence is how many ports are listed: a busy bridge has hundreds.
const maxEvidence = 8

func (b *bridge) evidence() []trap.Evidence {
	var out []trap.Evidence
	if b.present {
		out = append(out, trap.Ev("link "+b.name, "mtu %d", b.mtu))
	}
	if m := b.conf.MTU; m != nil {
		out = append(out, trap.Ev(m.Source.String(), "%s", m.Text))
	}
	n := 0
	for _, odd := range []bool{true, false} { // those that differ first
		for _, p := range b.ports {
			if p.present && (p.mtu != b.mtu) == odd {
				if n++; n <= maxEvidence {
					out = append(out, trap.Ev("link "+p.name, "mtu %d, port of %s", p.mtu, b.name))
				}
			}
		}
	}
	if n > maxEvidence {
		out = append(out, trap.Ev("link "+b.name, "%d more ports", n-maxEvidence))
	}
	for _, p := range b.ports {
		if m := p.conf.MTU; m != nil && (b.conf.MTU == nil || m.Source != b.conf.MTU.Source) {
			out = append(out, trap.Ev(m.Source.String(), "%s: %s", p.name, m.Text))
		}
	}
	return out
}

// list writes ports with their MTUs: "eth0 (1500), tap1 (9000)".
func list(ports []*brPort) string {
	var out []string
	for k, p := range ports {
		if k == maxEvidence {
			out = append(out, fmt.Sprintf("%d more", len(ports)-k))
			break
		}
		out = append(out, fmt.Sprintf("%s (%d)", p.name, p.mtu))
	}
	return strings.Join(out, ", ")
}
