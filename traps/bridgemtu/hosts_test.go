package bridgemtu

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// links is the section of a golden host with links as "br0 9000; tap0 9000 kind=tun of=br0".
func links(t *testing.T, spec string) string {
	t.Helper()
	type words = map[string]any
	all := []words{}
	for line := range strings.SplitSeq(spec, ";") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		l := words{"ifindex": len(all) + 2, "ifname": f[0], "mtu": json.Number(f[1]), "link_type": "ether", "flags": []string{"UP"},
			"operstate": "UP", "addr_info": []words{}}
		if strings.HasPrefix(f[0], "br") || f[0] == "docker0" {
			l["linkinfo"] = words{"info_kind": "bridge"}
		}
		for _, w := range f[2:] {
			switch key, v, _ := strings.Cut(w, "="); key {
			case "kind":
				l["linkinfo"] = words{"info_kind": v}
			case "on":
				l["link"] = v
			case "of":
				l["master"] = v
			default:
				l["addr_info"] = []words{{"family": "inet", "local": "192.0.2.10", "prefixlen": 24, "scope": key}}
			}
		}
		all = append(all, l)
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return "-- table/links --\n" + string(b) + "\n"
}

// conf is ifupdown's file: "br0 9000 eth0 eth1" is a bridge with its MTU, 0 for none, and its ports; "eth0 1500" another.
func conf(spec string) string {
	out := "-- root/etc/network/interfaces --\n"
	for line := range strings.SplitSeq(spec, ";") {
		f := strings.Fields(line)
		out += "auto " + f[0] + "\niface " + f[0] + " inet manual\n"
		if len(f) > 2 {
			out += "    bridge_ports " + strings.Join(f[2:], " ") + "\n"
		}
		if f[1] != "0" {
			out += "    mtu " + f[1] + "\n"
		}
	}
	return out
}

// netplan is a file of its with these interfaces, each kind as YAML.
func netplan(ethernets, bonds, vlans, bridges string) string {
	out := "-- root/etc/netplan/a.yaml --\nnetwork:\n"
	for _, of := range [][2]string{{"ethernets", ethernets}, {"bonds", bonds}, {"vlans", vlans}, {"bridges", bridges}} {
		if of[1] != "" {
			out += "  " + of[0] + ":\n    " + of[1] + "\n"
		}
	}
	return out
}

