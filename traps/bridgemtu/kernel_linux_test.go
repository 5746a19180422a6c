package bridgemtu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
	"fettle/traps/bridgemtu/proof/pins"
)

// TestKernel runs what is below on this kernel's real bridges: it starts
// itself again in a network and a mount namespace that end with the process.
func TestKernel(t *testing.T) {
	means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNET|syscall.CLONE_NEWNS, 0) {
		return
	}
	src, err := host.NewLive()
	must(t, err)
	if before417(src.Identity().Release) {
		means.Missing(t, "needs a kernel from 4.17 on, where setting a bridge's MTU began to pin it")
	}
	if !tryIP("link", "add", "name", "probe", "type", "bridge") {
		means.Missing(t, "needs bridges, and this kernel has none")
	}
	ip(t, "link", "del", "dev", "probe")
	t.Run("what pins", testPins)
	t.Run("cycle", testCycle)
	t.Run("adrift", testAdrift)
	t.Run("innocent", testInnocent)
}

// testPins finds by experiment what pins a bridge's MTU. The lore's table is
// this one.
func testPins(t *testing.T) {
	t.Logf("kernel %s", release(t))
	for _, c := range pins.Cases {
		run := func(commands ...string) error {
			for _, c := range commands {
				ip(t, strings.Fields(c)...)
			}
			return nil
		}
		got, pinned, err := c.Try(run, func(link string) (int, error) { return mtu(t, link), nil })
		must(t, err)
		t.Logf("%-36s %d %v", c.Name, got, pinned)
		if got != c.Want || pinned != c.Pinned {
			t.Errorf("%s: the bridge has %d, pinned %v; want %d, %v", c.Name, got, pinned, c.Want, c.Pinned)
		}
	}
}

