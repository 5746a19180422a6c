package proof

import "fettle/lab"

var needs = lab.Needs{Modules: []string{"veth", "ipv6"}, Tools: []string{"cat", "grep", "sysctl", "radvd"}}

var probes = []lab.Probe{
	{
		Name: "default route",
		Run:  []string{"ip", "-6", "route", "show", "default"},
		Want: []string{"()", "default via fe80::.* dev eth0 proto ra .*"},
	},
	{Name: "accept_ra of eth0", Run: []string{"cat", "/proc/sys/net/ipv6/conf/eth0/accept_ra"}, Want: []string{"1", "2", "1"}},
}

const radvd = `interface r0 {
	AdvSendAdvert on;
	MinRtrAdvInterval 3;
	MaxRtrAdvInterval 4;
	MinDelayBetweenRAs 3;
	prefix 2001:db8:1::/64 { AdvOnLink on; AdvAutonomous on; };
};
`

// router is a second network namespace that sends router advertisements to eth0.
func router(sysctls ...string) []lab.Act {
	acts := []lab.Act{
		{Write: &lab.File{Path: "/etc/radvd.conf", Content: radvd}},
		{Run: []string{"ip", "netns", "add", "router"}},
		{Run: []string{"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "r0", "netns", "router"}},
		{Run: []string{"ip", "netns", "exec", "router", "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"}},
		{Run: []string{"ip", "-n", "router", "address", "add", "2001:db8:1::1/64", "dev", "r0", "nodad"}},
		{Run: []string{"ip", "-n", "router", "link", "set", "r0", "up"}},
	}
	for _, s := range sysctls {
		acts = append(acts, lab.Act{Run: []string{"sysctl", "-qw", s}})
	}
	return append(
		acts,
		lab.Act{Run: []string{"ip", "link", "set", "eth0", "up"}},
		lab.Act{
			Start: []string{
				"ip",
				"netns",
				"exec",
				"router",
				"radvd",
				"--nodaemon",
				"--logmethod",
				"none",
				"--config",
				"/etc/radvd.conf",
				"--pidfile",
				"/run/radvd.pid",
			},
		},
		lab.Act{Until: []string{"grep", "-qE", "Icmp6InRouterAdvertisements\\s+[1-9]", "/proc/net/dev_snmp6/eth0"}},
	)
}

// unasked is why it is all one here when routers are asked.
const unasked = "this router advertises every few seconds by itself"

var Scenarios = []lab.Scenario{
	{
		Name: "forwarding-deafens", About: "A host that forwards IPv6 ignores the advertisements of a real router",
		Needs: needs, Probes: probes, Subject: "eth0",
		Prepare: router("net.ipv6.conf.all.forwarding=1"),
		Harmless: map[string]string{
			"left out: ask the routers on eth0 for an advertisement":                   unasked,
			"too late: ask the routers on eth0 for an advertisement":                   unasked,
			"too late: set the running value of net/ipv6/conf/eth0/accept_ra to \"2\"": unasked,
		},
		Files: map[string]string{
			"/etc/sysctl.d/90-fettle-ra-eth0.conf": "# Made by fettle (ipv6-ra-forwarding): take " +
				"router advertisements on\n" +
				"# eth0 although this host forwards IPv6.\nnet.ipv6.conf.eth0.accept_ra = 2\n",
		},
	},
	{
		Name: "not-forwarding", About: "A host that does not forward listens, and has its default route",
		Needs: needs, Innocent: true,
		Prepare: router(),
	},
	{
		Name: "told-to-listen", About: "accept_ra=2, set now and kept in sysctl.d, listens although the host forwards",
		Needs: needs, Innocent: true,
		Prepare: append(
			[]lab.Act{
				{Write: &lab.File{Path: "/etc/sysctl.d/60-ra.conf", Content: "net.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.eth0.accept_ra=2\n"}},
			},
			router("net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.eth0.accept_ra=2")...),
	},
}
