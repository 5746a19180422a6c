package netstart

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// network is what the kernel has, for samples.
type network struct {
	links   []host.Link
	routes6 []host.Route
	runs    []host.Process
}

func (n network) String() string {
	var b strings.Builder
	for name, table := range map[string]any{"links": n.links, "routes6": n.routes6, "processes": n.runs, "routes4": nil} {
		j, _ := json.Marshal(table)
		b.WriteString("-- table/" + name + " --\n" + strings.Replace(string(j), "null", "[]", 1) + "\n")
	}
	return b.String()
}

const ifupdown = "-- units --\nnetworking.service loaded active exited enabled\n"

func read(t *testing.T, n network, text string) *Start {
	t.Helper()
	s, err := Read(t.Context(), hosttest.New(t, n.String()+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func device(name string, addrs ...host.Addr) host.Link {
	return host.Link{Name: name, Flags: []string{"UP"}, LinkType: "ether", Addrs: addrs}
}

func virtual(name, kind string, addrs ...host.Addr) host.Link {
	l := device(name, addrs...)
	l.Info.Kind = kind
	return l
}

func global(prefix string) host.Addr {
	p := netip.MustParsePrefix(prefix)
	a := host.Addr{Family: "inet6", Local: p.Addr().String(), PrefixLen: p.Bits(), Scope: "global"}
	if p.Addr().Is4() {
		a.Family = "inet"
	}
	return a
}

// TestLinks: whether a link was made by hand, by its kind, its name, who may have made it, and what files name.
func TestLinks(t *testing.T) {
	down := virtual("br2", "bridge")
	down.Flags = nil
	addressed := down
	addressed.Name, addressed.Addrs = "br3", []host.Addr{global("192.0.2.1/24")}
	here, there, away := virtual("va", "veth"), virtual("vb", "veth"), virtual("vc", "veth")
	here.Parent, there.Parent, away.Parent = "vb", "va", "if7"
	port := virtual("trunk.5", "vlan")
	port.Master = "vmbr0v5"
	tunnel := device("mytun")
	tunnel.Info.Kind = "tun"
	dial := device("dial")
	dial.LinkType = "ppp"
	for _, c := range []struct {
		link             host.Link
		byHand, ofDaemon bool
	}{
		{virtual("br1", "bridge"), true, false}, {down, false, false}, {addressed, true, false}, {device("eth0"), false, false},
		{virtual("docker0", "bridge"), false, true}, {virtual("br-0123456789ab", "bridge"), false, true}, {virtual("br-lan", "bridge"), true,
			false},
		{virtual("vethdeadbe7", "veth"), false, true}, {virtual("bond0", "bond"), false, false}, {virtual("bond1", "bond"), true, false},
		{here, true, false}, {there, true, false}, {away, false, false}, {port, false, true}, {virtual("trunk.6", "vlan"), true, false},
		{tunnel, false, true}, {dial, false, true}, {virtual("named", "dummy"), false, false}, {virtual("scripted", "dummy"), false, false},
		{virtual("commented", "dummy"), true, false},
	} {
		n := network{links: []host.Link{c.link, here, there, away}}
		s := read(t, n, ifupdown+"-- root/etc/network/interfaces --\nauto named\niface named inet manual\n"+
			"-- root/etc/rc.local --\n# ip link add commented\n; commented\n// commented\nip link add scripted type dummy\n")
		if got := s.LinkByHand(c.link); got != c.byHand {
			t.Errorf("%s: by hand %v", c.link.Name, got)
		}
		if got := OfDaemon(c.link); got != c.ofDaemon {
			t.Errorf("%s: of a daemon %v", c.link.Name, got)
		}
	}
}

// TestAddresses: whether an address was added by hand.
func TestAddresses(t *testing.T) {
	dynamic, onLink, link6, local := global("192.0.2.7/24"), global("192.0.2.8/24"), global("fe80::1/64"), global("127.0.0.9/8")
	dynamic.Dynamic, onLink.Scope = true, "link"
	const address = "-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet static\n    address 192.0.2.2/24\n"
	const dhcp = "-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet dhcp\n"
	const networkd = "-- root/etc/systemd/network/eth0.network --\n[Match]\nName=eth0 br1\n[Network]\nDHCP=yes\n"
	ra := []host.Route{{Dst: "default", Dev: "eth0", Protocol: "ra"}}
	for _, c := range []struct {
		name string
		link host.Link // its first address is judged, or of two the second
		text string
		ra   []host.Route
		want bool
	}{
		{name: "named", link: device("eth0", global("192.0.2.2/24")), text: ifupdown + address},
		{name: "another", link: device("eth0", global("192.0.2.3/24")), text: ifupdown + address, want: true},
		{name: "with a lifetime", link: device("eth0", dynamic), text: ifupdown + address},
		{name: "of the link alone", link: device("eth0", onLink), text: ifupdown + address},
		{name: "link-local", link: device("eth0", link6), text: ifupdown + address},
		{name: "of the loopback", link: device("lo", local), text: ifupdown + address},
		{name: "of a daemon's link", link: virtual("docker0", "bridge", global("172.17.0.1/16")), text: ifupdown + address},
		{name: "none", link: device("eth0", host.Addr{Family: "inet", Local: "x", Scope: "global"}), text: ifupdown + address},
		{name: "by a router, forever", link: device("eth0", global("2001:db8::2/64")), ra: ra, text: ifupdown + address},
		{name: "no router's prefix", link: device("eth0", global("2001:db8::2/80")), ra: ra, text: ifupdown + address, want: true},
		{name: "of the other family, by the same length", link: device("eth0", global("192.0.2.9/24")), ra: ra, text: ifupdown + address,
			want: true},
		{name: "a router on another link", link: device("eth1", global("2001:db8::2/64")), ra: ra, text: ifupdown + address, want: true},
		{name: "a lease forever", link: device("eth0", global("192.0.2.3/24")), text: ifupdown + dhcp},
		{name: "beside a lease", link: device("eth0", dynamic, global("192.0.2.3/24")), text: ifupdown + dhcp, want: true},
		{name: "after a lease forever", link: device("eth0", global("192.0.2.4/24"), global("192.0.2.3/24")), text: ifupdown + dhcp, want: true},
		{name: "after one of the other family", link: device("eth0", global("2001:db8::9/80"), global("192.0.2.3/24")), text: ifupdown + dhcp},
		{name: "asked for by a manager that does not run", link: device("eth0", global("192.0.2.3/24")), text: ifupdown + networkd, want: true},
		{name: "of a bridge that asks", link: virtual("br1", "bridge", global("192.0.2.3/24")),
			text: strings.ReplaceAll(ifupdown, "networking", "systemd-networkd") + networkd},
		{name: "of a bridge that does not", link: virtual("br2", "bridge", global("192.0.2.3/24")),
			text: strings.ReplaceAll(ifupdown, "networking", "systemd-networkd") + networkd, want: true},
		{name: "of a device beside another manager's file", link: device("eth9", global("192.0.2.3/24")), text: ifupdown + networkd +
			"-- root/etc/NetworkManager/system-connections/a.nmconnection --\n[connection]\nid=a\n[ipv4]\nmethod=auto\n" + dhcp},
		{name: "of wg-quick", link: virtual("wg0", "wireguard", global("10.8.0.1/24")), text: ifupdown +
			"-- root/etc/systemd/system/multi-user.target.wants/wg-quick@wg0.service --\n[Unit]\n"},
		{name: "of a WireGuard without wg-quick", link: virtual("wg1", "wireguard", global("10.8.0.1/24")), text: ifupdown +
			"-- root/etc/systemd/system/multi-user.target.wants/wg-quick@wg0.service --\n[Unit]\n", want: true},
	} {
		s := read(t, network{links: []host.Link{c.link}, routes6: c.ra}, c.text)
		judged := c.link.Addrs[len(c.link.Addrs)-1]
		if got := s.AddressByHand(c.link, judged); got != c.want {
			t.Errorf("%s: by hand %v", c.name, got)
		}
		if ip, err := netip.ParseAddr(judged.Local); err == nil {
			there, byHand := s.Has(ip)
			if !there || byHand != (c.want || s.LinkByHand(c.link)) {
				t.Errorf("%s: there %v, by hand %v", c.name, there, byHand)
			}
		}
		if there, byHand := s.Has(netip.MustParseAddr("203.0.113.1")); there || byHand {
			t.Errorf("%s: an address that no link has is there: %v, by hand %v", c.name, there, byHand)
		}
	}
}

// TestRoutes: whether a route was added by hand.
func TestRoutes(t *testing.T) {
	links := []host.Link{device("eth0"), device("eth1"), virtual("docker0", "bridge"), virtual("byhand0", "dummy"), virtual("wg0",
		"wireguard")}
	s := read(t, network{links: links},
		ifupdown+"-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet static\n    address 192.0.2.2/24\n"+
			"    gateway 192.0.2.1\n    up ip route add 198.51.100.7/24 via 192.0.2.9\n    up ip route add 203.0.113.5 dev eth0\n")
	for _, c := range []struct {
		route host.Route
		want  bool
	}{
		{host.Route{Dst: "10.0.0.0/8", Dev: "eth0", Protocol: "boot"}, true}, {host.Route{Dst: "10.0.0.0/8", Dev: "eth0", Protocol: "static"},
			true},
		{host.Route{Dst: "10.0.0.0/8", Dev: "eth0", Protocol: "kernel"}, false},
		{host.Route{Dst: "10.0.0.0/8", Dev: "eth0", Protocol: "boot", Table: "7"}, false},
		{host.Route{Dst: "10.0.0.0/8", Type: "blackhole", Protocol: "boot"}, true},
		{host.Route{Dst: "10.0.0.0/8", Type: "unreachable", Protocol: "boot"}, true},
		{host.Route{Dst: "10.0.0.0/8", Type: "prohibit", Protocol: "boot"}, true},
		{host.Route{Dst: "10.0.0.0/8", Type: "multicast", Protocol: "boot"}, false},
		{host.Route{Dst: "10.0.0.0/8", Dev: "docker0", Protocol: "boot"}, false},
		{host.Route{Dst: "10.0.0.0/8", Dev: "byhand0", Protocol: "boot"}, false},
		{host.Route{Dst: "10.0.0.0/8", Dev: "wg0", Protocol: "boot"}, false},
		{host.Route{Dst: "198.51.100.0/24", Dev: "eth0", Protocol: "boot"}, false},
		{host.Route{Dst: "203.0.113.5/32", Dev: "eth0", Protocol: "boot"}, false},
		{host.Route{Dst: "no prefix", Dev: "eth0", Protocol: "boot"}, false},
		{host.Route{Dst: "default", Gateway: "192.0.2.1", Dev: "eth0", Protocol: "boot"}, false},
		{host.Route{Dst: "default", Gateway: "192.0.2.254", Dev: "eth0", Protocol: "boot"}, true},
		{host.Route{Dst: "default", Dev: "eth0", Protocol: "boot"}, false},
	} {
		if got := s.RouteByHand(c.route); got != c.want {
			t.Errorf("%s: by hand %v", c.route.Text(), got)
		}
	}
	leased := read(t, network{links: links}, ifupdown+"-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet dhcp\n")
	if leased.RouteByHand(host.Route{Dst: "default", Gateway: "192.0.2.254", Dev: "eth0", Protocol: "boot"}) {
		t.Error("a gateway that a DHCP server may have given was added by hand")
	}
}

// TestRules: whether a policy rule was added by hand.
func TestRules(t *testing.T) {
	rule := func(change func(*host.PolicyRule)) host.PolicyRule {
		r := host.PolicyRule{Src: "all", Dst: "all", Table: "109", Protocol: "unspec"}
		change(&r)
		return r
	}
	const script = "-- root/etc/network/if-up.d/a --\nip rule add fwmark 0x9 table 7\n" +
		"ip rule add from 192.0.2.64/26 table 8\nip route add 10.0.0.1 dev eth0\n"
	const others = "-- root/etc/network/if-up.d/a --\nip route add default via 192.0.2.1 table 109\n"
	for _, c := range []struct {
		name string
		rule host.PolicyRule
		text string
		link host.Link
		want bool
	}{
		{name: "of the kernel", rule: rule(func(r *host.PolicyRule) { r.Protocol = "kernel" })},
		{name: "by ip", rule: rule(func(*host.PolicyRule) {}), want: true},
		{name: "by boot", rule: rule(func(r *host.PolicyRule) { r.Protocol = "boot" }), want: true},
		{name: "beside a WireGuard", rule: rule(func(*host.PolicyRule) {}), link: virtual("wg0", "wireguard")},
		{name: "into a daemon's link", rule: rule(func(r *host.PolicyRule) { r.Iif = "docker0" }), link: virtual("docker0", "bridge")},
		{name: "out of a daemon's link", rule: rule(func(r *host.PolicyRule) { r.Oif = "docker0" }), link: virtual("docker0", "bridge")},
		{name: "beside a daemon's link", rule: rule(func(r *host.PolicyRule) { r.Oif = "eth0" }), link: virtual("docker0", "bridge"), want: true},
		{name: "from a network that is named", rule: rule(func(r *host.PolicyRule) { r.Src = "192.0.2.64/26" }), text: script},
		{name: "to an address that is named", rule: rule(func(r *host.PolicyRule) { r.Dst = "10.0.0.1/32" }), text: script},
		{name: "to another", rule: rule(func(r *host.PolicyRule) { r.Dst = "10.0.0.2/32" }), text: script, want: true},
		{name: "a table that rules name", rule: rule(func(r *host.PolicyRule) { r.Table = "7" }), text: script},
		{name: "a mark that rules name", rule: rule(func(r *host.PolicyRule) { r.Mark = "0x9" }), text: script},
		{name: "another mark", rule: rule(func(r *host.PolicyRule) { r.Mark = "0xa" }), text: script, want: true},
		{name: "a table that no rule names", rule: rule(func(*host.PolicyRule) {}), text: others, want: true},
	} {
		s := read(t, network{links: []host.Link{device("eth0"), c.link}}, ifupdown+c.text)
		if got := s.RuleByHand(c.rule); got != c.want {
			t.Errorf("%s: by hand %v", c.name, got)
		}
	}
}

// TestNeighbours: whether a permanent neighbour was added by hand.
func TestNeighbours(t *testing.T) {
	links := []host.Link{device("eth0"), virtual("docker0", "bridge"), virtual("byhand0", "dummy"), virtual("wg0", "wireguard")}
	s := read(t, network{links: links}, ifupdown+"-- root/etc/rc.local --\narp -s 192.0.2.5 02:00:00:00:00:05\n"+
		"arp -s $GATEWAY 02:00:00:00:00:06\n")
	const mac = "02:00:00:00:00:01"
	for _, c := range []struct {
		n    host.Neighbour
		want bool
	}{
		{host.Neighbour{Dst: "192.0.2.4", Dev: "eth0", LLAddr: mac}, true}, {host.Neighbour{Dst: "192.0.2.5", Dev: "eth0", LLAddr: mac}, false},
		{host.Neighbour{Dst: "192.0.2.4", Dev: "eth0", LLAddr: "02:00:00:00:00:06"}, false},
		{host.Neighbour{Dst: "224.0.0.1", Dev: "eth0", LLAddr: mac}, false}, {host.Neighbour{Dst: "127.0.0.1", Dev: "eth0", LLAddr: mac}, false},
		{host.Neighbour{Dst: "x", Dev: "eth0", LLAddr: mac}, false}, {host.Neighbour{Dst: "192.0.2.4", Dev: "docker0", LLAddr: mac}, false},
		{host.Neighbour{Dst: "192.0.2.4", Dev: "byhand0", LLAddr: mac}, false}, {host.Neighbour{Dst: "192.0.2.4", Dev: "wg0", LLAddr: mac},
			false},
		{host.Neighbour{Dst: "192.0.2.4", Dev: "gone", LLAddr: mac}, false},
	} {
		if got := s.NeighbourByHand(c.n); got != c.want {
			t.Errorf("%+v: by hand %v", c.n, got)
		}
	}
}

// TestSure: what is not read makes it unsure whether something was made by hand; and who sets up a link is told.
func TestSure(t *testing.T) {
	n := network{links: []host.Link{device("eth0"), device("eth1")}}
	const both = "-- units --\nnetworking.service loaded active exited enabled\nsystemd-networkd.service loaded active running enabled\n"
	for _, c := range []struct {
		name, text, unsure, unread, manager string
		runs                                []host.Process
	}{
		{name: "all is read", text: ifupdown, manager: "ifupdown"},
		{name: "no manager", unsure: "what sets up the network is not known"},
		{name: "another program", text: ifupdown, runs: []host.Process{{PID: 7, Comm: "connmand"}}, manager: "ifupdown",
			unsure: "connmand sets up addresses by its own configuration, which fettle does not read"},
		{name: "another program in a container", text: ifupdown, runs: []host.Process{{PID: 7, Comm: "connmand", Container: "x"}},
			manager: "ifupdown"},
		{name: "two managers", text: both},
		{name: "a script that may not be read", text: ifupdown + "-- denied/etc/rc.local --\n", manager: "ifupdown", unsure: "rc.local",
			unread: "rc.local"},
		{name: "a network of libvirt's that may not be read", text: ifupdown +
			"-- root/etc/libvirt/qemu/networks/a.xml --\n-- denied/etc/bird.conf --\n",
			manager: "ifupdown", unsure: "bird.conf"},
		{name: "an admin's program that may not be read", text: ifupdown +
			"-- root/etc/rc.local --\n-/usr/local/sbin/lan up\n-- denied/usr/local/sbin/lan --\n",
			manager: "ifupdown", unsure: "/usr/local/sbin/lan", unread: "/usr/local/sbin/lan"},
		{name: "one of the distribution's", text: ifupdown + "-- root/etc/rc.local --\n/usr/sbin/lan up\n-- denied/usr/sbin/lan --\n",
			manager: "ifupdown"},
	} {
		n.runs = c.runs
		s := read(t, n, c.text)
		if got := said(s.Unsure); (got == "") != (c.unsure == "") || !strings.Contains(got, c.unsure) {
			t.Errorf("%s: unsure: %q, want %q", c.name, got, c.unsure)
		}
		if got := said(s.Unread); (got == "") != (c.unread == "") || !strings.Contains(got, c.unread) {
			t.Errorf("%s: unread: %q, want %q", c.name, got, c.unread)
		}
		if got := s.Manager("eth0"); got != c.manager {
			t.Errorf("%s: set up by %q, want %q", c.name, got, c.manager)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestNamed: in which forms files name links and addresses.
func TestNamed(t *testing.T) {
	n := network{links: []host.Link{device("eth0"), device("eth1"), device("eth2")}, runs: []host.Process{{PID: 7, Comm: "dockerd"}}}
	s := read(t, n, ifupdown+"-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet manual\n"+
		"-- root/etc/systemd/system/lan.service --\n[Service]\nExecStart=-/opt/lan --on=eth1\n-- root/opt/lan --\nip a add 192.0.2.1/28 dev x\n"+
		"-- root/etc/networkd-dispatcher/routable.d/a --\nip a add 192.0.2.17\n"+
		"-- root/proc/cmdline --\nip=192.0.2.33::192.0.2.34:255.255.255.0::eth9 v6=[2001:db8::1]\n"+
		"-- root/etc/cron.d/b --\n@reboot root ping '192.0.2.65:8080'\n")
	for ip, want := range map[string]bool{"192.0.2.1": true, "192.0.2.2": false, "192.0.2.17": true, "192.0.2.33": true, "192.0.2.34": true,
		"2001:db8::1": true, "192.0.2.65": true, "192.0.2.66": false} {
		if got := s.Names(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: named %v", ip, got)
		}
	}
	if got := s.Mentions("eth1"); got != "/etc/systemd/system/lan.service" {
		t.Errorf("eth1 is mentioned in %q", got)
	}
	for name, want := range map[string]string{"eth0": "network configuration", "eth1": "/etc/systemd/system/lan.service", "eth2": ""} {
		if got := s.NamedLink(name); name != "eth0" && got != want || name == "eth0" && got == "" {
			t.Errorf("%s: named by %q, want %q", name, got, want)
		}
	}
	var unnamed []string
	for _, l := range s.Unnamed() {
		unnamed = append(unnamed, l.Name)
	}
	if !slices.Equal(unnamed, []string{"eth2"}) {
		t.Errorf("no configuration is about %q", unnamed)
	}
	if s.Maker() != "dockerd" || !s.Runs("dockerd") || s.Runs("lxd") {
		t.Errorf("maker %q", s.Maker())
	}
	if got := read(t, network{}, ifupdown).Maker(); got != "" {
		t.Errorf("maker %q, though nothing runs", got)
	}
}

// TestRefused: without links, processes or routes nothing can be said.
func TestRefused(t *testing.T) {
	for _, table := range []string{"links", "processes", "routes6"} {
		text := network{}.String()
		before, after, _ := strings.Cut(text, "-- table/"+table+" --\n[]\n")
		if s, err := Read(t.Context(), hosttest.New(t, before+after+"-- denied/table/"+table+" --\n")); err == nil {
			t.Errorf("%s refused: %+v", table, s)
		}
	}
}

// TestBindsFreely: of each family its own setting counts.
func TestBindsFreely(t *testing.T) {
	h := hosttest.New(t, "-- root/proc/sys/net/ipv4/ip_nonlocal_bind --\n1\n-- denied/proc/sys/net/ipv6/ip_nonlocal_bind --\n")
	if free, err := BindsFreely(t.Context(), h, netip.MustParseAddr("192.0.2.1")); !free || err != nil {
		t.Error(free, err)
	}
	if free, err := BindsFreely(t.Context(), h, netip.MustParseAddr("2001:db8::1")); free || err == nil {
		t.Error(free, err)
	}
	h = hosttest.New(t, "-- root/proc/sys/net/ipv4/ip_nonlocal_bind --\n0\n")
	for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
		if free, err := BindsFreely(t.Context(), h, netip.MustParseAddr(ip)); free || err != nil {
			t.Error(ip, free, err)
		}
	}
}
