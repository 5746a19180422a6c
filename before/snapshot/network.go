package snapshot

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fettle/engine/trap"
)

func (c *comparer) links() {
	for _, name := range keys(c.was.Links) {
		was := c.was.Links[name]
		now, there := c.now.Links[name]
		switch {
		case !there:
			c.lost(Links, trap.Warning, name, "is not there"+ofKind(was), persist)
			c.move(name)
			for _, a := range was.Addrs {
				c.with(Links, name, a)
			}
			continue
		case was.Up && !now.Up:
			c.lost(Links, trap.Warning, name, "is down; it was up", "ip link show "+name)
			c.move(name)
		case now.MTU != was.MTU:
			c.lost(Links, trap.Warning, name, fmt.Sprintf("has an MTU of %d; it was %d", now.MTU, was.MTU), persist)
		case now.Master != was.Master && was.Master != "" && c.now.Links[was.Master].Kind != "":
			c.lost(Links, trap.Warning, name, "is no port of "+was.Master+" any more", persist)
		}
		for _, a := range was.Addrs {
			if !slices.Contains(now.Addrs, a) && !c.elsewhere(a) {
				c.lost(Links, trap.Warning, a+" on "+name, "is gone: the address had been added by hand, or its configuration was removed", persist)
				c.move(name)
			}
		}
		for _, family := range was.Dynamic {
			if !slices.Contains(now.Dynamic, family) && !slices.ContainsFunc(now.Addrs, func(a string) bool { return isFamily(a, family) }) {
				c.lost(Links, trap.Warning, name, "has no "+spoken[family]+" address; it had one from the network", "journalctl -b -g dhcp")
			}
		}
	}
}

const persist = "the configuration of what sets up the network: ifupdown, netplan, networkd, NetworkManager"

var spoken = map[string]string{"inet": "IPv4", "inet6": "IPv6"}

func isFamily(addr, family string) bool {
	p, err := netip.ParsePrefix(addr)
	return err == nil && p.Addr().Is4() == (family == "inet")
}

func ofKind(l Link) string {
	if l.Kind == "" {
		return ": the device is gone, or has another name"
	}
	return ": the " + l.Kind + " had been made by hand, or its configuration was removed"
}

// elsewhere tells whether another link has the address now: devices get other names.
func (c *comparer) elsewhere(addr string) bool {
	for _, l := range c.now.Links {
		if slices.Contains(l.Addrs, addr) {
			return true
		}
	}
	return false
}

// move has routes that need a lost link or address told with it: routes are compared first,
// for the default route is worst.
func (c *comparer) move(link string) {
	var moved []string
	c.out = slices.DeleteFunc(c.out, func(d Difference) bool {
		needs := d.Area == Routes && d.Severity != trap.Critical && slices.Contains(strings.Fields(d.Subject), link)
		if needs {
			moved = append(moved, "the route to "+d.Subject)
		}
		return needs
	})
	d := &c.out[len(c.out)-1]
	d.With = append(d.With, moved...)
}

func (c *comparer) routes() {
	for _, family := range []string{"inet", "inet6"} {
		had, has := defaults(c.was.Routes, family), defaults(c.now.Routes, family)
		switch {
		case len(had) > 0 && len(has) == 0:
			c.lost(Routes, trap.Critical, spoken[family]+" default route", "is gone; it was "+had[0], persist)
		case len(had) > 0 && !slices.ContainsFunc(had, func(r string) bool { return slices.Contains(has, r) }):
			c.lost(Routes, trap.Notice, spoken[family]+" default route", "is "+has[0]+"; it was "+had[0], "")
		}
	}
	for i := range c.was.Routes {
		r := &c.was.Routes[i]
		if r.Dst == "default" && r.Table == "" || slices.ContainsFunc(c.now.Routes, func(o Route) bool {
			return o.Family == r.Family && o.Text() == r.Text()
		}) {
			continue
		}
		c.lost(Routes, trap.Warning, r.Text(), "is gone: the route had been added by hand, or its configuration was removed", persist)
	}
}

// defaults are the default routes of the main table.
func defaults(rs []Route, family string) (out []string) {
	for i := range rs {
		if r := &rs[i]; r.Family == family && r.Dst == "default" && r.Table == "" && r.Type == "" {
			out = append(out, r.Text())
		}
	}
	return out
}
