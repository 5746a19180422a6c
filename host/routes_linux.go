package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/netdump"
	"fettle/internal/octets"
)

// readRoutes6 asks rtnetlink for the IPv6 routes of all tables and writes them
// as `ip -j -6 route show table all` would.
func readRoutes6(ctx context.Context) ([]byte, error) {
	links, err := ipv6Links(ctx)
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.index] = l.name
	}
	return readRoutes(ctx, netlink.FAMILY_V6, names)
}

// readRoutes4 is the same of IPv4.
func readRoutes4(ctx context.Context) ([]byte, error) {
	names, err := linkNames(ctx)
	if err != nil {
		return nil, err
	}
	return readRoutes(ctx, netlink.FAMILY_V4, names)
}

// linkNames are the names of this network namespace's links, by their index.
func linkNames(ctx context.Context) (map[int]string, error) {
	links, err := netdump.Links(ctx)
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = octets.Text(l.Attrs().Name)
	}
	return names, nil
}

func readRoutes(ctx context.Context, family int, names map[int]string) ([]byte, error) {
	routes, err := netdump.Whole(ctx, func() ([]netlink.Route, error) {
		// RTA_TABLE 0 as filter is "all tables", netlink.RouteListFiltered.
		return netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return nil, fmt.Errorf("listing routes over netlink: %w", err)
	}
	out := make([]Route, 0, len(routes))
	for _, r := range routes {
		v := Route{Dev: names[r.LinkIndex], Metric: r.Priority, Protocol: r.Protocol.String(), Dst: "default"}
		if r.Dst != nil {
			if ones, _ := r.Dst.Mask.Size(); ones > 0 || !r.Dst.IP.IsUnspecified() {
				v.Dst = r.Dst.String()
			}
		}
		if r.Gw != nil {
			v.Gateway = r.Gw.String()
		}
		switch r.Table {
		case unix.RT_TABLE_MAIN:
		case unix.RT_TABLE_LOCAL:
			v.Table = "local"
		default:
			v.Table = fmt.Sprint(r.Table)
		}
		v.Type = routeTypes[r.Type]
		out = append(out, v)
	}
	return json.Marshal(out)
}

var routeTypes = map[int]string{unix.RTN_LOCAL: "local", unix.RTN_ANYCAST: "anycast", unix.RTN_MULTICAST: "multicast",
	unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit", unix.RTN_BROADCAST: "broadcast"}
