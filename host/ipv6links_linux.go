package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"fettle/internal/netdump"
	"fettle/internal/octets"
)

// ipv6Link is what the kernel tells of IPv6 on a link.
type ipv6Link struct {
	index int
	name  string
	conf  *IPv6Conf // nil where the kernel has no IPv6
}

// ipv6Links asks for the links of the family IPv6 (net/ipv6/addrconf.c,
// inet6_dump_ifinfo), which leaves out links without IPv6. A kernel that has
// none at all lists all links, without parameters.
func ipv6Links(ctx context.Context) ([]ipv6Link, error) {
	const skipStats = 1 << 3 // RTEXT_FILTER_SKIP_STATS, include/uapi/linux/rtnetlink.h, since Linux 4.6
	msgs, err := netdump.Whole(ctx, func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
		req.AddData(nl.NewIfInfomsg(unix.AF_INET6))
		req.AddData(nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)))
		return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	})
	if err != nil {
		return nil, fmt.Errorf("listing links with IPv6 over netlink: %w", err)
	}
	var out []ipv6Link
	for _, m := range msgs {
		if len(m) < unix.SizeofIfInfomsg {
			continue
		}
		attrs := m[unix.SizeofIfInfomsg:]
		name, _, _ := bytes.Cut(within(attrs, unix.IFLA_IFNAME), []byte{0})
		out = append(out, ipv6Link{int(nl.DeserializeIfInfomsg(m).Index), octets.Text(string(name)), parseIPv6Conf(attrs)})
	}
	return out, nil
}

// parseIPv6Conf finds IFLA_INET6_CONF among a link's attributes: numbers of 32
// bits in the order of the DEVCONF_ constants (include/uapi/linux/ipv6.h), which
// only grow at their end.
func parseIPv6Conf(attrs []byte) *IPv6Conf {
	conf := within(within(attrs, unix.IFLA_PROTINFO), unix.IFLA_INET6_CONF)
	const forwarding, acceptRA, autoconf, acceptRADefaultRtr, disabled = 0, 3, 5, 17, 26
	if len(conf) < 4*(disabled+1) {
		return nil
	}
	at := func(i int) int { return int(int32(binary.NativeEndian.Uint32(conf[4*i:]))) }
	return &IPv6Conf{Forwarding: at(forwarding), AcceptRA: at(acceptRA), AcceptRADefaultRtr: at(acceptRADefaultRtr),
		Autoconf: at(autoconf), Disabled: at(disabled)}
}

// within is the value of the first attribute of that type; nil without one.
func within(attrs []byte, kind uint16) []byte {
	list, err := nl.ParseRouteAttr(attrs)
	if err != nil {
		return nil
	}
	for _, a := range list {
		if a.Attr.Type&^unix.NLA_F_NESTED == kind {
			return a.Value
		}
	}
	return nil
}