// TestHosts: what is found on bridges of all kinds, and what the plan for it is, as testdata/hosts.txt tells it.
func TestHosts(t *testing.T) {
	many := func(n, mtu int, kind string) (out string) {
		for i := range n {
			out += fmt.Sprintf("tap%d %d kind=%s of=br0;", i, mtu, kind)
		}
		return out
	}
	var text strings.Builder
	for _, c := range []struct{ name, links, more string }{
		{"no port, the default", "br0 1500;", ""},
		{"no port, and more", "br0 9000;", ""},
		{"ports that come and go", "br0 9000;" + many(2, 9000, "tun"), ""},
		{"ports that come and go, one byte more than the default", "br0 1501;" + many(1, 1501, "tun"), ""},
		{"ports that come and go, the default", "br0 1500;" + many(1, 1500, "tun"), ""},
		{"ports that come and go, smaller", "br0 1400;" + many(1, 1400, "tun"), ""},
		{"ports that come and go, and an uplink", "br0 9000;" + many(1, 9000, "tun") + "eth0 9000 of=br0", ""},
		{"ports that come and go, of an engine", "docker0 9000;veth1 9000 kind=veth of=docker0", ""},
		{"ports that come and go, one of them configured", "br0 9000;" + many(1, 9000, "tun"), conf("tap0 9000")},
		{"more ports than are listed", "br0 9000;" + many(10, 9000, "tun"), ""},
		{"as many ports as are listed", "br0 9000;" + many(8, 9000, "tun"), ""},
		{"odd ports first", "br0 1500;" + many(9, 1500, "tun") + "z 1400 kind=tun of=br0;a 9000 kind=tun of=br0", ""},

		{"configured, as it is", "br0 9000;eth0 9000 of=br0", conf("br0 9000 eth0; eth0 9000")},
		{"configured, the last port is gone", "br0 1500;", conf("br0 9000 eth0; eth0 9000")},
		{"configured, no port, set by hand", "br0 1400;", conf("br0 9000 eth0; eth0 9000")},
		{"configured, its ports set it", "br0 1500;eth0 9000 of=br0;" + many(2, 1500, "tun"), conf("br0 9000 eth0; eth0 9000")},
		{"configured, set by hand", "br0 4000;eth0 9000 of=br0", conf("br0 9000 eth0; eth0 9000")},
		{"configured, its port has nothing", "br0 9000;eth0 1500 of=br0", conf("br0 9000 eth0")},
		{"configured, its port has it by itself", "br0 9000;eth0 9000 of=br0", conf("br0 9000 eth0")},
		{"configured, its port has more by itself", "br0 9000;eth0 9001 of=br0", conf("br0 9000 eth0")},
		{"configured, the default, its port has nothing", "br0 1500;eth0 1500 of=br0", conf("br0 1500 eth0")},
		{"configured, its port is not there", "br0 1500;", conf("br0 9000 eth0")},
		{"configured, a port that programs make", "br0 9000;", conf("br0 9000 tap0")},
		{"configured, ports with others", "br0 1500;eth0 1500 of=br0;eth1 1500 of=br0", conf("br0 0 eth0 eth1; eth0 1500; eth1 9000")},
		{"configured, ports with the same", "br0 1500;eth0 1500 of=br0;eth1 1500 of=br0", conf("br0 0 eth0 eth1; eth0 1500; eth1 1500")},
		{"configured, smaller than its port", "br0 1400;eth0 9000 of=br0", conf("br0 1400 eth0; eth0 9000")},

		{"more than its uplink", "br0 9000;eth0 1500 of=br0;tap0 9000 kind=tun of=br0", ""},
		{"more than one of its uplinks", "br0 9000;eth0 9000 of=br0;eth1 1500 of=br0", ""},
		{"a port makes it smaller", "br0 1400;eth0 1500 of=br0;tap0 1400 kind=tun of=br0;tap1 1500 kind=tun of=br0", ""},
		{"smaller, by hand", "br0 1300;eth0 1500 of=br0;tap0 1400 kind=tun of=br0", ""},
		{"its uplink has more", "br0 1400;eth0 1500 of=br0", conf("br0 1400 eth0")},
		{"its uplinks differ", "br0 1500;eth0 1500 of=br0;bond0 9000 kind=bond of=br0", ""},
		{"its uplinks differ, as is configured", "br0 1500;eth0 1500 of=br0;bond0 9000 kind=bond of=br0", conf("br0 1500 eth0 bond0")},
		{"a port has more", "br0 1500;eth0 1500 of=br0;tap0 9000 kind=tun of=br0", ""},
		{"a port of another bridge", "br0 1500;br1 1500;eth0 1500 of=br0;tap0 9000 kind=tun of=br1", ""},

		{"a VLAN as its port", "br0 9000;eth0 1500;eth0.7 1500 kind=vlan on=eth0 of=br0", conf("br0 9000 eth0.7; eth0 9000")},
		{"a VLAN that has what its device has", "br0 9000;eth0 9000;eth0.7 9000 kind=vlan on=eth0 of=br0",
			conf("br0 9000 eth0.7; eth0 1500")},
		{"a macvlan as its port", "br0 9000;eth0 1500;m 1500 kind=macvlan on=eth0 of=br0", conf("br0 9000 m; m 9000")},
		{"a veth as its port", "br0 9000;v 1500 kind=veth on=peer of=br0;peer 1500 kind=veth", conf("br0 9000 v")},
		{"a VLAN above its port", "br0 9000;eth0 9000 of=br0;x 9000 kind=vlan on=eth0", conf("br0 1500 eth0; eth0 9000")},
		{"a small VLAN above its port", "br0 9000;eth0 9000 of=br0;x 1500 kind=vlan on=eth0", conf("br0 1500 eth0; eth0 9000")},
		{"a veth's peer is no VLAN above", "br0 9000;eth0 9000 of=br0;x 9000 kind=veth on=eth0", conf("br0 1500 eth0; eth0 9000")},
		{"a VLAN above a port that nothing configures", "br0 9000;eth0 9000 of=br0;x 9000 kind=vlan on=eth0", conf("br0 1500 eth0")},

		{"uplinks that are to have others", "br0 9000;eth0 9000 of=br0;eth1 9000 of=br0", conf("br0 0 eth0 eth1; eth0 9000; eth1 1500")},
		{"an uplink that is to have less", "br0 9000;eth0 9000 of=br0", conf("br0 9000 eth0; eth0 1500")},
		{"an uplink that is to have more", "br0 1500;eth0 1500 of=br0", conf("br0 1500 eth0; eth0 9000")},

		{"with an address", "br0 9000 global;eth0 1500 of=br0", ""},
		{"with an address of the link", "br0 9000 link;eth0 1500 of=br0", ""},
		{"with an address of the host", "br0 9000 host;eth0 1500 of=br0", ""},
		{"with an address of a VLAN above", "br0 9000;eth0 1500 of=br0;v 1500 global kind=vlan on=br0", ""},
		{"with an address of a port", "br0 9000;eth0 1500 global of=br0", ""},
		{"with an address elsewhere", "br0 9000;eth0 1500 of=br0;eth9 1500 global", ""},
		{"before 4.17", "br0 1500;eth0 9000 of=br0;tap0 1500 kind=tun of=br0", "release"},
		{"before 4.17, a port that has more", "br0 1500;eth0 1500 of=br0;tap0 9000 kind=tun of=br0", "release"},

		{"a VLAN above its port, only configured", "br0 9000;eth0 9000 of=br0", netplan("eth0: {mtu: 9000}", "",
			"x: {id: 7, link: eth0, mtu: 9000}",
			"br0: {interfaces: [eth0], mtu: 1500}")},
		{"a VLAN above another port, only configured", "br0 9000;eth0 9000 of=br0;eth1 9000", netplan(
			"eth0: {mtu: 9000}\n    eth1: {mtu: 9000}", "", "x: {id: 7, link: eth1, mtu: 9000}", "br0: {interfaces: [eth0], mtu: 1500}")},
		{"a VLAN of a device that has enough", "br0 9000;eth0 9000;eth0.7 1500 kind=vlan on=eth0 of=br0", conf("br0 9000 eth0.7")},
		{"a bond that is not there and is to have less", "br0 9000", netplan("", "bond0: {interfaces: [], mtu: 1500}", "",
			"br0: {interfaces: [bond0], mtu: 9000}")},
		{"a VLAN that is not there and is to have less", "br0 9000;eth0 9000", netplan("eth0: {mtu: 9000}", "",
			"v: {id: 7, link: eth0, mtu: 1500}",
			"br0: {interfaces: [v], mtu: 9000}")},
		{"uplinks differ where the bridge has an MTU", "br0 9000;eth0 1500 of=br0;bond0 9000 kind=bond of=br0", conf("br0 1500 eth0 bond0")},
		{"uplinks differ where one is to have it", "br0 9000;eth0 1500 of=br0;bond0 9000 kind=bond of=br0", conf("br0 0 eth0 bond0; eth0 1500")},
		{"none", "eth0 1500", ""},
		{"two, and none with a fault", "br1 1500;br0 1500;", ""},
		{"only configured", "eth0 1500", conf("br0 9000 eth0; eth0 9000")},
		{"only configured, with a fault", "eth0 9000", conf("br0 1500 eth0; eth0 9000")},
	} {
		head := ""
		if c.more == "release" {
			head, c.more = "release: 4.9.0\n", ""
		}
		h := hosttest.New(t, head+links(t, c.links)+c.more)
		outcomes := traptest.Run(t, &Trap, h)
		fmt.Fprintf(&text, "## %s\n%s\n", c.name, traptest.Lines(outcomes))
		for _, o := range outcomes {
			for line := range strings.Lines(strings.TrimSpace(string(o.Detail) + "\n" + string(o.ByHand))) {
				text.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
			}
			for _, e := range o.Evidence {
				fmt.Fprintf(&text, "  - %s: %s\n", e.Source, e.Value)
			}
		}
		for line := range strings.Lines(planned(t, h, outcomes)) {
			text.WriteString("  > " + line)
		}
	}
	means.Written(t, "testdata/hosts.txt", text.String())
}

