package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/netdump"
	"fettle/internal/octets"
)

// readRules asks rtnetlink for the policy rules of both families.
func readRules(ctx context.Context) ([]byte, error) {
	out := []PolicyRule{}
	for family, name := range map[int]string{netlink.FAMILY_V4: "inet", netlink.FAMILY_V6: "inet6"} {
		rules, err := netdump.Whole(ctx, func() ([]netlink.Rule, error) { return netlink.RuleList(family) })
		if err != nil {
			return nil, fmt.Errorf("listing rules over netlink: %w", err)
		}
		for _, r := range rules {
			v := PolicyRule{Family: name, Priority: r.Priority, Src: prefix(r.Src), Dst: prefix(r.Dst), Iif: octets.Text(r.IifName),
				Oif: octets.Text(r.OifName), Table: tableName(r.Table), Protocol: netlink.RouteProtocol(r.Protocol).String()}
			if r.Mark != 0 {
				v.Mark = fmt.Sprintf("0x%x", r.Mark)
			}
			out = append(out, v)
		}
	}
	return json.Marshal(out)
}

func prefix(n *net.IPNet) string {
	if n == nil || n.IP == nil {
		return "all"
	}
	return n.String()
}

func tableName(n int) string {
	switch n {
	case unix.RT_TABLE_LOCAL:
		return "local"
	case unix.RT_TABLE_MAIN:
		return "main"
	case unix.RT_TABLE_DEFAULT:
		return "default"
	}
	return fmt.Sprint(n)
}

// readNeighbours asks rtnetlink for the neighbours that do not expire.
func readNeighbours(ctx context.Context) ([]byte, error) {
	names, err := linkNames(ctx)
	if err != nil {
		return nil, err
	}
	all, err := netdump.Whole(ctx, func() ([]netlink.Neigh, error) { return netlink.NeighList(0, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("listing neighbours over netlink: %w", err)
	}
	out := []Neighbour{}
	for _, n := range all {
		// A bridge's forwarding entries come in the same dump (family AF_BRIDGE), without an IP address.
		if n.State&netlink.NUD_PERMANENT == 0 || n.Flags&netlink.NTF_EXT_LEARNED != 0 || n.IP == nil || n.Family == unix.AF_BRIDGE {
			continue
		}
		out = append(out, Neighbour{Dst: n.IP.String(), Dev: names[n.LinkIndex], LLAddr: n.HardwareAddr.String()})
	}
	return json.Marshal(out)
}
