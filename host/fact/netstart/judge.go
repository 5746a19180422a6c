package netstart

import (
	"context"
	"net/netip"
	"slices"

	"fettle/host"
	"fettle/host/format/netconf"
	"fettle/internal/lazy"
)

// ofDaemons are the names that programs give to links which they make again when they start:
// containers, virtual machines, VPNs, overlay networks.
var ofDaemons = lazy.Regexp(`^(?:docker\d+|docker_gwbridge|br-[0-9a-f]{12}|virbr\d+(?:-nic)?|vnet\d+|veth[0-9a-f]{6,}.*|vb-.*|ve-.*|` +
	`vz-.*|tap.*|tun.*|cni.*|flannel.*|cali.*|vxlan\.calico|cilium.*|lxc.*|lxdbr\d+|incusbr\d+|podman\d+|nerdctl\d+|kube-.*|nodelocaldns|` +
	`weave|tailscale\d+|zt.*|wt\d+|ppp\d+|ovs-.*|fwbr.*|fwpr.*|fwln.*|vmbr\d+v\d+|brq[0-9a-f-]{11}|qbr.*|qv[bo].*|genev_sys.*|vxlan_sys.*)$`)

// fallbacks are links that modules make by themselves when they are loaded.
var fallbacks = []string{"bond0", "dummy0", "sit0", "tunl0", "gre0", "gretap0", "erspan0", "ip6tnl0", "ip6gre0", "ip_vti0", "ip6_vti0",
	"ifb0", "ifb1"}

// makers are programs that make links, addresses and routes by what their own databases say.
var makers = []string{"dockerd", "containerd", "libvirtd", "virtnetworkd", "lxd", "incusd", "kubelet", "k3s-server", "k3s-agent",
	"cilium-agent", "calico-node", "flanneld", "tailscaled", "netbird", "zerotier-one", "openvpn", "charon", "charon-systemd", "keepalived"}

// OfDaemon reports whether a program makes the link, and what it has, again when it starts. Proxmox makes a VLAN for its bridge
// vmbr0v10, too (pve-common, src/PVE/Network.pm, activate_bridge_vlan).
func OfDaemon(l host.Link) bool {
	return ofDaemons().MatchString(l.Name) || l.Info.Kind == "vlan" && ofDaemons().MatchString(l.Master) ||
		l.Info.Kind == "tun" || slices.Contains([]string{"ppp", "slip"}, l.LinkType)
}

// Maker names a running program that may have made a link without any file that is read here.
func (s *Start) Maker() string {
	for _, m := range makers {
		if s.runs[m] {
			return m
		}
	}
	return ""
}

// NamedLink is the file that names the link; empty if none does.
func (s *Start) NamedLink(name string) string {
	if f := s.words[name]; f != "" {
		return f
	}
	if i := s.conf.Iface(name); len(i.Claims) > 0 && i.Kind != "" || slices.Contains(s.conf.Names(), name) {
		return "network configuration"
	}
	return ""
}

// byKernel are kinds of links that somebody has to ask the kernel for.
var byKernel = []string{"bridge", "vlan", "dummy", "bond", "vxlan", "geneve", "wireguard", "veth", "macvlan", "ipvlan", "gre", "gretap",
	"ipip", "sit", "ip6tnl", "ip6gre", "vti", "vrf", "team"}

// LinkByHand reports whether a link exists only because somebody made it by hand.
func (s *Start) LinkByHand(l host.Link) bool {
	switch {
	case !slices.Contains(byKernel, l.Info.Kind), OfDaemon(l), slices.Contains(fallbacks, l.Name), s.NamedLink(l.Name) != "":
		return false
	case l.Info.Kind == "veth" && !s.bothEnds(l):
		return false // the other end is in a container, or this is one
	}
	return l.Has("UP") || len(l.Addrs) > 0
}

func (s *Start) bothEnds(l host.Link) bool {
	for _, o := range s.Links {
		if o.Name == l.Parent && o.Parent == l.Name && o.Info.Kind == "veth" {
			return true
		}
	}
	return false
}

// AddressByHand reports whether an address of a link is named by no configuration.
func (s *Start) AddressByHand(l host.Link, a host.Addr) bool {
	ip, err := netip.ParseAddr(a.Local)
	switch {
	case err != nil, a.Dynamic, a.Scope != "global", ip.IsLoopback(), ip.IsLinkLocalUnicast(), OfDaemon(l), s.quick[l.Name], s.addrs[ip] != "":
		return false
	case a.Family == "inet6" && a.PrefixLen == 64 && s.ra[l.Name]:
		return false // by a router that gives addresses forever
	case s.asks(l) && !s.dynamic(l, a.Family) && first4(l, a):
		return false // a lease forever, or a client that does not tell the kernel how long
	}
	return true
}

// dynamic reports whether a link has an address with a lifetime.
func (s *Start) dynamic(l host.Link, family string) bool {
	return slices.ContainsFunc(l.Addrs, func(a host.Addr) bool { return a.Family == family && a.Dynamic })
}

