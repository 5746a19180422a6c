package proof

import "fettle/lab"

// needs is what every scenario's machine has.
var needs = lab.Needs{Modules: []string{"bridge", "veth"}, Tools: []string{"cat"}}

var probes = []lab.Probe{
	{Name: "MTU of br0", Run: []string{"cat", "/sys/class/net/br0/mtu"}},
	{Name: "MTU of its port", Run: []string{"cat", "/sys/class/net/port/mtu"}},
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

var newBridge = lab.Act{Run: []string{"ip", "link", "add", "br0", "type", "bridge"}}

var Scenarios = []lab.Scenario{
	{
		Name: "port-raises-mtu", About: "A port of 8950 raises a bridge that is configured to have 1500",
		Needs: needs, Probes: probes, Subject: "br0",
		Prepare: append([]lab.Act{ifupdown, newBridge}, port("8950")...),
	},
	{
		Name: "port-lowers-mtu", About: "A port of 1400 lowers a bridge that is configured to have 1500",
		Needs: needs, Probes: probes, Subject: "br0",
		Prepare: append([]lab.Act{ifupdown, newBridge}, port("1400")...),
	},
	{
		Name: "port-fits", About: "A port that has the bridge's own MTU changes nothing",
		Needs: needs, Innocent: true,
		Prepare: append([]lab.Act{ifupdown, newBridge}, port("1500")...),
	},
	{
		Name: "nothing-configured", About: "A bridge that nobody configured, with ports of one MTU, is nobody's trap",
		Needs: needs, Innocent: true,
		Prepare: append([]lab.Act{newBridge}, port("9000")...),
	},
}
