package netconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// show writes what Iface says, in one line.
func show(i Iface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", i.Manager)
	if len(i.Claims) > 1 {
		fmt.Fprintf(&b, " of %v", i.Claims)
	}
	if i.Kind != "" {
		fmt.Fprintf(&b, " %s", i.Kind)
	}
	if i.MTU != nil {
		fmt.Fprintf(&b, " mtu=%d@%s", i.MTU.N, i.MTU.Source)
	}
	for name, s := range map[string]*Statement{"bridge": i.Bridge} {
		if s != nil {
			fmt.Fprintf(&b, " %s=%s@%s", name, s.Value, s.Source)
		}
	}
	for _, p := range i.Ports {
		fmt.Fprintf(&b, " port=%s@%s", p.Value, p.Source)
	}
	if i.Parent != nil {
		fmt.Fprintf(&b, " parent=%s", i.Parent.Value)
	}
	if i.AcceptRA != nil {
		fmt.Fprintf(&b, " ra=%s@%s", i.AcceptRA.Value, i.AcceptRA.Source)
	}
	if i.IPv6Forwarding != nil {
		fmt.Fprintf(&b, " fwd=%s@%s", i.IPv6Forwarding.Value, i.IPv6Forwarding.Source)
	}
	if i.Method6 != nil {
		fmt.Fprintf(&b, " method6=%s", i.Method6.Value)
	}
	if i.DHCP6 != nil {
		fmt.Fprintf(&b, " dhcp6=%s", i.DHCP6.Value)
	}
	for _, s := range i.Sysctls {
		fmt.Fprintf(&b, " %s:%s", s.Phase, s.Value)
	}
	for _, err := range i.Unsure {
		fmt.Fprintf(&b, " unsure(%v)", err)
	}
	return b.String()
}

const linksTable = `-- table/links --
[{"ifindex":2,"ifname":"eth0","mtu":1500,"link_type":"ether","address":"52:54:00:00:00:01","flags":[],"addr_info":[]},
 {"ifindex":3,"ifname":"eth1","mtu":1500,"link_type":"ether","address":"52:54:00:00:00:02","flags":[],"addr_info":[]},
 {"ifindex":4,"ifname":"br0","mtu":1500,"link_type":"ether","address":"52:54:00:00:00:03","flags":[],"linkinfo":{"info_kind":"bridge"},"addr_info":[]}]
`

