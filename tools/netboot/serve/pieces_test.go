package serve

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/tools/netboot/menu"
	"fettle/tools/netboot/tree"
)

// nft is what `nft -j` prints of an input chain, whose rules are lists of expressions.
func nft(policy string, rules ...string) string {
	s := `{"nftables":[{"metainfo":{}},{"chain":{"family":"inet","table":"f","name":"in","hook":"input","policy":"` + policy + `"}}`
	for _, r := range rules {
		chain, expr, ok := strings.Cut(r, ": ")
		if !ok {
			chain, expr = "in", r
		}
		s += `,{"rule":{"family":"inet","table":"f","chain":"` + chain + `","expr":[` + expr + `]}}`
	}
	return s + "]}"
}

func match(left, op, right string) string {
	return `{"match":{"left":` + left + `,"op":"` + op + `","right":` + right + `}},`
}

// TestNFT: what becomes of a packet to UDP 67 that comes in through eth0.
func TestNFT(t *testing.T) {
	const accept, drop, ret = `{"accept":null}`, `{"drop":null}`, `{"return":null}`
	link, proto, state := `{"meta":{"key":"iifname"}}`, `{"meta":{"key":"l4proto"}}`, `{"ct":{"key":"state"}}`
	field := func(proto, name string) string {
		return `{"payload":{"protocol":"` + proto + `","field":"` + name + `"}}`
	}
	saddr := match(field("ip", "saddr"), "==", `"192.0.2.1"`)
	for _, c := range []struct {
		name, text string
		want       Fate
	}{
		{"policy accept", nft("accept"), Passes}, {"policy drop", nft("drop"), Dropped}, {"no policy", nft(""), Passes},
		{"rejected", nft("accept", `{"reject":null}`), Dropped}, {"accepted", nft("drop", accept), Passes},
		{"counted and logged first", nft("drop", `{"counter":{}},{"log":{}},{"mangle":{}},`+accept), Passes},
		{"limited", nft("drop", `{"limit":{}},`+accept), Unsure}, {"by a map", nft("accept", `{"vmap":{}}`), Unsure},
		{"by xt", nft("drop", `{"xt":{}},`+accept), Unsure},
		{"link", nft("drop", match(link, "==", `"eth0"`)+accept), Passes}, {"another link", nft("drop", match(link, "==", `"eth1"`)+accept),
			Dropped},
		{"not another link", nft("drop", match(link, "!=", `"eth1"`)+accept), Passes},
		{"links by their beginning", nft("drop", match(link, "==", `"et*"`)+accept), Passes},
		{"a set of links", nft("drop", match(link, "in", `{"set":["lo","eth0"]}`)+accept), Passes},
		{"a comparison of another kind", nft("drop", match(link, "<", `"eth1"`)+accept), Unsure},
		{"by index", nft("drop", match(`{"meta":{"key":"iif"}}`, "==", `"eth0"`)+accept), Passes},
		{"protocol", nft("drop", match(proto, "==", `"udp"`)+accept), Passes}, {"another protocol", nft("drop", match(proto, "==",
			`"tcp"`)+accept), Dropped},
		{"IPv4", nft("drop", match(`{"meta":{"key":"nfproto"}}`, "==", `"ipv4"`)+accept), Passes},
		{"IP", nft("drop", match(`{"meta":{"key":"protocol"}}`, "==", `"ip"`)+accept), Passes},
		{"a mark", nft("drop", match(`{"meta":{"key":"mark"}}`, "==", `1`)+accept), Unsure},
		{"new ones", nft("drop", match(state, "in", `["established","new"]`)+accept), Passes},
		{"old ones", nft("drop", match(state, "in", `["established"]`)+accept), Dropped},
		{"a connection's mark", nft("drop", match(`{"ct":{"key":"mark"}}`, "==", `1`)+accept), Unsure},
		{"port", nft("drop", match(field("udp", "dport"), "==", `67`)+accept), Passes},
		{"port of either", nft("drop", match(field("th", "dport"), "==", `67`)+accept), Passes},
		{"another port", nft("drop", match(field("udp", "dport"), "==", `68`)+accept), Dropped},
		{"TCP", nft("drop", match(field("tcp", "dport"), "==", `67`)+accept), Dropped},
		{"source port", nft("drop", match(field("udp", "sport"), "==", `67`)+accept), Dropped},
		{"ICMP", nft("drop", match(field("icmp", "type"), "==", `8`)+accept), Dropped},
		{"ICMPv6", nft("drop", match(field("icmpv6", "type"), "==", `8`)+accept), Dropped},
		{"IPv6", nft("drop", match(field("ip6", "nexthdr"), "==", `17`)+accept), Dropped},
		{"protocol of IP", nft("drop", match(field("ip", "protocol"), "==", `"udp"`)+accept), Passes},
		{"source", nft("drop", saddr+accept), Unsure}, {"source, then all", nft("drop", saddr+drop, accept), Unsure},
		{"source, but of TCP", nft("drop", saddr+match(proto, "==", `"tcp"`)+accept), Dropped},
		{"in a range", nft("drop", match(field("udp", "dport"), "==", `{"range":[67,70]}`)+accept), Passes},
		{"at the end of a range", nft("drop", match(field("udp", "dport"), "==", `{"range":[60,67]}`)+accept), Passes},
		{"above a range", nft("drop", match(field("udp", "dport"), "==", `{"range":[60,66]}`)+accept), Dropped},
		{"below a range", nft("drop", match(field("udp", "dport"), "==", `{"range":[68,70]}`)+accept), Dropped},
		{"half a range", nft("drop", match(field("udp", "dport"), "==", `{"range":[67]}`)+accept), Dropped},
		{"a range of words", nft("drop", match(field("udp", "dport"), "==", `{"range":["a",70]}`)+accept), Dropped},
		{"jump", nft("drop", `{"jump":{"target":"x"}}`, "x: "+accept), Passes},
		{"jump and back", nft("drop", `{"jump":{"target":"x"}}`, accept, "x: "+ret, "x: "+drop), Passes},
		{"jump to the end of a chain", nft("drop", `{"jump":{"target":"x"}}`, accept), Passes},
		{"goto does not come back", nft("drop", `{"goto":{"target":"x"}}`, accept), Dropped},
		{"goto, and the rest of the chain that jumped", nft("drop", `{"jump":{"target":"x"}}`, accept, `x: {"goto":{"target":"y"}}`,
			"x: "+drop), Passes},
		{"goto, perhaps", nft("drop", saddr+`{"goto":{"target":"x"}}`, accept), Unsure},
		{"jump, perhaps", nft("accept", saddr+`{"jump":{"target":"x"}}`, "x: "+drop), Unsure},
		{"jump for nothing, perhaps", nft("accept", saddr+`{"jump":{"target":"x"}}`, drop), Dropped},
		{"round and round", nft("accept", `{"jump":{"target":"in"}}`), Unsure},
		{"another hook", strings.Replace(nft("drop"), `"input"`, `"forward"`, 1), Passes},
		{"IPv6's table", strings.Replace(nft("drop"), `"inet"`, `"ip6"`, 1), Passes},
		{"IPv4's table", strings.ReplaceAll(nft("drop"), `"inet"`, `"ip"`), Dropped},
		{"two chains, the second one drops", strings.TrimSuffix(nft("drop", accept), "]}") +
			`,{"chain":{"family":"ip","table":"g","name":"in","hook":"input","policy":"drop"}}]}`, Dropped},
		{"two chains, the first one is not understood", strings.TrimSuffix(nft("drop", saddr+accept), "]}") +
			`,{"chain":{"family":"ip","table":"g","name":"in","hook":"input","policy":"accept"}}]}`, Unsure},
	} {
		if got, err := NFT([]byte(c.text), "eth0", Port{"udp", 67}); err != nil || got != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
	if got, err := NFT([]byte("x"), "eth0", Port{"udp", 67}); err == nil || got != Unsure {
		t.Errorf("not JSON: %v, %v", got, err)
	}
}

// TestIPTables: the same, of what `iptables -S` prints.
func TestIPTables(t *testing.T) {
	for rules, want := range map[string]Fate{
		"": Passes, "-P INPUT ACCEPT": Passes, "-P INPUT DROP": Dropped, "-P FORWARD DROP": Passes, "-P INPUT DROP x": Passes,
		"-A INPUT -j REJECT --reject-with icmp-x": Dropped, "-P INPUT DROP;-A INPUT -j LOG;-A INPUT -j NFLOG;-A INPUT -j ACCEPT": Passes,
		"-P INPUT DROP;-A INPUT -p udp -m udp --dport 67 -j ACCEPT": Passes, "-P INPUT DROP;-A INPUT -p all -j ACCEPT": Passes,
		"-P INPUT DROP;-A INPUT -p tcp -m tcp --dport 67 -j ACCEPT": Dropped, "-P INPUT DROP;-A INPUT ! -p tcp -j ACCEPT": Passes,
		"-P INPUT DROP;-A INPUT ! -p tcp -i eth1 -j ACCEPT": Dropped, "-P INPUT DROP;-A INPUT ! -s 192.0.2.1 -i eth0 -j ACCEPT": Unsure,
		"-P INPUT DROP;-A INPUT ! -s 192.0.2.1 -i eth1 -j ACCEPT": Dropped,
		"-P INPUT DROP;-A INPUT -i et+ -j ACCEPT":                 Passes, "-P INPUT DROP;-A INPUT -i wl+ -j ACCEPT": Dropped,
		"-P INPUT DROP;-A INPUT -i et -j ACCEPT":                                      Dropped,
		"-P INPUT DROP;-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT": Dropped,
		"-P INPUT DROP;-A INPUT -m state --state RELATED,NEW -j ACCEPT":               Passes,
		"-P INPUT DROP;-A INPUT -m limit --limit 1/s -j ACCEPT":                       Unsure,
		"-P INPUT DROP;-A INPUT -m comment --comment -i -j ACCEPT":                    Passes,
		"-P INPUT DROP;-A INPUT -p udp -m multiport --dports 1,60:70 -j ACCEPT":       Passes,
		"-P INPUT DROP;-A INPUT -p udp -m multiport --dports 1,68:70 -j ACCEPT":       Dropped,
		"-P INPUT DROP;-A INPUT -j a;-A a -j b;-A b -j ACCEPT":                        Passes,
		"-P INPUT DROP;-A INPUT -g a;-A a -j ACCEPT":                                  Passes,
		"-A INPUT -j a;-A INPUT -j DROP;-A a -j RETURN;-A a -j ACCEPT":                Dropped,
		"-A INPUT -j a;-A a -s 192.0.2.1 -j RETURN;-A a -j ACCEPT":                    Unsure,
		"-A INPUT -s 192.0.2.1 -j a;-A INPUT -j DROP;-A a -j ACCEPT":                  Unsure,
		"-A INPUT -s 192.0.2.1 -j a;-A INPUT -j DROP":                                 Dropped,
		"-A INPUT -g a;-A INPUT -j DROP":                                              Passes,
		"-A INPUT -s 192.0.2.1 -g a;-A INPUT -j DROP":                                 Unsure,
		"-P INPUT DROP;-A INPUT -j a;-A INPUT -j ACCEPT;-A a -g b;-A a -j DROP":       Passes,
		"-A INPUT -j INPUT":             Unsure,
		"-A INPUT":                      Passes,
		"-P INPUT DROP;-A INPUT -p udp": Dropped,
		"-P INPUT DROP;-A INPUT -j":     Dropped,
		"-A INPUT -m mac -j DROP":       Unsure,
	} {
		if got := IPTables(strings.ReplaceAll(rules, ";", "\n"), "eth0", Port{"udp", 67}); got != want {
			t.Errorf("%s: %v, want %v", rules, got, want)
		}
	}
	for list, want := range map[string]bool{"67": true, "66": false, "67:70": true, "60:67": true, "68:70": false, "60:66": false,
		"x,67": true, "67:x": false,
		"x:67": false, "": false} {
		if ports(list, 67) != want {
			t.Errorf("67 in %q: %v", list, !want)
		}
	}
}

// TestPorts: what clients must reach, by what is served.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		conf Conf
		want string
	}{{Conf{}, "[UDP 67 UDP 69]"}, {Conf{Proxy: true}, "[UDP 67 UDP 69 UDP 4011]"}, {Conf{HTTP: true}, "[UDP 67 UDP 69 TCP 80]"}} {
		if got := fmt.Sprint(c.conf.Ports()); got != c.want {
			t.Errorf("%+v: %s, want %s", c.conf, got, c.want)
		}
	}
}

