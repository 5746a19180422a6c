package machine

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

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
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_ICMPV6)
	if err != nil {
		return fmt.Errorf("opening an ICMPv6 socket: %w", err)
	}
	defer unix.Close(fd)
	for _, set := range []struct{ option, value int }{
		{unix.IPV6_MULTICAST_IF, ifi.Index}, {unix.IPV6_MULTICAST_HOPS, 255}, {unix.IPV6_MULTICAST_LOOP, 0},
	} {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, set.option, set.value); err != nil {
			return fmt.Errorf("preparing a router solicitation on %q: %w", link, err)
		}
	}
	message := [8]byte{133} // its type; code, checksum and four reserved bytes are 0
	to := &unix.SockaddrInet6{ZoneId: uint32(ifi.Index), Addr: [16]byte(net.IPv6linklocalallrouters)}
	if err := unix.Sendto(fd, message[:], 0, to); err != nil {
		return fmt.Errorf("sending a router solicitation on %q: %w", link, err)
	}
	return nil
}