func TestIface(t *testing.T) {
	for _, c := range []struct {
		name, host string
		want       map[string]string
		problems   string
	}{
		{"ifupdown", `
-- root/etc/network/interfaces --
# a comment with mtu 1
source /etc/network/interfaces.d/*
source-directory more
auto lo eth0
iface lo inet loopback

allow-hotplug eth1
iface eth0 inet manual
	mtu 9000
	pre-up echo 2 > /proc/sys/net/ipv6/conf/$IFACE/accept_ra
	up sysctl -w net.ipv6.conf.eth0/10.forwarding=1 || true

iface br0 inet static
    address 192.0.2.1/24
    bridge_ports eth0 eth1
    mtu \
      1500
    post-up /sbin/ip link set dev eth2 mtu 1400 && true
iface br0 inet6 static
    accept_ra 2
iface common inet manual
    mtu 1492
iface eth3 inet manual inherits common
iface eth4 inet6 auto
    mtu 9000
iface eth5 inet manual
    mtu 9000
iface eth5 inet6 static
    mtu 1500
iface eth6 inet6 manual
    mtu 9000
iface eth7 inet dhcp
    mtu 9000
iface br7 inet dhcp
    mtu 9000
    bridge_ports eth7
-- root/etc/network/interfaces.d/vlan --
iface eth0.10 inet manual
-- root/etc/network/more/ok-1 --
iface dmy0 inet manual
   mtu 1300
-- root/etc/network/more/not.read --
iface dmy1 inet manual
   mtu 1300
`, map[string]string{
			"eth0": "ifupdown mtu=1500@/etc/network/interfaces:16 bridge=br0@/etc/network/interfaces:15 pre-up:net/ipv6/conf/eth0/accept_ra=2 " +
				"up:net/ipv6/conf/eth0.10/forwarding=1",
			"eth1": " mtu=1500@/etc/network/interfaces:16 bridge=br0@/etc/network/interfaces:15",
			"br0": "ifupdown bridge mtu=1500@/etc/network/interfaces:16 port=eth0@/etc/network/interfaces:15 " +
				"port=eth1@/etc/network/interfaces:15 ra=2@/etc/network/interfaces:20 method6=static",
			"eth2":    " mtu=1400@/etc/network/interfaces:18",
			"eth3":    "ifupdown mtu=1492@/etc/network/interfaces:22",
			"eth5":    "ifupdown mtu=9000@/etc/network/interfaces:27 method6=static",
			"eth6":    "ifupdown mtu=9000@/etc/network/interfaces:31 method6=manual",
			"eth7":    "ifupdown mtu=9000@/etc/network/interfaces:35 bridge=br7@/etc/network/interfaces:36",
			"br7":     "ifupdown bridge mtu=9000@/etc/network/interfaces:35 port=eth7@/etc/network/interfaces:36",
			"eth4":    "ifupdown ra=2@/etc/network/interfaces:24 method6=auto",
			"eth0.10": "ifupdown vlan parent=eth0",
			"dmy0":    "ifupdown mtu=1300@/etc/network/more/ok-1:2",
			"dmy1":    "",
		}, ""},
		{"ifupdown broken", `
-- root/etc/network/interfaces --
mtu 1500
iface
iface eth0 inet manual
  mtu lots
source /etc/network/interfaces
iface eth1 inet manual
  mtu 1400
`, map[string]string{"eth0": "ifupdown", "eth1": "ifupdown mtu=1400@/etc/network/interfaces:7"},
			`/etc/network/interfaces:1: an option outside of any stanza`},
		{"ifupdown in a circle", `
-- root/etc/network/interfaces --
source /etc/network/interfaces.d/*
source-directory /etc/network/interfaces.d
iface eth1 inet manual
  mtu 1400
-- root/etc/network/interfaces.d/a --
source /etc/network/interfaces.d/*
source /etc/network/interfaces
-- root/etc/network/interfaces.d/b --
source /etc/network/interfaces.d/*
`, map[string]string{"eth1": "ifupdown mtu=1400@/etc/network/interfaces:4"},
			"/etc/network/interfaces: names itself in its \"source\" lines, by way of /etc/network/interfaces.d/a"},
		{"ifupdown mtu twice", `
-- root/etc/network/interfaces --
iface t inet manual
  mtu 9000
iface eth0 inet static inherits t
  mtu 1500
`, map[string]string{"eth0": "ifupdown mtu=1500@/etc/network/interfaces:4"}, "/etc/network/interfaces:4: mtu of eth0 is set here and " +
			"at /etc/network/interfaces:2"},
		{"netplan", linksTable + `
-- root/etc/netplan/01-a.yaml --
network:
  version: 2
  renderer: networkd
  ethernets:
    lan:
      match: {macaddress: "52:54:00:00:00:01"}
      mtu: 1500   # as delivered
    eth1: {mtu: 9000, accept-ra: false}
  bridges:
    br0:
      interfaces: [lan]
      mtu: 1500
-- root/etc/netplan/02-b.yaml --
network:
  bridges:
    br0:
      dhcp6: true
      interfaces:
        - eth1
      mtu: 9000
-- root/usr/lib/netplan/02-b.yaml --
network: {bridges: {br0: {mtu: 1}}}
`, map[string]string{
			"br0": "netplan bridge mtu=9000@/etc/netplan/02-b.yaml:7 " +
				"port=eth0@/etc/netplan/01-a.yaml:11 port=eth1@/etc/netplan/02-b.yaml:6 dhcp6=yes",
			"eth0": "netplan mtu=1500@/etc/netplan/01-a.yaml:7 bridge=br0@/etc/netplan/01-a.yaml:11",
			"eth1": "netplan mtu=9000@/etc/netplan/01-a.yaml:8 bridge=br0@/etc/netplan/02-b.yaml:6 ra=no@/etc/netplan/01-a.yaml:8",
		}, ""},
		{"netplan broken", `
-- root/etc/netplan/01-a.yaml --
network:
  bridges:
   br0: {mtu: many}
   br1: {mtu: 1400}
-- root/etc/netplan/02-b.yaml --
network:
  bridges: [
`, map[string]string{"br0": "netplan bridge", "br1": "netplan bridge mtu=1400@/etc/netplan/01-a.yaml:4"}, "/etc/netplan/01-a.yaml:3: mtu:"},
		{"netplan denied", `
-- denied/etc/netplan/01-a.yaml --
-- stat/etc/netplan/01-a.yaml --
mode 0600
`, map[string]string{"br0": ""}, "permission denied"},
		{"networkd", linksTable + `
-- root/etc/systemd/network/br0.netdev --
[NetDev]
Name=br0
Kind=bridge
MTUBytes=1K
-- root/etc/systemd/network/20-br0.network --
[Match]
Name=br0
[Link]
MTUBytes=1500
[Network]
IPv6AcceptRA=no
IPForward=ipv6
DHCP=ipv6
-- root/etc/systemd/network/30-eth.network --
[Match]
Name=eth* !eth9
Type=ether
[Network]
Bridge=br0
-- root/etc/systemd/network/30-eth.network.d/mtu.conf --
; drop-in
[Link]
MTUBytes=9000
-- root/etc/systemd/network/10-eth1.network --
[Match]
MACAddress=52-54-00-00-00-02
[Network]
Bridge=br0
-- link/etc/systemd/network/05-all.network --
/dev/null
-- root/usr/lib/systemd/network/05-all.network --
[Match]
Name=*
[Link]
MTUBytes=68
-- link/etc/systemd/network/04-all.network --
../../../dev/null
-- root/usr/lib/systemd/network/04-all.network --
[Match]
Name=*
[Link]
MTUBytes=69
-- root/etc/systemd/network/.01-old.network --
[Match]
Name=*
[Link]
MTUBytes=70
-- root/etc/systemd/network/06-card.network --
[Match]
Driver=virtio_net
[Link]
MTUBytes=1400
`, map[string]string{
			"br0": "systemd-networkd bridge mtu=1500@/etc/systemd/network/20-br0.network:4 port=eth0@/etc/systemd/network/30-eth.network:5 " +
				"port=eth1@/etc/systemd/network/10-eth1.network:4 ra=no@/etc/systemd/network/20-br0.network:6 " +
				"fwd=yes@/etc/systemd/network/20-br0.network:7 dhcp6=yes unsure(/etc/systemd/network/06-card.network may be about br0: it matches " +
				"by Driver, which is not known here)",
			"eth0": "systemd-networkd mtu=9000@/etc/systemd/network/30-eth.network.d/mtu.conf:3 " +
				"bridge=br0@/etc/systemd/network/30-eth.network:5 unsure(/etc/systemd/network/06-card.network may be about eth0: it matches by " +
				"Driver, which is not known here)",
			"eth1": "systemd-networkd bridge=br0@/etc/systemd/network/10-eth1.network:4 unsure(/etc/systemd/network/06-card.network may be " +
				"about eth1: it matches by Driver, which is not known here)",
		}, ""},
		{"networkd broken", `
-- root/etc/systemd/network/br0.network --
[Match
Name=br1
[Match]
Name=br0
nonsense
[Link]
MTUBytes=big
`, map[string]string{"br0": "systemd-networkd"}, "/etc/systemd/network/br0.network:1: a section"},
		{"NetworkManager", linksTable + `
-- root/etc/NetworkManager/system-connections/br0.nmconnection --
[connection]
id=bridge
uuid=11111111-0000-0000-0000-000000000000
type=bridge
interface-name=br0

[ethernet]
mtu=1500

[ipv6]
method=auto
-- root/etc/NetworkManager/system-connections/port.nmconnection --
[connection]
id=port
uuid=22222222-0000-0000-0000-000000000000
type=ethernet
interface-name=eth0
controller=11111111-0000-0000-0000-000000000000
port-type=bridge
[802-1x]
password=hunter2
[ethernet]
mtu=9000
-- root/usr/lib/NetworkManager/system-connections/old.nmconnection --
[connection]
uuid=22222222-0000-0000-0000-000000000000
interface-name=eth0
[ethernet]
mtu=1
-- root/etc/NetworkManager/system-connections/weak.nmconnection --
[connection]
uuid=33333333-0000-0000-0000-000000000000
type=ethernet
interface-name=eth0
autoconnect-priority=-10
[ethernet]
mtu=1234
`, map[string]string{
			"br0": "NetworkManager bridge mtu=1500@/etc/NetworkManager/system-connections/br0.nmconnection:8 " +
				"port=eth0@/etc/NetworkManager/system-connections/port.nmconnection:6 method6=auto",
			"eth0": "NetworkManager mtu=9000@/etc/NetworkManager/system-connections/port.nmconnection:11 " +
				"bridge=br0@/etc/NetworkManager/system-connections/port.nmconnection:6",
		}, ""},
		{"libvirt", `
-- root/etc/libvirt/qemu/networks/default.xml --
<!-- written by libvirt -->
<network>
  <name>default</name>
  <forward mode='nat'/>
  <bridge name='virbr0' stp='on' delay='0'/>
  <mtu size='9000'/>
</network>
-- root/etc/libvirt/qemu/networks/host.xml --
<network><name>host</name><forward mode="bridge"/><bridge name="br0"/></network>
-- root/etc/libvirt/qemu/networks/broken.xml --
<network>
 <bridge name='virbr9'>
`, map[string]string{"virbr0": "libvirt bridge mtu=9000@/etc/libvirt/qemu/networks/default.xml:6", "br0": ""}, "broken.xml:3: "},
		{"who is in charge", `
-- root/etc/network/interfaces --
iface eth0 inet dhcp
-- root/etc/systemd/network/eth0.network --
[Match]
Name=eth0
-- link/etc/systemd/system/multi-user.target.wants/systemd-networkd.service --
/lib/systemd/system/systemd-networkd.service
`, map[string]string{"eth0": "systemd-networkd of [ifupdown systemd-networkd]"}, ""},
		{"who runs", `
-- root/etc/network/interfaces --
iface eth0 inet dhcp
-- root/etc/systemd/network/eth0.network --
[Match]
Name=eth0
-- stat/run/systemd/system --
type dir
-- command/systemctl show --property=Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,Type,MainPID,CanReload,RefuseManualStart,RefuseManualStop,NeedDaemonReload -- NetworkManager.service networking.service systemd-networkd.service --
Id=NetworkManager.service
LoadState=not-found
ActiveState=inactive
SubState=dead
UnitFileState=

Id=networking.service
LoadState=loaded
ActiveState=active
SubState=dead
UnitFileState=enabled

Id=systemd-networkd.service
LoadState=loaded
ActiveState=inactive
SubState=dead
UnitFileState=disabled
`, map[string]string{"eth0": "ifupdown of [ifupdown systemd-networkd]"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, problems := Read(t.Context(), hosttest.New(t, strings.TrimPrefix(c.host, "\n")))
			for name, want := range c.want {
				if got := show(cfg.Iface(name)); got != want {
					t.Errorf("%s:\n got %s\nwant %s", name, got, want)
				}
			}
			if c.problems == "" && len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if c.problems != "" && !strings.Contains(errors.Join(problems...).Error(), c.problems) {
				t.Errorf("problems %v, want %q among them", problems, c.problems)
			}
		})
	}
}