// etcOf replaces /etc, in this mount namespace, with a folder that holds only files.
func etcOf(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, strings.TrimPrefix(name, "/etc"))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(content), 0o600))
	}
	must(t, unix.Mount(dir, "/etc", "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount("/etc", unix.MNT_DETACH)) })
}

const (
	interfaces = "/etc/network/interfaces"
	brIfupdown = "auto br0\niface br0 inet manual\n\tbridge_ports none\n\tmtu 1500\n"
)

// testCycle walks each trapped host through found, fixed, clear, undone, found.
func testCycle(t *testing.T) {
	for _, c := range []struct {
		name    string
		etc     map[string]string
		ip      string // commands, one a line
		want    string // severity and summary
		mtus    string // after the fix
		changed map[string]string
		more    string // commands after the fix that must not bring the trap back
	}{
		{name: "a port overwrites the configured MTU", // the field note's own case
			etc:  map[string]string{interfaces: brIfupdown},
			ip:   "link add name br0 mtu 1500 type bridge\nlink add name p mtu 8950 type veth peer name q mtu 8950\nlink set dev p master br0",
			want: "warning the bridge does not have the configured MTU 1500: its ports set it",
			mtus: "br0 1500 p 1500",
			more: "link add name new mtu 1400 type veth peer name old\nlink set dev new master br0"},
		{name: "a guest's port lowers an unconfigured bridge",
			ip: "link add name br0 type bridge\nlink add name up mtu 9000 type vxlan id 5 dstport 4789\nlink set dev up master br0\nlink add " +
				"name p mtu 1500 type veth peer name q\nlink set dev p master br0",
			want: "warning a local port makes the bridge's MTU smaller than that of its uplink up",
			mtus: "br0 9000 up 9000 p 9000"},
		{name: "set above the uplink",
			ip: "link add name br0 type bridge\nlink add name up mtu 1500 type vxlan id 5 dstport 4789\nlink set dev up master br0\nlink set " +
				"dev br0 mtu 9000",
			want: "warning the bridge's MTU exceeds that of its uplink up: larger packets are dropped",
			mtus: "br0 1500 up 1500"},
		{name: "ports disagree",
			ip: "link add name br0 type bridge\nlink add name p mtu 8950 type veth peer name q\nlink set dev p master br0\nlink add name r " +
				"type veth peer name s\nlink set dev r master br0",
			want: "notice the bridge's ports have different MTUs: packets too large for a port are dropped there",
			mtus: "br0 1500 p 1500 r 1500",
			more: "link add name new mtu 1400 type veth peer name old\nlink set dev new master br0"},
		{name: "netplan gives a port another MTU",
			etc: map[string]string{"/etc/netplan/50.yaml": "network:\n  ethernets:\n    up:\n      mtu: 9000 # too much\n  bridges:\n    br0:\n " +
				"     interfaces: [up]\n      mtu: 1500\n"},
			ip: "link add name br0 type bridge\nlink add name up mtu 9000 " +
				"type vxlan id 5 dstport 4789\nlink set dev up master br0", want: "warning the bridge does not have the configured MTU 1500: its " +
				"ports set it",
			mtus: "br0 1500 up 1500",
			changed: map[string]string{"/etc/netplan/50.yaml": "network:\n  ethernets:\n    up:\n      mtu: 1500 # too much\n  bridges:\n    " +
				"br0:\n      interfaces: [up]\n      mtu: 1500\n"}},
		{name: "a VLAN port below a jumbo bridge", // a macvlan stands in: like a VLAN, it may not exceed its lower device
			etc: map[string]string{interfaces: "iface up inet manual\niface br0 inet manual\n  mtu 9000\n  bridge_ports up.5\n"},
			ip: "link add name br0 type bridge\nlink add name up mtu 1500 type vxlan id 5 dstport 4789\nlink add link up name up.5 type " +
				"macvlan\nlink set dev up.5 master br0",
			want:    "warning the bridge does not have the configured MTU 9000: its ports set it",
			mtus:    "br0 9000 up 9000 up.5 9000",
			changed: map[string]string{interfaces: "iface up inet manual\n    mtu 9000\niface br0 inet manual\n  mtu 9000\n  bridge_ports up.5\n"}},
		{name: "networkd",
			etc: map[string]string{"/etc/systemd/network/br0.netdev": "[NetDev]\nName=br0\nKind=bridge\n",
				"/etc/systemd/network/br0.network": "[Match]\nName=br0\n",
				"/etc/systemd/network/up.network":  "[Match]\nName=up\n[Link]\nMTUBytes=9000\n[Network]\nBridge=br0\n"},
			ip: "link add name br0 type bridge\nlink add name up mtu 9000 type vxlan id 5 dstport 4789\nlink set dev up master br0\nlink " +
				"add name p type veth peer name q\nlink set dev p master br0",
			want:    "warning a local port makes the bridge's MTU smaller than that of its uplink up",
			mtus:    "br0 9000 up 9000 p 9000",
			changed: map[string]string{"/etc/systemd/network/br0.network.d/90-fettle-mtu.conf": "[Link]\nMTUBytes=9000\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			etcOf(t, c.etc)
			clean(t)
			script(t, c.ip)
			before := read(t, c.etc)
			f := one(t)
			if got := f.Severity.String() + " " + f.Summary; f.Status != trap.Found || got != c.want {
				t.Fatalf("found %q (%s %s)\nwant  %q", got, f.Status, f.Reason, c.want)
			}
			p, err := Trap.Plan(t.Context(), live(t), f)
			must(t, err)
			if p.CutsConnection {
				t.Error("a bridge without addresses carries nobody's connection")
			}
			eng := &remedy.Engine{Store: store(t), Machine: machine.New()}
			ch, err := eng.Apply(t.Context(), remedy.Head{Trap: "bridge-mtu", Subject: f.Subject, Plan: p}, verify(t))
			must(t, err)
			for w := strings.Fields(c.mtus); len(w) > 0; w = w[2:] {
				if got := fmt.Sprint(mtu(t, w[0])); got != w[1] {
					t.Errorf("after the fix %s has %s, want %s", w[0], got, w[1])
				}
			}
			for name, want := range c.changed {
				if b, err := os.ReadFile(name); err != nil || string(b) != want {
					t.Errorf("%s: %v\n%s", name, err, b)
				}
			}
			if c.more != "" {
				pinned := mtu(t, "br0")
				script(t, c.more)
				if got := mtu(t, "br0"); got != pinned {
					t.Errorf("the bridge has %d after %q: nothing pins it", got, c.more)
				}
				script(t, "link del dev new")
			}
			_, err = eng.Undo(t.Context(), ch.ID, remedy.UndoOptions{})
			must(t, err)
			if got := read(t, c.etc); got != before {
				t.Errorf("undo left the files otherwise:\n%s\nbefore:\n%s", got, before)
			}
			for name := range c.changed {
				if _, ok := c.etc[name]; !ok {
					if _, err := os.Stat(name); err == nil {
						t.Errorf("undo left %s behind", name)
					}
				}
			}
			if f := one(t); f.Status != trap.Found || f.Severity.String()+" "+f.Summary != c.want && !strings.HasSuffix(f.Summary, "MTU 1500") {
				t.Errorf("after undo: %+v", f)
			}
		})
	}
}

// testAdrift: the field note's bridge, made with 1500 and configured nowhere. The
// commands that are named keep the next port from moving it.
func testAdrift(t *testing.T) {
	etcOf(t, nil)
	clean(t)
	script(t, "link add name br9 mtu 1500 type bridge\nlink add name j0 mtu 8950 type veth peer name j1\nlink set dev j0 master br9")
	f := one(t)
	if f.Status != trap.Found || f.Severity != trap.Notice || mtu(t, "br9") != 8950 {
		t.Fatalf("%+v", f)
	}
	if _, err := Trap.Plan(t.Context(), live(t), f); err == nil || !strings.Contains(err.Error(), "which MTU is wanted") {
		t.Errorf("%v", err)
	}
	_, named, _ := strings.Cut(f.ByHand, "in this order: ")
	named, _, _ = strings.Cut(named, "; what adds")
	script(t, strings.ReplaceAll(strings.ReplaceAll(named, "; ", "\n"), "ip link", "link"))
	if o := one(t); o.Status != trap.Clear {
		t.Errorf("after %q: %+v", named, o)
	}
	script(t, "link add name new mtu 8950 type veth peer name old\nlink set dev new master br9")
	if got := mtu(t, "br9"); got != 1500 {
		t.Errorf("after %q the next port makes it %d", named, got)
	}
}

// testInnocent: hosts that are in order, and must not be cried at.
func testInnocent(t *testing.T) {
	for name, c := range map[string]struct{ etc, ip, want string }{
		"an empty bridge without configuration": {"", "link add name br0 type bridge", "clear"},
		"docker's bridge with containers": {"", "link add name br0 type bridge\nlink add name p " +
			"type veth peer name q\nlink set dev p master br0", "clear"},
		"all of them jumbo": {"iface br0 inet manual\n mtu 9000\n bridge_ports up\n", "link add name up mtu 9000 type vxlan id 5 dstport " +
			"4789\nlink add name br0 type bridge\nlink set dev up master br0", "clear"},
		"pinned below its uplink on purpose": {"", "link add name up mtu 9000 type vxlan id 5 dstport 4789\nlink add name br0 type " +
			"bridge\nlink set dev up master br0\nlink set dev br0 mtu 1500", "clear"},
		"a tunnel's MTU on its ports": {"", "link add name br0 type bridge\nlink add name p mtu 1450 type veth peer name q\nlink set dev p " +
			"master br0", "clear"},
		"jumbo like its uplink": {"", "link add name up mtu 9000 type vxlan id 5 dstport 4789\nlink add name br0 type bridge\nlink set dev up " +
			"master br0\nlink add name p mtu 9000 type veth peer name q\nlink set dev p master br0", "clear"},
		"docker's, of 9001": {"", "link add name docker0 type bridge\nlink add name p mtu 9001 type veth peer name q\nlink set dev p " +
			"master docker0", "clear"},
		"no bridge": {"iface eth0 inet dhcp\n", "link add name up mtu 1500 type vxlan id 5 dstport 4789", "not-applicable"},
	} {
		t.Run(name, func(t *testing.T) {
			etcOf(t, map[string]string{interfaces: c.etc})
			clean(t)
			script(t, c.ip)
			if f := one(t); string(f.Status) != c.want {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestCutsConnection: a bridge with an address may be what the admin came over.
func TestCutsConnection(t *testing.T) {
	b := &bridge{name: "br0"}
	for addr, want := range map[string]bool{"192.0.2.1 global": true, "2001:db8::1 global": true, "fe80::1 link": false} {
		local, scope, _ := strings.Cut(addr, " ")
		s := &survey{links: map[string]host.Link{"br0": {Name: "br0", Addrs: []host.Addr{{Local: local, Scope: scope}}}}}
		if got := b.carries(s); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
