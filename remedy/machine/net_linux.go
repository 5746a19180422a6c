package machine

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv6"

	"fettle/internal/netdump"
	"fettle/internal/octets"
)

func (Linux) Links() ([]Link, error) {
	ls, err := netdump.Links(context.Background())
	if err != nil {
		return nil, err
	}
	out := make([]Link, len(ls))
	for i, l := range ls {
		a := l.Attrs()
		out[i] = Link{Name: octets.Text(a.Name), Index: a.Index, MTU: a.MTU, Master: a.MasterIndex, Parent: a.ParentIndex}
		if l.Type() == "veth" {
			out[i].Parent = 0 // a peer, which does not follow
		}
	}
	return out, nil
}

func (Linux) SetMTU(index, mtu int) error {
	err := netlink.LinkSetMTU(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}}, mtu)
	if err != nil {
		return fmt.Errorf("setting the MTU of link %d to %d over netlink: %w", index, mtu, err)
	}
	return nil
}

// Solicit sends one router solicitation to ff02::2 with hop limit 255
// (RFC 4861 §4.1, §6.3.7). The source link-layer address option may be
// left out; the kernel computes the checksum of ICMPv6 sockets (RFC 3542 §3.1).
func (Linux) Solicit(ctx context.Context, link string) error {
	link = octets.Name(link)
	ifi, err := net.InterfaceByName(link)
	if err != nil {
		return fmt.Errorf("looking up link %q: %w", link, err)
	}
	lc := net.ListenConfig{}
	c, err := lc.ListenPacket(ctx, "ip6:ipv6-icmp", "::")
	if err != nil {
		return fmt.Errorf("opening an ICMPv6 socket: %w", err)
	}
	defer c.Close()
	p := ipv6.NewPacketConn(c)
	for _, set := range []func() error{
		func() error { return p.SetMulticastInterface(ifi) },
		func() error { return p.SetMulticastHopLimit(255) },
		func() error { return p.SetMulticastLoopback(false) },
		func() error { return p.SetWriteDeadline(time.Now().Add(5 * time.Second)) },
	} {
		if err := set(); err != nil {
			return fmt.Errorf("preparing a router solicitation on %q: %w", link, err)
		}
	}
	b, err := (&icmp.Message{Type: ipv6.ICMPTypeRouterSolicitation, Body: &icmp.RawBody{Data: make([]byte, 4)}}).Marshal(nil)
	if err != nil {
		return err
	}
	dst := &net.IPAddr{IP: net.IPv6linklocalallrouters, Zone: link}
	if _, err := p.WriteTo(b, &ipv6.ControlMessage{IfIndex: ifi.Index, HopLimit: 255}, dst); err != nil {
		return fmt.Errorf("sending a router solicitation on %q: %w", link, err)
	}
	return nil
}