// TestSecrets: what is kept of a keyfile holds no secret.
func TestSecrets(t *testing.T) {
	cfg, _ := Read(t.Context(), hosttest.New(t, `-- root/etc/NetworkManager/system-connections/w.nmconnection --
[connection]
uuid=1
interface-name=wlan0
[wifi]
mtu=1400
[wifi-security]
psk=correct horse
`))
	b, err := json.Marshal(cfg.Iface("wlan0"))
	if s := string(b); err != nil || strings.Contains(s, "horse") || !strings.Contains(s, "mtu=1400") {
		t.Errorf("what is kept: %s %v", s, err)
	}
}

func TestUnreadableIsNotAbsent(t *testing.T) {
	_, problems := Read(t.Context(), hosttest.New(t, "incomplete: true\n"))
	var p *Problem
	if len(problems) == 0 || !errors.As(problems[0], &p) || !errors.Is(problems[0], host.ErrNotCollected) {
		t.Errorf("an empty, incomplete capture: %v", problems)
	}
	_, problems = Read(t.Context(), hosttest.New(t, "kind: root\n"))
	if len(problems) != 0 {
		t.Errorf("an empty root folder has no /run, which is no problem: %v", problems)
	}
}

func TestUpLines(t *testing.T) {
	for line, want := range map[string]string{
		"ip link set dev eth0 mtu 1400":            "eth0 1400",
		"/sbin/ip -4 link set eth0 up mtu 1400":    "eth0 1400",
		"ifconfig eth0 mtu 9000 up":                "eth0 9000",
		"ip link set dev eth0 mtu $MTU":            "",
		"ip link show eth0 mtu 5":                  "",
		"ip link add name v0 mtu 1400 type dummy":  "",
		"echo mtu 1400":                            "",
		"test -x /sbin/ip && ip l set eth0 mtu 10": "eth0 10",
	} {
		r := &reader{ctx: t.Context(), c: &Config{}}
		r.upLine(&profile{}, "", option{name: "up", value: line})
		got := ""
		if len(r.c.profiles) > 0 {
			got = r.c.profiles[0].name + " " + r.c.profiles[0].st[0].Value
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
