package netconf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

func read(t *testing.T, h *host.Host) *Config {
	t.Helper()
	c, _ := Read(t.Context(), h)
	return c
}

// TestIsDevice: Ethernet that is there for good, not what somebody made, nor what comes and goes.
func TestIsDevice(t *testing.T) {
	for _, c := range []struct {
		name, kind, typ string
		want            bool
	}{{"eth0", "", "ether", true}, {"enp3s0f1", "", "ether", true}, {"enP1p3s0", "", "ether", true}, {"eno1", "", "ether", true},
		{"enX0", "", "ether", true}, {"em1", "", "ether", true}, {"p2p1", "", "ether", true}, {"eth0", "vlan", "ether", false},
		{"eth0", "", "infiniband", false}, {"wlp3s0", "", "ether", false}, {"br0", "bridge", "ether", false}, {"enx525400123456", "",
			"ether", false},
		{"enp0s20u1", "", "ether", false}} {
		l := host.Link{Name: c.name, LinkType: c.typ}
		l.Info.Kind = c.kind
		if got := IsDevice(l); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestAbsent: devices that are configured and not there, unless their manager is idle.
func TestAbsent(t *testing.T) {
	const conf = "-- root/etc/network/interfaces --\nauto eth0 eth7 enp1s0 br0 bond7\niface eth0 inet dhcp\niface eth7 inet " +
		"dhcp\niface enp1s0 inet dhcp\n" +
		"iface br0 inet manual\n  bridge_ports none\niface bond7 inet manual\n-- root/etc/systemd/network/e.network " +
		"--\n[Match]\nName=eth9\n"
	for units, want := range map[string]string{
		"": "[enp1s0 eth7 eth9]",
		"-- units --\nnetworking.service loaded inactive dead disabled\nsystemd-networkd.service loaded " +
			"active running enabled\n": "[eth9]",
		"-- units --\nnetworking.service loaded active exited enabled\nsystemd-networkd.service loaded " +
			"inactive dead masked\n": "[enp1s0 eth7]",
		"-- units --\nnetworking.service loaded inactive dead enabled\nsystemd-networkd.service loaded " +
			"inactive dead disabled\n": "[enp1s0 eth7]",
		"-- units --\nnetworking.service loaded inactive dead static\nsystemd-networkd.service not-found " +
			"inactive dead -\n": "[enp1s0 eth7]",
		"-- units --\nnetworking.service loaded failed failed disabled\nsystemd-networkd.service loaded " +
			"activating start masked\n": "[enp1s0 eth7 eth9]",
	} {
		h := hosttest.New(t, "kind: live\n"+linksTable+conf+units)
		var got []string
		for _, i := range read(t, h).Absent() {
			got = append(got, i.Name)
		}
		if slices.Sort(got); fmt.Sprint(got) != want {
			t.Errorf("%s: %s, want %s", units, got, want)
		}
	}
	renamed := strings.Replace(linksTable, `"ifname":"eth1"`, `"ifname":"lan","altnames":["eth7"]`, 1)
	for _, i := range read(t, hosttest.New(t, "kind: live\n"+renamed+conf)).Absent() {
		if i.Name == "eth7" {
			t.Error("a device by another name of its own is taken for absent")
		}
	}
}

// TestCarrier: netplan has others carry its configuration out.
func TestCarrier(t *testing.T) {
	for m, want := range map[Manager]Manager{Ifupdown: Ifupdown, Netplan: NetworkManager, Networkd: Networkd} {
		if got := (Iface{Manager: m, Renderer: NetworkManager}).Carrier(); got != want {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
}

// TestProblemsOf: those of some managers, or all.
func TestProblemsOf(t *testing.T) {
	c := read(t, hosttest.New(t, "kind: live\n-- denied/etc/network/interfaces --\n-- root/etc/netplan/a.yaml --\n\t:\n"))
	if len(c.Problems) < 2 || len(c.ProblemsOf()) != len(c.Problems) {
		t.Fatalf("%v", c.Problems)
	}
	for m, want := range map[Manager]string{Ifupdown: "interfaces", Netplan: "a.yaml", NetworkManager: ""} {
		got := c.ProblemsOf(m)
		if (len(got) == 0) != (want == "") || want != "" && !strings.Contains(fmt.Sprint(got), want) {
			t.Errorf("%s: %v", m, got)
		}
	}
}

// TestCommands: what up lines say of MTUs and sysctls, and what only looks like it.
func TestCommands(t *testing.T) {
	for line, want := range map[string]string{
		"ip link set dev eth0 mtu 9000":                "eth0=9000",
		"ip link set eth0 mtu 9000":                    "eth0=9000",
		"/sbin/ip -4 l s eth0 up mtu 9000":             "eth0=9000",
		"ip link set eth0 up":                          "",
		"ip link set eth0 mtu":                         "",
		"ip link set eth0 mtu large":                   "",
		"ip link set":                                  "",
		"ip link set dev":                              "",
		"ip link":                                      "",
		"ip":                                           "",
		"ip link show eth0 mtu 9000":                   "",
		"ip route set eth0 mtu 9000":                   "",
		"ip -s":                                        "",
		"ifconfig eth0 mtu 1400":                       "eth0=1400",
		"ifconfig eth0":                                "",
		"ifconfig mtu 1400":                            "",
		"ifconfig eth1 mtu 1400":                       "eth1=1400",
		"sysctl -w net.ipv6.conf.eth0.accept_ra=2":     "up:net/ipv6/conf/eth0/accept_ra=2",
		"sysctl -q -w net.ipv6.conf.$IFACE.mtu=1400 a": "up:net/ipv6/conf/eth0/mtu=1400",
		"sysctl --system":                              "",
		"sysctl -wx=5 =3":                              "",
		"sysctl -a":                                    "",
		"echo 2 > /proc/sys/net/ipv6/conf/eth0/accept_ra":    "up:net/ipv6/conf/eth0/accept_ra=2",
		"echo 2 >/proc/sys/net/ipv6/conf/${IFACE}/accept_ra": "up:net/ipv6/conf/eth0/accept_ra=2",
		"echo 2 > /tmp/x": "",
		"echo 2 > /proc/sys/net/ipv6/conf/eth0/accept_ra /x": "",
		"echo >/proc/sys/a":                      "",
		"echo 2":                                 "",
		"true; ip link set eth0 mtu 1":           "eth0=1",
		"true && ip link set eth0 mtu 1 || true": "eth0=1",
		`echo "a; ip link set eth0 mtu 1"`:       "",
		`echo 'a" | ip link set eth0 mtu 1'; ifconfig "eth0" mtu 2`: "eth0=2",
		";;": "",
		"echo 1 > /proc/sys/net/ipv6/conf/eth0/forwarding; ifconfig eth0 mtu 1280": "up:net/ipv6/conf/eth0/forwarding=1 eth0=1280",
	} {
		c := read(t, hosttest.New(t, "kind: live\n-- root/etc/network/interfaces --\niface eth0 inet manual\n  up "+line+"\n"))
		var got []string
		for _, s := range c.Iface("eth0").Sysctls {
			got = append(got, s.Phase+":"+s.Value)
		}
		for _, name := range []string{"eth0", "eth1"} {
			if i := c.Iface(name); i.MTU != nil {
				got = append(got, fmt.Sprintf("%s=%d", name, i.MTU.N))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", line, s, want)
		}
	}
}

// TestKeyfiles: which connection NetworkManager activates, and for which device.
func TestKeyfiles(t *testing.T) {
	const dir = "-- root/etc/NetworkManager/system-connections/"
	for text, want := range map[string]string{
		dir + "a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=140" +
			"0\n": "eth0=1400",
		dir + "a~ --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1400\n":    "",
		dir + "a.bak --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1400\n": "",
		dir + ".a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1400\n":    "",
		dir + "a~ --\n" + dir +
			"b --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1401\n": "eth0=1401",
		dir + "a/x --\n" + dir +
			"b --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1401\n": "eth0=1401",
		dir + "a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=0\n":    "",
		dir + "a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=auto\n": "",
		dir + "a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1\n":    "eth0=1",
		dir + "a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=big\n":  "problem",
		dir + "a --\n[connection]\ntype=ethernet\n[ethernet]\nmtu=140" +
			"0\n": "eth0? eth1?",
		dir + "a --\n[connection]\ntype=802-3-ethernet\n[ethernet]\nmtu=140" +
			"0\n": "eth0? eth1?",
		dir + "a --\n[connection]\ntype=wifi\n[wifi]\nmtu=140" +
			"0\n": "eth0? eth1?",
		dir + "a --\n[connection]\ntype=vpn\n[ethernet]\nmtu=140" +
			"0\n": "eth0? eth1? br0?",
		dir + "a --\n[ethernet]\nmac-address=52:54:00:00:00:02\nmtu=140" +
			"0\n": "eth1=1400",
		dir + "a --\n[connection]\ninterface-name=br0\ntype=bridg" +
			"e\n": "br0:bridge",
		dir + "a --\n[connection]\ninterface-name=br0\ntype=bon" +
			"d\n": "br0:bond",
		dir + "a --\n[connection]\ninterface-name=br0\ntype=vla" +
			"n\n": "br0:vlan",
		dir + "a --\n[connection]\ninterface-name=br0\ntype=tun\n": "",
		dir + "a --\n[connection]\ninterface-name=eth0\nmaster=br" +
			"0\n": "eth0>br0 br0:bridge",
		dir + "a --\n[connection]\ninterface-name=eth0\ncontroller=br0\nport-type=bridg" +
			"e\n": "eth0>br0 br0:bridge",
		dir + "a --\n[connection]\ninterface-name=eth0\nmaster=br0\nslave-type=bond\n": "",
		dir + "a --\n[connection]\ninterface-name=eth0\nmaster=u\n" + dir +
			"b --\n[connection]\nuuid=u\ninterface-name=br0\n": "eth0>br0 br0:bridge",
		dir + "a --\n[connection]\ninterface-name=eth0\nmaster=up\n" + dir +
			"b --\n[connection]\nid=up\ninterface-name=br0\n": "eth0>br0 br0:bridge",
		dir + "a --\n[connection]\nuuid=u\n" + dir + "b --\n[connection]\nuuid=u\ninterface-name=eth0\n[ethernet]\nmtu=1400\n": "",
		dir + "a --\n[connection]\ninterface-name=eth0\nautoconnect-priority=5\n[ethernet]\nmtu=1405\n" +
			dir + "b --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1400\n": "eth0=1405",
		dir + "a --\n[connection]\ninterface-name=eth0\nautoconnect-priority=-1\n[ethernet]\nmtu=1405\n" +
			dir + "b --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1400\n": "eth0=1400",
		"-- root/etc/sysconfig/network-scripts/ifcfg-lo --\n":   "",
		"-- root/etc/sysconfig/network-scripts/ifcfg-eth0 --\n": "problem",
	} {
		c := read(t, hosttest.New(t, "kind: live\n"+linksTable+text))
		var got []string
		for _, name := range []string{"eth0", "eth1", "br0"} {
			i := c.Iface(name)
			if i.MTU != nil {
				got = append(got, fmt.Sprintf("%s=%d", name, i.MTU.N))
			}
			if i.Kind != "" {
				got = append(got, name+":"+i.Kind)
			}
			if len(i.Unsure) > 0 {
				got = append(got, name+"?")
			}
			if i.Bridge != nil && name != "br0" {
				got = append(got, name+">"+i.Bridge.Value)
			}
		}
		if len(c.Problems) > 0 {
			got = append(got, "problem")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s (%v)", text, s, want, c.Problems)
		}
	}
}

// TestInterfacesWords: what begins and ends a stanza, and what brings an interface up.
func TestInterfacesWords(t *testing.T) {
	for text, want := range map[string]string{
		"auto eth0\niface eth0 inet dhcp\n":                                          "yes",
		"allow-auto eth0\niface eth0 inet dhcp\n":                                    "yes",
		"allow-hotplug eth0\niface eth0 inet dhcp\n":                                 "there",
		"allow-hotplug eth0\nauto eth0\niface eth0 inet dhcp\n":                      "yes",
		"auto eth0\nallow-hotplug eth0\niface eth0 inet dhcp\n":                      "yes",
		"iface eth0 inet dhcp\n":                                                     "",
		"iface eth0 inet static\n mtu 1400\nmapping eth1\n mtu 1300\n":               " mtu=1400",
		"iface eth0 inet static\n mtu 1400\nrename eth1=x\n mtu 1300\n":              " mtu=1400",
		"iface eth0 inet static\n mtu 1400\nno-auto-down eth1\n mtu 1300\n":          " mtu=1400",
		"iface eth0 inet static\n mtu 1400\nno-scripts eth1\n mtu 1300\n":            " mtu=1400",
		"iface eth0 inet static\n mtu 1400\nauto eth1\n mtu 1300\n":                  " mtu=1400",
		"iface eth0 inet static\n\tmtu\t1400\n":                                      " mtu=1400",
		"iface eth0 inet static\r\n mtu 1400\r\n":                                    " mtu=1400",
		"iface eth0 inet static\n mtu \\\n":                                          "",
		"iface eth0 inet static\n mtu \\\n1400":                                      " mtu=1400",
		"iface eth0 inet manual\n mtu 1400\niface eth0 inet6 static\n mtu 1400\n":    " mtu=1400",
		"iface eth0 inet manual\n mtu 1400\niface eth0 inet6 static\n mtu 1401\n":    " mtu=1401",
		"iface eth0 inet6 static\n mtu 1500\n":                                       "",
		"iface eth0 inet6 static\n mtu 1501\n":                                       " mtu=1501",
		"iface a inet static\n mtu 1400\niface eth0 inet static inherits a\n":        " mtu=1400",
		"iface a inet static inherits a\n mtu 1400\niface eth0 inet dhcp inherits a": "",
		"source-directory none\nsource none/*\niface eth0 inet static\n mtu 1400\n":  " mtu=1400",
		"iface eth0\nmtu 1400\n":                                                     " mtu=1400",
	} {
		c := read(t, hosttest.New(t, "kind: live\n-- raw/etc/network/interfaces --\n"+fmt.Sprintf("%q\n", text)))
		i := c.Iface("eth0")
		got := ""
		for _, s := range i.All {
			if s.Key == KeyAuto {
				got = s.Value
			}
		}
		if i.MTU != nil {
			got += fmt.Sprintf(" mtu=%d", i.MTU.N)
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, c.Problems)
		}
	}
}

// TestNetplanReadsOn: what is of no interest, or not understood, hides nothing of what follows it.
func TestNetplanReadsOn(t *testing.T) {
	const eth0 = "    eth0: {mtu: 1400}\n"
	for text, want := range map[string]string{
		"other: 1\nnetwork:\n  ethernets:\n" + eth0:                                                               "eth0=1400",
		"network:\n  version: 2\n  renderer: NetworkManager\n  ethernets:\n" + eth0:                               "eth0=1400 by NetworkManager",
		"network:\n  ethernets:\n    renderer: NetworkManager\n" + eth0:                                           "eth0=1400 by NetworkManager",
		"network:\n  renderer: NetworkManager\n  ethernets:\n    renderer: networkd\n" + eth0:                     "eth0=1400",
		"network:\n  ethernets:\n    eth0: {renderer: NetworkManager, mtu: 1400}\n":                               "eth0=1400 by NetworkManager",
		"network:\n  bonds:\n    eth0: {interfaces: [a, b], mtu: 1400}\n":                                         "eth0=1400 bond",
		"network:\n  openvswitch: {x: 1}\n  ethernets:\n" + eth0:                                                  "eth0=1400",
		"---\nnetwork: {version: 2}\n---\nnetwork:\n  ethernets:\n" + eth0:                                        "eth0=1400",
		"network:\n  ethernets:\n    lan: {match: {driver: e1000}}\n  vlans:\n    eth0: {link: lan, mtu: 1400}\n": "eth0=1400 vlan",
		"network:\n  vlans:\n    eth0: {link: eth1, mtu: 1400}\n":                                                 "eth0=1400 vlan on eth1",
		"network:\n  ethernets:\n    lan: {match: {name: eth1}}\n  vlans:\n    eth0: {link: lan, mtu: 9}\n":       "eth0=9 vlan on eth1",
		"network:\n  ethernets:\n    lan: {match: {name: x, driver: y}, set-name: eth0, mtu: 1400}\n":             "eth0=1400",
		"network:\n  ethernets:\n    lan: {match: {name: \"et*0\"}, mtu: 1400}\n":                                 "eth0=1400",
		"network:\n  ethernets: &e\n" + eth0:                                                                      "eth0=1400",
		"network:\n  ethernets:\n    eth0: &m {mtu: &n 1400}\n":                                                   "eth0=1400",
		"network:\n  ethernets:\n    \"eth0\": {mtu: \"1400\"}\n":                                                 "eth0=1400",
		"network:\n  ethernets:\n    eth0: {mtu: }\n":                                                             "problem",
		"network:\n  ethernets:\n    eth0: {mtu: 2147483648}\n":                                                   "problem",
		"network:\n  ethernets:\n    lan: {match: {name: lan9}}\n  vlans:\n    eth0: {link: lan, mtu: 9}\n":       "eth0=9 vlan on lan9",
		"network: [1]\n": "", "network:\n": "", "- network\n": "",
	} {
		c := read(t, hosttest.New(t, linksTable+"-- root/etc/netplan/a.yaml --\n"+text))
		var got []string
		if i := c.Iface("eth0"); i.MTU != nil {
			got = append(got, fmt.Sprintf("eth0=%d", i.MTU.N))
			if i.Carrier() != Networkd {
				got = append(got, "by "+string(i.Carrier()))
			}
			if i.Kind != "" {
				got = append(got, i.Kind)
			}
			if i.Parent != nil {
				got = append(got, "on "+i.Parent.Value)
			}
		}
		if len(c.Problems) > 0 {
			got = append(got, "problem")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q (%v)", text, s, want, c.Problems)
		}
	}
}

// TestWhatNetplanWrote: files that netplan made of its own are left out where those were read whole, and no others.
func TestWhatNetplanWrote(t *testing.T) {
	const network, key = "[Match]\nName=eth0\n[Link]\nMTUBytes=1400\n", "[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1400\n"
	const netplan, bad = "-- root/etc/netplan/a.yaml --\nnetwork: {version: 2}\n", "-- root/etc/netplan/a.yaml --\nnetwork: [\n"
	for text, want := range map[string]bool{
		netplan + "-- root/run/systemd/network/10-netplan-eth0.network --\n" + network:                 false,
		bad + "-- root/run/systemd/network/10-netplan-eth0.network --\n" + network:                     true,
		netplan + "-- root/etc/systemd/network/10-netplan-eth0.network --\n" + network:                 true,
		netplan + "-- root/run/systemd/network/10-own.network --\n" + network:                          true,
		netplan + "-- root/run/NetworkManager/system-connections/netplan-eth0.nmconnection --\n" + key: false,
		netplan + "-- root/run/NetworkManager/system-connections/own.nmconnection --\n" + key:          true,
		netplan + "-- root/etc/NetworkManager/system-connections/netplan-eth0.nmconnection --\n" + key: true,
		netplan + "-- root/run/systemd/network/10-netplan-a.network --\n[Match]\nName=a\n-- root/etc/systemd/network/20-eth0.network --\n" +
			network: true,
		"-- root/etc/netplan/a.yaml.bak --\n[\n-- root/etc/systemd/network/eth0.network --\n" + network: true,
	} {
		if i := read(t, hosttest.New(t, text)).Iface("eth0"); (i.MTU != nil) != want {
			t.Errorf("%s: read %v, want %v", text, i.MTU != nil, want)
		}
	}
}

// TestNetworkdValues: what networkd's words mean, and systemd's units of bytes.
func TestNetworkdValues(t *testing.T) {
	for text, want := range map[string]string{
		"[Link]\nMTUBytes=9K\n":                              " mtu=9216@F:4",
		"[Link]\nMTUBytes=1M\n":                              " mtu=1048576@F:4",
		"[Link]\nMTUBytes=1G\n":                              " mtu=1073741824@F:4",
		"[Link]\nMTUBytes=\n":                                "",
		"[Link]\nMTUBytes=1k\n":                              " problem",
		"[Network]\nIPForward=yes\n":                         " fwd=yes@F:4",
		"[Network]\nIPForward=ipv4\nIPv6AcceptRA=1\n":        " ra=yes@F:5",
		"[Network]\nIPForward=kernel\nIPv6AcceptRA=0\n":      " ra=no@F:5",
		"[Network]\nIPv6Forwarding=no\n":                     " fwd=no@F:4",
		"[Network]\nDHCP=both\n":                             " dhcp6=yes",
		"[Network]\nDHCP=ipv4\n":                             " dhcp6=no",
		"[Network]\nDHCP=yes\n":                              " dhcp6=yes",
		"[Network]\nDHCP=none\n":                             " dhcp6=no",
		"[Network]\nBridge=br0\n[Link]\nUnmanaged=yes\n":     " bridge=br0@F:4",
		"[DHCPv4]\nMTUBytes=1400\n":                          "",
		"[Match]\nName=eth1\n":                               "",
		"[Match]\nKind=bridge\n":                             "not eth0",
		"[Match]\nType=ether\n":                              "",
		"[Match]\nName=\nName=eth1\n":                        "not eth0",
		"[Match]\nDriver=\n":                                 "",
		"[Match]\nMACAddress=52:54:00:00:00:02\n":            "not eth0",
		"[Match]\nPermanentMACAddress=52-54-00-00-00-01 a\n": "",
	} {
		c := read(t, hosttest.New(t, linksTable+"-- root/etc/systemd/network/a.network --\n[Match]\nName=eth0\n"+text))
		got := strings.ReplaceAll(show(c.Iface("eth0")), "/etc/systemd/network/a.network", "F")
		if len(c.Problems) > 0 {
			got += " problem"
		}
		if rest, ok := strings.CutPrefix(got, "systemd-networkd"); !ok && want != "not eth0" || ok && rest != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"[Network]\nIPv6Forwarding=yes\n": "yes", "[Network]\nIPForward=yes\n": "",
		"[DHCP]\nIPv6Forwarding=yes\n": ""} {
		c, got := read(t, hosttest.New(t, "-- root/etc/systemd/networkd.conf --\n"+text)), ""
		for _, s := range c.Global {
			got += s.Value
		}
		if got != want {
			t.Errorf("networkd.conf: %s: %q, want %q", text, got, want)
		}
	}
}

// TestWhoTakesAdvertisements: networkd and NetworkManager take router advertisements themselves, netplan's renderers, too.
func TestWhoTakesAdvertisements(t *testing.T) {
	for i, want := range map[*Iface]bool{{Manager: Networkd}: true, {Manager: NetworkManager}: true, {Manager: Ifupdown}: false,
		{Manager: Libvirt}: false,
		{}:                 false, {Manager: Netplan, Renderer: Networkd}: true, {Manager: Netplan, Renderer: NetworkManager}: true} {
		if i.RAInUserspace() != want {
			t.Errorf("%s, carried out by %s: %v", i.Manager, i.Carrier(), !want)
		}
	}
	c := read(t, hosttest.New(t,
		"-- root/etc/systemd/network/a.netdev --\n[Match]\nHost=x\nName=eth9\n[NetDev]\nName=br9\nKind=Bridge\n[Link]\nName=br8\n"))
	if i := c.Iface("br9"); i.Kind != "bridge" || c.Iface("eth9").Manager != "" || c.Iface("br8").Manager != "" {
		t.Errorf("%+v", i)
	}
}