// TestText: the lines that differ by what is wanted.
func TestText(t *testing.T) {
	http := func(c *Conf) { c.HTTP, c.Loaders.HTTP64, c.Loaders.HTTPArm64 = true, true, true }
	const fixed = "dhcp-range=192.0.2.50,192.0.2.99,255.255.255.0,12h|dhcp-authoritative|dhcp-option=option:router"
	const matches = "dhcp-match=set:bios,option:client-arch,0|dhcp-match=set:efi64,option:client-arch,9|" +
		"dhcp-match=set:efi64,option:client-arch,7|" +
		"dhcp-match=set:efiarm64,option:client-arch,11"
	const boots = "dhcp-boot=tag:bios,pxelinux.0|dhcp-boot=tag:efi64,debian-installer/amd64/bootnetx64.efi|" +
		"dhcp-boot=tag:efiarm64,arm64/bootnetaa64.efi"
	const hosts = "dhcp-host=52:54:00:12:34:56,set:known,192.0.2.9,web1|dhcp-ignore=tag:!known"
	for _, c := range []struct {
		name   string
		change func(c *Conf)
		want   string
	}{
		{"addresses", func(c *Conf) {}, fixed + "|dhcp-no-override|" + matches + "|" + boots + "|" + hosts},
		{"a router", func(c *Conf) { c.Router = netip.MustParseAddr("192.0.2.254") },
			fixed + ",192.0.2.254|dhcp-no-override|" + matches + "|" + boots + "|" + hosts},
		{"BIOS alone, all hosts, any address", func(c *Conf) {
			c.Loaders, c.All, c.Hosts[0].IP = Loaders{BIOS: "pxelinux.0"}, true,
				netip.Addr{}
		},
			fixed + "|dhcp-no-override|dhcp-match=set:bios,option:client-arch,0|dhcp-boot=tag:bios,pxelinux.0|" +
				"dhcp-host=52:54:00:12:34:56,set:known,web1"},
		{"proxy", func(c *Conf) { http(c); c.Proxy = true; c.Loaders.EFI64 = ""; c.Loaders.EFIArm64 = "" },
			"dhcp-range=192.0.2.0,proxy|dhcp-no-override|pxe-service=x86PC,\"Install\",pxelinux.0|dhcp-match=set:bios,option:client-arch,0|" +
				"dhcp-boot=tag:bios,pxelinux.0|dhcp-host=52:54:00:12:34:56,set:known,web1|dhcp-ignore=tag:!known"},
		{"HTTP", http, fixed + "|dhcp-no-override|" + matches + "|" + boots + "|dhcp-match=set:http64,option:client-arch,16|" +
			"dhcp-option-force=tag:http64,60,HTTPClient|dhcp-boot=tag:http64,http://192.0.2.1/debian-installer/amd64/bootnetx64.efi|" +
			"dhcp-match=set:httparm64,option:client-arch,19|dhcp-option-force=tag:httparm64,60,HTTPClient|" +
			"dhcp-boot=tag:httparm64,http://192.0.2.1/arm64/bootnetaa64.efi|" + hosts},
		{"loaders that could, without HTTP", func(c *Conf) { http(c); c.HTTP = false }, fixed + "|dhcp-no-override|" + matches + "|" + boots +
			"|" + hosts},
	} {
		conf := conf()
		c.change(&conf)
		var got []string
		for line := range strings.Lines(conf.Text()) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "dhcp-") || strings.HasPrefix(line, "pxe-") {
				got = append(got, line)
			}
		}
		if said := strings.Join(got, "|"); said != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, said, c.want)
		}
	}
	for prefix, want := range map[string]string{"192.0.2.1/0": "0.0.0.0", "192.0.2.1/1": "128.0.0.0", "192.0.2.1/31": "255.255.255.254",
		"192.0.2.1/32": "255.255.255.255", "192.0.2.1/20": "255.255.240.0"} {
		if got := netmask(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
}

// TestRangeOfAddresses: the last fifty addresses, without the server's own, as many as there are.
func TestRangeOfAddresses(t *testing.T) {
	for prefix, want := range map[string]string{"192.0.2.1/24": "192.0.2.205 192.0.2.254", "192.0.2.1/29": "192.0.2.2 192.0.2.6",
		"192.0.2.1/26":  "192.0.2.13 192.0.2.62",
		"10.9.255.1/16": "10.9.255.205 10.9.255.254", "192.0.2.1/30": "no room", "2001:db8::1/64": "no room"} {
		from, to, err := Range(netip.MustParsePrefix(prefix))
		got := fmt.Sprint(from, " ", to)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
	for _, own := range []string{"192.0.2.254/24", "192.0.2.205/24", "192.0.2.220/24", "192.0.2.6/29", "192.0.2.2/29", "192.0.2.4/29"} {
		p := netip.MustParsePrefix(own)
		from, to, err := Range(p)
		if err != nil || to.Less(from) || !p.Contains(from) || !p.Contains(to) || from.Compare(p.Addr()) <= 0 && p.Addr().Compare(to) <= 0 {
			t.Errorf("%s: %s to %s, %v", own, from, to, err)
		}
	}
}

// TestSays: all that is said of a client, line by line of the server's log.
func TestSays(t *testing.T) {
	const bios, http = "dnsmasq-dhcp[9]: 5 vendor class: PXEClient:Arch:00000:UNDI",
		"dnsmasq-dhcp[9]: 5 vendor class: HTTPClient:Arch:00016:UNDI"
	const ask, ack = "dnsmasq-dhcp[9]: 5 DHCPDISCOVER(br0) 52:54:00:12:34:56 ",
		"dnsmasq-dhcp[9]: 5 DHCPACK(br0) 192.0.2.9 52:54:00:12:34:56 web1"
	const again = "dnsmasq-dhcp[9]: 6 DHCPDISCOVER(br0) 52:54:00:12:34:56 "
	const taken = "dnsmasq-dhcp[9]: 7 DHCPACK(br0) 192.0.2.9 52:54:00:99:99:99 other"
	sent := func(name string) string { return "dnsmasq-tftp[9]: sent /srv/" + name + " to 192.0.2.9" }
	missing := func(name string) string { return "dnsmasq-tftp[9]: file /srv/" + name + " not found for 192.0.2.9" }
	const hello, address = "asks for an address (BIOS)", "has the address 192.0.2.9"
	for _, c := range []struct {
		name, lines, want string
	}{
		{"not to boot", ask, "asks for an address (not to boot)"},
		{"asked twice, told once", bios + "\n" + ask + "\n" + ask, hello},
		{"told of what kind it is later", ask + "\n" + bios + "\n" + ack + "\n" + sent("linux") + "\n" + ask,
			"asks for an address (not to boot)|" + address + "|was sent the kernel|" + hello},
		{"by HTTP", http + "\n" + ask + "\n" + ack + "\nfettle-http: sent 192.0.2.9 /grubx64.efi",
			"asks for an address (UEFI by HTTP, x86-64)|" + address + "|was sent the boot loader grubx64.efi"},
		{"all the way", strings.Join([]string{bios, ask, ack, ack, sent("pxelinux.0"), sent("vmlinuz"), sent("initramfs.img"),
			sent("preseed/web1.cfg"),
			again, "dnsmasq-dhcp[9]: 6 DHCPACK(br0) 192.0.2.9 52:54:00:12:34:56", "dnsmasq-dhcp[9]: 6 DHCPACK(br0) 192.0.2.9 52:54:00:12:34:56"},
			"\n"),
			hello + "|" + address + "|was sent the boot loader pxelinux.0|was sent the kernel|was sent the initrd|was sent its preseed file|" +
				"the installer runs, and has the address 192.0.2.9"},
		{"begins again", strings.Join([]string{bios, ask, ack, sent("linux"), bios, ask}, "\n"), hello + "|" + address +
			"|was sent the kernel|" + hello},
		{"beside another server", "dnsmasq-dhcp[9]: 5 PXE(br0) 52:54:00:12:34:56 proxy", "gets the address of its boot loader"},
		{"an address that it cannot have", "dnsmasq-dhcp[9]: 5 DHCPNAK(br0) 192.0.2.7 52:54:00:12:34:56",
			"asked for an address that it cannot have, and must ask again"},
		{"somebody else's", "dnsmasq-dhcp[9]: 5 DHCPDECLINE(br0) 192.0.2.7 52:54:00:12:34:56",
			"says that 192.0.2.7 is somebody else's: look for a second server or a fixed address"},
		{"errors", strings.Join([]string{ack, "dnsmasq-tftp[9]: error 8 User aborted received from 192.0.2.9",
			"dnsmasq-tftp[9]: error 0 early terminate received from 192.0.2.9", "dnsmasq-tftp[9]: error 3 full received from 192.0.2.9",
			"dnsmasq-tftp[9]: error 3 full received from 192.0.2.8", "dnsmasq-tftp[9]: failed sending /srv/linux to 192.0.2.9",
			"dnsmasq-tftp[9]: failed sending /srv/linux to 192.0.2.8"}, "\n"), address +
			"|gave up a transfer: full|stopped answering while it was sent linux"},
		{"missing", strings.Join([]string{ack, missing("x.c32"), missing("linux"), missing("revocations.efi"), missing("shim_certificate.efi"),
			missing("d/initrd.gz"),
			"dnsmasq-tftp[9]: file /srv/linux not found"}, "\n"),
			address + "|asked for linux, which the tree does not have|asked for d/initrd.gz, which the tree does not have"},
		{"trouble with HTTP", strings.Join([]string{ack, HTTPLine("192.0.2.9", "/linux", "404 not found"), HTTPLine("192.0.2.9", "/linux",
			"500 broken"),
			HTTPLine("192.0.2.8", "/linux", "500 broken"), HTTPLine("192.0.2.9", "/d/linux", "")}, "\n"),
			address + "|asked for linux, which the tree does not have|was not sent linux: 500 broken|was sent the kernel"},
		{"somebody else has the address now", strings.Join([]string{ack, taken, sent("linux")}, "\n"), address},
		{"another has another address", strings.Join([]string{ack,
			"dnsmasq-dhcp[9]: 7 DHCPACK(br0) 192.0.2.8 52:54:00:99:99:99 other", sent("linux")},
			"\n"), address + "|was sent the kernel"},
		{"a loader after the kernel", strings.Join([]string{ack, sent("linux"), sent("grubx64.efi"), sent("x.cfg"), bios, ask}, "\n"),
			address + "|was sent the kernel|was sent the boot loader grubx64.efi|" + hello},
		{"not expected", "dnsmasq-dhcp[9]: 5 DHCPDISCOVER(br0) 52:54:00:12:34:56 ignored\n" +
			"dnsmasq-dhcp[9]: 5 DHCPDISCOVER(br0) 52:54:00:12:34:56 ignored",
			"asks, and is not expected: it is left alone (--host NAME=52:54:00:12:34:56)"},
		{"no card, no exchange", "dnsmasq-dhcp[9]: 5 DHCPDISCOVER(br0) \nfoo\ndnsmasq-dhcp[9]: 5 DHCPOFFER(br0) 52:54:00:12:34:56", ""},
	} {
		var got []string
		p := Progress{Conf: conf(), Tell: func(s string) {
			if rest, ok := strings.CutPrefix(s, "03:04:05  web1 (52:54:00:12:34:56): "); ok {
				got = append(got, rest)
			}
		}}
		p.Conf.Root = "/srv"
		for line := range strings.Lines(c.lines) {
			p.Line(strings.TrimSuffix(line, "\n"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		}
		if said := strings.Join(got, "|"); said != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, said, c.want)
		}
	}
}

// TestStops: when a client counts as stuck, and what is told of a file that is being sent.
func TestStops(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var got []string
	p := Progress{Conf: conf(), Tell: func(s string) { got = append(got, s[:8]+s[strings.Index(s, "): ")+2:]) }}
	says := func(want ...string) {
		t.Helper()
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("got %q, want %q", got, want)
		}
		got = nil
	}
	p.Line("dnsmasq-dhcp[9]: 5 DHCPACK(br0) 192.0.2.9 52:54:00:12:34:56 web1", start)
	got = nil
	p.Quiet(at(600), time.Second) // no boot ROM: it may want nothing more
	says()
	p.Line("dnsmasq-tftp[9]: sent /linux to 192.0.2.9", start)
	says("03:04:05 was sent the kernel")
	p.Quiet(at(29), 30*time.Second)
	says()
	p.Quiet(at(30), 30*time.Second)
	says("03:04:35 was sent the kernel, and no initrd: is its memory too small?")
	sending := func(name string, n, s int) {
		p.Under([]Transfer{{name, int64(n), 2000}}, at(s))
	}
	sending("/initrd.gz", 100, 44) // told of 14 s ago
	says()
	sending("/initrd.gz", 200, 45)
	says("03:04:50 is being sent initrd.gz: 10 % of 2 KiB")
	sending("/initrd.gz", 300, 59)
	says()
	sending("/initrd.gz", 300, 70) // it was not read on
	says()
	p.Quiet(at(88), 30*time.Second)
	says()
	p.Quiet(at(89), 30*time.Second)
	says("03:05:34 was sent the kernel, and no initrd: is its memory too small?")
	for _, name := range []string{"/linux", "/pxelinux.0", "/x.c32"} { // what it had already, and what is none of these
		sending(name, 1, 200)
	}
	p.Under([]Transfer{{"/initrd.gz", 1, 0}}, at(300))
	says()
	p.Line("dnsmasq-tftp[9]: sent /initrd.gz to 192.0.2.9", at(300))
	says("03:09:05 was sent the initrd")
	p.Quiet(at(900), 30*time.Second)
	says()
}

// TestBooted: where this server gives addresses, the installer has asked for one; beside another, it was sent its initrd.
func TestBooted(t *testing.T) {
	web1, web2 := Host{Name: "web1", MAC: "1"}, Host{Name: "web2", MAC: "2"}
	for _, c := range []struct {
		name    string
		proxy   bool
		hosts   []Host
		clients []*client
		want    bool
	}{
		{"nobody expected, nobody came", false, nil, nil, false},
		{"any that runs", false, nil, []*client{{mac: "9", stage: initrd}, {mac: "8", stage: running}}, true},
		{"any with its initrd", false, nil, []*client{{mac: "9", stage: initrd}}, false},
		{"one of two", false, []Host{web1, web2}, []*client{{mac: "1", stage: running}, {mac: "3", stage: running}}, false},
		{"both", false, []Host{web1, web2}, []*client{{mac: "2", stage: running}, {mac: "1", stage: running}}, true},
		{"both, with their initrds", false, []Host{web1, web2}, []*client{{mac: "2", stage: initrd}, {mac: "1", stage: initrd}}, false},
		{"beside another server, by address", true, []Host{web1}, []*client{{mac: "192.0.2.9", stage: initrd}}, true},
		{"beside another server, with its kernel", true, []Host{web1}, []*client{{mac: "192.0.2.9", stage: kernel}}, false},
	} {
		p := Progress{Conf: Conf{Proxy: c.proxy, Hosts: c.hosts}, clients: c.clients}
		if got := p.Booted(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestTransfers: loaders, kernels and initrds that a process has open, and how far it read them.
func TestTransfers(t *testing.T) {
	dir := t.TempDir()
	for name, read := range map[string]int{"linux": 3, "other": 1} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.Read(make([]byte, read))
	}
	if err := os.Mkdir(filepath.Join(dir, "linux.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(filepath.Join(dir, "linux.d"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := fmt.Sprint(Transfers(os.Getpid())); got != fmt.Sprintf("[{%s/linux 3 5}]", dir) {
		t.Error(got)
	}
	if got := Transfers(0); got != nil {
		t.Error(got)
	}
}

// TestOffer: an answer to our question, by whom, and what is no offer.
func TestOffer(t *testing.T) {
	answer := func(options ...byte) []byte {
		b := discover(7, []byte{1, 2, 3, 4, 5, 6})[:240]
		b[0] = 2
		return append(b, options...)
	}
	with := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	for _, c := range []struct {
		name   string
		b      []byte
		server string
		ok     bool
	}{
		{"offer", answer(53, 1, 2, 54, 4, 192, 0, 2, 1, 255), "192.0.2.1", true},
		{"padded", answer(0, 0, 53, 1, 2, 0, 54, 4, 192, 0, 2, 1, 255), "192.0.2.1", true},
		{"without a server", answer(53, 1, 2, 255), "invalid IP", true},
		{"an acknowledgement", answer(53, 1, 5, 54, 4, 192, 0, 2, 1, 255), "192.0.2.1", false},
		{"after the end", answer(255, 53, 1, 2), "invalid IP", false},
		{"other lengths", answer(53, 2, 2, 2, 54, 3, 1, 1, 1, 53, 1, 2), "invalid IP", true},
		{"cut off", answer(53, 1, 2, 54, 4, 192, 0, 2), "invalid IP", true},
		{"just whole", answer(53, 1, 2, 54, 4, 192, 0, 2, 1), "192.0.2.1", true},
		{"empty", answer(), "invalid IP", false},
		{"a question", with(answer(53, 1, 2), 0, 1), "invalid IP", false},
		{"another's", with(answer(53, 1, 2), 7, 8), "invalid IP", false},
		{"no DHCP", with(answer(53, 1, 2), 239, 0), "invalid IP", false},
	} {
		if server, ok := offer(c.b, 7); server.String() != c.server || ok != c.ok {
			t.Errorf("%s: %s, %v; want %s, %v", c.name, server, ok, c.server, c.ok)
		}
	}
	if b := discover(7, []byte{1, 2, 3, 4, 5, 6}); binary.BigEndian.Uint32(b[4:]) != 7 || b[10] != 0x80 ||
		string(b[28:34]) != "\x01\x02\x03\x04\x05\x06" {
		t.Errorf("% x", b)
	}
}

// TestParameters: what the installer of a host is told, and which kernel it gets.
func TestParameters(t *testing.T) {
	console := &menu.Console{Port: 1, Speed: 9600}
	for _, c := range []struct {
		preseed string
		console *menu.Console
		want    string
	}{
		{"", nil, "hostname=web1 interface=auto"},
		{"/x/y.cfg", nil, "hostname=web1 interface=auto auto=true priority=critical preseed/url=tftp://192.0.2.1/preseed/web1.cfg"},
		{"http://h/x", console,
			"hostname=web1 interface=auto auto=true priority=critical preseed/url=http://h/x console=ttyS1,9600n8 --- console=ttyS1,9600n8"},
	} {
		if got := parameters(Host{Name: "web1", Preseed: c.preseed}, "192.0.2.1", c.console); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	pairs := []tree.Pair{{Folder: "/t/debian-installer/arm64", Linux: "/t/debian-installer/arm64/linux",
		Initrd: "/t/debian-installer/arm64/initrd.gz"},
		{Folder: "/t/debian-installer/amd64", Linux: "/t/debian-installer/amd64/linux", Initrd: "/t/debian-installer/amd64/initrd.gz"}}
	for arch, want := range map[string]string{"amd64": "debian-installer/amd64/linux debian-installer/amd64/initrd.gz true",
		"": "debian-installer/arm64/linux debian-installer/arm64/initrd.gz true", "i386": "  false"} {
		linux, initrd, ok := kernelOf("/t", pairs, arch)
		if got := fmt.Sprint(linux, " ", initrd, " ", ok); got != want {
			t.Errorf("%q: %s, want %s", arch, got, want)
		}
	}
}
