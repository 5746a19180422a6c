package step

import (
	"context"
	"fmt"
	"strconv"

	"fettle/engine/remedy/machine"
	"fettle/internal/octets"
	"fettle/internal/shell"
)

// LinkMTU sets the MTU of a network link over netlink.
type LinkMTU struct {
	Link string `json:"link"` // as octets.Text writes it
	MTU  int    `json:"mtu"`  // bytes
	// Bridge: the link is a bridge, which a set MTU pins for good.
	Bridge bool `json:"bridge,omitempty"`
}

func (LinkMTU) Kind() string { return "link-mtu" }

func (s LinkMTU) Describe() string {
	return fmt.Sprintf("set the running MTU of %s to %d bytes", s.Link, s.MTU)
}

func (s LinkMTU) Reversal() Reversal {
	switch {
	case s.Bridge:
		// br_change_mtu() in net/bridge/br_device.c (since Linux 4.17) sets
		// BROPT_MTU_SET_BY_USER, and nothing clears it.
		return Reversal{Invertible, "the MTU is restored; the bridge no longer follows its ports until it is created again"}
	case s.MTU < 1280:
		// addrconf_notify() in net/ipv6/addrconf.c, NETDEV_CHANGEMTU: below
		// IPV6_MIN_MTU IPv6 is taken down on the link.
		return Reversal{Invertible, "the MTU is restored; IPv6 is restarted on " + s.Link + ", without what was set by hand"}
	}
	return Reversal{Class: Restorable}
}

func (LinkMTU) Running() bool { return true }

func (s LinkMTU) Commands() [][]string {
	return [][]string{{"ip", "link", "set", "dev", octets.Name(s.Link), "mtu", strconv.Itoa(s.MTU)}}
}

// Items: the link, and those whose MTU follows it: the master it is a port
// of, and the VLANs and macvlans above it or above the master, which the
// kernel clamps and does not let grow back (vlan_device_event(),
// net/8021q/vlan.c).
func (s LinkMTU) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	ls, err := m.Links()
	if err != nil {
		return nil, err
	}
	item := func(l machine.Link, sideEffect bool) Item {
		return Item{Kind: MTUItem, Path: l.Name, Value: strconv.Itoa(l.MTU), Index: l.Index, SideEffect: sideEffect}
	}
	var out []Item
	reached := map[int]bool{}
	for _, l := range ls {
		if l.Name == s.Link {
			out = append(out, item(l, false))
			reached[l.Index] = true
		}
	}
	if len(out) == 0 {
		return nil, &machine.Changed{Path: "link " + s.Link, Why: "does not exist"}
	}
	for i := 0; i < len(out); i++ {
		var at machine.Link
		for _, l := range ls {
			if l.Index == out[i].Index {
				at = l
			}
		}
		for _, l := range ls {
			if !reached[l.Index] && (l.Index == at.Master || l.Parent == at.Index) {
				reached[l.Index] = true
				out = append(out, item(l, true))
			}
		}
	}
	return out, nil
}

func (s LinkMTU) Apply(ctx context.Context, st *Site, before []Item) error {
	now, err := ReadItem(ctx, st.Machine, before[0])
	if err != nil {
		return err
	}
	if now.Gone {
		return &machine.Changed{Path: "link " + s.Link, Why: "disappeared or was created again a moment ago"}
	}
	return st.Machine.SetMTU(now.Index, s.MTU)
}

func (s LinkMTU) Done(_ context.Context, _ machine.Machine, _, now []Item) (bool, error) {
	return !now[0].Gone && now[0].Value == strconv.Itoa(s.MTU), nil
}

func (s LinkMTU) Between(_, now Item) bool {
	return now.Value == strconv.Itoa(s.MTU)
}

func (LinkMTU) Keeps() (first, rest string) { return MTUItem, MTUItem }

func (s LinkMTU) Shell(string) (string, error) {
	q := shell.Quote(octets.Name(s.Link))
	// Into a variable first: set -e does not see a command that fails within
	// the arguments of another.
	return fmt.Sprintf(
		"old=$(cat -- %s)\nundo ip link set dev %s mtu \"$old\"\n%s",
		shell.Quote("/sys/class/net/"+octets.Name(s.Link)+"/mtu"),
		q,
		ShellCommands(s),
	), nil
}

func (s LinkMTU) Ansible(b *Tasks) error { return b.Commands(s) }