// first4 reports whether a is the first address of its family on the link.
func first4(l host.Link, a host.Addr) bool {
	i := slices.IndexFunc(l.Addrs, func(o host.Addr) bool { return o.Family == a.Family && o.Scope == "global" })
	return i >= 0 && l.Addrs[i].Local == a.Local
}

// Has reports whether a link has the address, and whether by hand.
func (s *Start) Has(ip netip.Addr) (there, byHand bool) {
	for _, l := range s.Links {
		for _, a := range l.Addrs {
			if a.Local == ip.String() {
				return true, s.LinkByHand(l) || s.AddressByHand(l, a)
			}
		}
	}
	return false, false
}

// Names reports whether a file names the address.
func (s *Start) Names(ip netip.Addr) bool { return s.addrs[ip] != "" }

// RouteByHand reports whether a route of the main table is named by no configuration.
func (s *Start) RouteByHand(r host.Route) bool {
	if r.Protocol != "boot" && r.Protocol != "static" || r.Table != "" || r.Type != "" && r.Type != "blackhole" && r.Type != "unreachable" &&
		r.Type != "prohibit" {
		return false
	}
	for _, l := range s.Links {
		if l.Name == r.Dev && (OfDaemon(l) || s.LinkByHand(l) || l.Info.Kind == "wireguard") {
			return false // it comes and goes with its link
		}
	}
	if r.Dst == "default" {
		gw, err := netip.ParseAddr(r.Gateway)
		return err == nil && s.addrs[gw] == "" && !s.asks(s.device(r.Dev))
	}
	p, err := netip.ParsePrefix(r.Dst)
	if err != nil {
		return false
	}
	return s.nets[p.Masked()] == "" && s.addrs[p.Addr()] == ""
}

// rulesIn are words by which configurations begin rules: of scripts and ifupdown (ip rule add), systemd.network(5),
// netplan(5), nm-settings-keyfile(5).
var rulesIn = []string{"rule", "RoutingPolicyRule", "routing-policy", "routing-rule1"}

// RuleByHand reports whether a policy rule was added with ip(8), and no configuration names its addresses, or its table
// or mark beside a rule. ip(8) gives no protocol (iproute2 6.1) or boot, as some managers do; wg-quick's rules come and go
// with its links.
func (s *Start) RuleByHand(r host.PolicyRule) bool {
	if r.Protocol != "boot" && r.Protocol != "unspec" {
		return false
	}
	for _, l := range s.Links {
		if l.Info.Kind == "wireguard" || OfDaemon(l) && (l.Name == r.Iif || l.Name == r.Oif) {
			return false
		}
	}
	for _, text := range []string{r.Src, r.Dst} {
		if p, err := netip.ParsePrefix(text); err == nil && (s.nets[p.Masked()] != "" || s.addrs[p.Addr()] != "") {
			return false
		}
	}
	named := slices.ContainsFunc(rulesIn, func(w string) bool { return s.words[w] != "" })
	return !named || s.words[r.Table] == "" && (r.Mark == "" || s.words[r.Mark] == "")
}

// NeighbourByHand reports whether no configuration names a permanent neighbour.
func (s *Start) NeighbourByHand(n host.Neighbour) bool {
	ip, err := netip.ParseAddr(n.Dst)
	if err != nil || ip.IsMulticast() || ip.IsLoopback() || s.addrs[ip] != "" || s.words[n.LLAddr] != "" {
		return false
	}
	for _, l := range s.Links {
		if l.Name == n.Dev {
			return !OfDaemon(l) && !s.LinkByHand(l) && l.Info.Kind != "wireguard"
		}
	}
	return false
}

// Manager is the program that sets up a link, or else the only one that runs; empty if neither
// is known.
func (s *Start) Manager(dev string) string {
	if i := s.conf.Iface(dev); i.Manager != "" {
		return string(i.Manager)
	}
	var active []string
	for _, m := range managers {
		if s.conf.Active(m) {
			active = append(active, string(m))
		}
	}
	if len(active) == 1 {
		return active[0]
	}
	return ""
}

// Carries is the program that carries out the configuration of a link, netplan's too; empty if it is not known.
func (s *Start) Carries(dev string) netconf.Manager {
	if m := s.conf.Iface(dev).Carrier(); m != "" {
		return m
	}
	return netconf.Manager(s.Manager(dev))
}

// BindsFreely tells whether programs may bind to addresses of a family that are not there
// (ip-sysctl.rst, ip_nonlocal_bind).
func BindsFreely(ctx context.Context, h *host.Host, ip netip.Addr) (bool, error) {
	family := "ipv6"
	if ip.Is4() {
		family = "ipv4"
	}
	v, err := h.ReadString(ctx, "/proc/sys/net/"+family+"/ip_nonlocal_bind")
	if err != nil && !host.IsAbsent(err) {
		return false, err
	}
	return v == "1", nil
}

// Unnamed are the Ethernet devices that no configuration is about.
func (s *Start) Unnamed() []host.Link {
	var out []host.Link
	for _, l := range s.Links {
		if i := s.conf.Iface(l.Name); netconf.IsDevice(l) && len(i.Claims) == 0 && len(i.Unsure) == 0 && s.words[l.Name] == "" {
			out = append(out, l)
		}
	}
	return out
}
