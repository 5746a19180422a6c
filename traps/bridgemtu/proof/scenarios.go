package proof

import (
	"slices"
	"time"

	"fettle/lab"
)

// needs is what every scenario's machine has.
var needs = lab.Needs{Modules: []string{"bridge", "veth"}, Tools: []string{"cat", "ping", "sh"}}

// probes are the MTUs in the trap, after the fix and after the undo, whether another
// port changes the bridge's (a bridge that was pinned stays so after the undo), and
// whether the bridge passes 1,400 bytes from one of its ports to the other.
func probes(trapped string) []lab.Probe {
	return []lab.Probe{
		{Name: "MTU of br0", Run: []string{"cat", "/sys/class/net/br0/mtu"}, Want: []string{trapped, "1500", trapped}},
		{Name: "MTU of its port", Run: []string{"cat", "/sys/class/net/port/mtu"}, Want: []string{trapped, "1500", trapped}},
		{Name: "MTU of br0 with a port of 1300", Run: []string{"sh", "-c", "ip link add more mtu 1300 type veth peer name yonder && " +
			"ip link set more master br0 && cat /sys/class/net/br0/mtu; ip link del more"}, Want: []string{"1300", "1500", trapped}},
		{
			Name:   "1,400 bytes through br0",
			Run:    []string{"ip", "netns", "exec", "a", "ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s", "1372", "192.0.2.2"},
			Find:   `(\d) received`,
			Want:   []string{"1", "1", "1"},
			Within: 5 * time.Second,
		},
	}
}

// ifupdown is a bridge that is configured to have the MTU 1500.
var ifupdown = lab.Act{Write: &lab.File{Path: "/etc/network/interfaces",
	Content: "auto br0\niface br0 inet manual\n    bridge_ports none\n    mtu 1500\n"}}

// port adds a veth to br0, with an MTU of its own.
func port(mtu string) []lab.Act {
	return []lab.Act{
		{Run: []string{"ip", "link", "add", "port", "mtu", mtu, "type", "veth", "peer", "name", "far", "mtu", mtu}},
		{Run: []string{"ip", "link", "set", "port", "master", "br0"}},
	}
}

// between has two namespaces behind br0: behind its port, and behind another.
func between(mtu string) []lab.Act {
	acts := []lab.Act{
		{Run: []string{"ip", "link", "add", "other", "mtu", mtu, "type", "veth", "peer", "name", "farther", "mtu", mtu}},
		{Run: []string{"ip", "link", "set", "other", "master", "br0"}},
		{Run: []string{"ip", "link", "set", "br0", "up"}},
	}
	for _, end := range []struct{ ns, far, port, address string }{{"a", "far", "port", "192.0.2.1/24"},
		{"b", "farther", "other", "192.0.2.2/24"}} {
		acts = append(acts,
			lab.Act{Run: []string{"ip", "netns", "add", end.ns}},
			lab.Act{Run: []string{"ip", "link", "set", end.far, "netns", end.ns}},
			lab.Act{Run: []string{"ip", "-n", end.ns, "address", "add", end.address, "dev", end.far}},
			lab.Act{Run: []string{"ip", "-n", end.ns, "link", "set", end.far, "up"}},
			lab.Act{Run: []string{"ip", "link", "set", end.port, "up"}})
	}
	return acts
}

// pinned is why a slip cannot be seen in a bridge that was fixed before.
const pinned = "the undo does not unpin the bridge; the sabotage ports-first is made in a machine of its own"

// portsFirst sets the bridge's MTU when its ports have brought it there: that pins nothing.
const portsFirst = "too late: set the running MTU of br0 to 1500 bytes"

var newBridge = lab.Act{Run: []string{"ip", "link", "add", "br0", "type", "bridge"}}

var Scenarios = []lab.Scenario{
	{
		Name: "port-raises-mtu", About: "A port of 8950 raises a bridge that is configured to have 1500",
		Needs: needs, Probes: probes("8950"), Subject: "br0",
		Harmless: map[string]string{portsFirst: pinned,
			"too late: set the running MTU of other to 1500 bytes": "one port is as good as the other"},
		Prepare: slices.Concat([]lab.Act{ifupdown, newBridge}, port("8950"), between("8950")),
	},
	{
		Name: "port-lowers-mtu", About: "A port of 1400 lowers a bridge that is configured to have 1500",
		Needs: needs, Probes: probes("1400"), Subject: "br0", Harmless: map[string]string{portsFirst: pinned},
		Prepare: slices.Concat([]lab.Act{ifupdown, newBridge}, port("1400"), between("1500")),
	},
	{
		Name: "port-fits", About: "A port that has the bridge's own MTU changes nothing",
		Needs: needs, Innocent: true,
		Prepare: append([]lab.Act{ifupdown, newBridge}, port("1500")...),
	},
	{
		Name: "nothing-configured", About: "A bridge that nobody configured, with ports of a tunnel's MTU, is no trap",
		Needs: needs, Innocent: true,
		Prepare: append([]lab.Act{newBridge}, port("1450")...),
	},
}