// planned is what is planned for each finding, without what the steps say of how they are undone.
func planned(t *testing.T, h *host.Host, outcomes []trap.Outcome) string {
	t.Helper()
	var b strings.Builder
	for _, o := range outcomes {
		if !traptest.IsFound(o) {
			continue
		}
		p, err := Trap.Plan(t.Context(), h, o)
		if err != nil {
			fmt.Fprintf(&b, "no plan: %v\n", err)
			if _, ok := err.(*remedy.Refusal); !ok || len(p.Steps) > 0 {
				t.Errorf("%v, and %d steps", err, len(p.Steps))
			}
			continue
		}
		fmt.Fprintf(&b, "%s; cuts the connection: %t\n", p.Title, p.CutsConnection)
		for _, s := range p.Steps {
			fmt.Fprintf(&b, "%s\n", s.Describe())
		}
		for _, n := range p.Notes {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
	}
	return b.String()
}

// TestPlanOfAnother: a plan is made of the host as it is now.
func TestPlanOfAnother(t *testing.T) {
	before := hosttest.New(t, links(t, "br0 9000;eth0 1500 of=br0"))
	found := traptest.Run(t, &Trap, before)
	i := slices.IndexFunc(found, traptest.IsFound)
	if i < 0 {
		t.Fatalf("%+v", found)
	}
	for spec, want := range map[string]string{"eth0 1500": "br0 no longer exists",
		"br1 9000;eth0 1500 of=br1": "br0 no longer exists",
		"br0 1500;eth0 1500 of=br0": "correct now", "br0 9000;tap0 9000 kind=tun of=br0": "which MTU is wanted"} {
		p, err := Trap.Plan(t.Context(), hosttest.New(t, links(t, spec)), found[i])
		if r, ok := err.(*remedy.Refusal); !ok || !strings.Contains(r.Why, want) || len(p.Steps) > 0 {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// TestEngines are the bridges whose makers choose their MTU.
func TestEngines(t *testing.T) {
	for name, want := range map[string]string{"virbr0": "libvirt", "virbr0-nic": "", "docker0": "docker", "docker1": "",
		"br-0123456789ab": "docker", "br-lan": "", "cni0": "a container engine", "podman12": "a container engine", "br0": ""} {
		if got := engine(name); got != want {
			t.Errorf("%s is made by %q, want %q", name, got, want)
		}
	}
}
