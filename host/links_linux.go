package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/netdump"
	"fettle/internal/octets"
)

// readLinks asks rtnetlink for all links and addresses and writes them as
// `ip -j -d address show` would.
func readLinks(ctx context.Context) ([]byte, error) {
	links, err := netdump.Links(ctx)
	if err != nil {
		return nil, err
	}
	addrs, err := netdump.Whole(ctx, func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("listing addresses over netlink: %w", err)
	}
	ipv6, err := ipv6Links(ctx)
	if err != nil {
		return nil, err
	}
	names, kinds := map[int]string{}, map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = octets.Text(l.Attrs().Name)
		if t := l.Type(); t != "device" {
			kinds[l.Attrs().Index] = t
		}
	}
	confs := map[int]*IPv6Conf{}
	for _, l := range ipv6 {
		confs[l.index] = l.conf
	}
	of := map[int][]Addr{}
	for _, a := range addrs {
		of[a.LinkIndex] = append(of[a.LinkIndex], addrOf(a))
	}
	out := make([]Link, 0, len(links))
	for _, l := range links {
		a := l.Attrs()
		v := Link{Index: a.Index, Name: names[a.Index], MTU: a.MTU, Master: names[a.MasterIndex], Parent: names[a.ParentIndex],
			OperState: strings.ToUpper(a.OperState.String()), LinkType: linkType(a.EncapType),
			MAC: a.HardwareAddr.String(), Flags: linkFlags(a), Addrs: append([]Addr{}, of[a.Index]...), IPv6: confs[a.Index],
			// What a link is a port of is told by its master (net/core/rtnetlink.c, rtnl_link_slave_info_fill).
			Info: LinkInfo{Kind: kinds[a.Index], SlaveKind: kinds[a.MasterIndex], Data: linkData(l)}}
		for _, n := range a.AltNames {
			v.AltNames = append(v.AltNames, octets.Text(n))
		}
		out = append(out, v)
	}
	return json.Marshal(out)
}

// linkData is what checks ask of a kind of link, by the names that ip gives it.
// external: the tunnel's header comes from outside (Open vSwitch, eBPF), packet by packet.
func linkData(l netlink.Link) map[string]any {
	external := false
	switch l := l.(type) {
	case *netlink.Vlan:
		return map[string]any{"id": l.VlanId}
	case *netlink.Vxlan:
		external = l.FlowBased
	case *netlink.Geneve:
		external = l.FlowBased
	case *netlink.Gretun:
		external = l.FlowBased
	case *netlink.Gretap:
		external = l.FlowBased
	case *netlink.Iptun:
		external = l.FlowBased
	case *netlink.Ip6tnl:
		external = l.FlowBased
	}
	if external {
		return map[string]any{"external": true}
	}
	return nil
}

func linkType(encap string) string {
	if encap == "" || encap == "generic" {
		return "ether"
	}
	return encap
}

func linkFlags(a *netlink.LinkAttrs) []string {
	var out []string
	for _, f := range []struct {
		bit  uint32
		name string
	}{{unix.IFF_LOOPBACK, "LOOPBACK"}, {unix.IFF_BROADCAST, "BROADCAST"}, {unix.IFF_POINTOPOINT, "POINTOPOINT"},
		{unix.IFF_MULTICAST, "MULTICAST"}, {unix.IFF_NOARP, "NOARP"}, {unix.IFF_PROMISC, "PROMISC"},
		{unix.IFF_MASTER, "MASTER"}, {unix.IFF_SLAVE, "SLAVE"}, {unix.IFF_UP, "UP"}, {unix.IFF_LOWER_UP, "LOWER_UP"}} {
		if a.RawFlags&f.bit != 0 {
			out = append(out, f.name)
		}
	}
	if a.RawFlags&unix.IFF_UP != 0 && a.RawFlags&unix.IFF_RUNNING == 0 {
		out = append([]string{"NO-CARRIER"}, out...)
	}
	return out
}

func addrOf(a netlink.Addr) Addr {
	ones, _ := a.Mask.Size()
	v := Addr{Family: "inet", Local: a.IP.String(), PrefixLen: ones, Scope: strings.ToLower(netlink.Scope(a.Scope).String()),
		Valid: int64(uint32(a.ValidLft)), Preferred: int64(uint32(a.PreferedLft)), Dynamic: a.Flags&unix.IFA_F_PERMANENT == 0}
	if a.IP.To4() == nil {
		v.Family = "inet6"
	}
	if v.Scope == "universe" {
		v.Scope = "global"
	}
	return v
}
