package netconf

import (
	"strings"
	"testing"

	"fettle/host/hosttest"
)

func TestSetMTU(t *testing.T) {
	for _, c := range []struct {
		name, host, iface string
		path, want        string // the changed lines, or the refusal
	}{
		{"ifupdown replace", "-- root/etc/network/interfaces --\n# mtu 9000\niface eth0 inet manual\n\tmtu   9000\niface eth0 inet6 " +
			"manual\n\tmtu 9000\n\tup ip link set dev eth0 mtu 9000\n",
			"eth0", "/etc/network/interfaces", "# mtu 9000\niface eth0 inet manual\n\tmtu   1500\niface eth0 inet6 manual\n\tmtu 1500\n\tup ip " +
				"link set dev eth0 mtu 1500\n"},
		{"ifupdown add", "-- root/etc/network/interfaces --\niface eth0 inet \\\n static\n\taddress 192.0.2.1\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet \\\n static\n\tmtu 1500\n\taddress 192.0.2.1\n"},
		{"ifupdown dhcp", "-- root/etc/network/interfaces --\niface eth0 inet dhcp",
			"eth0", "/etc/network/interfaces", "iface eth0 inet dhcp\n    pre-up ip link set dev eth0 mtu 1500\n"},
		{"ifupdown bridge with dhcp", "-- root/etc/network/interfaces --\niface br0 inet dhcp\n  bridge-ports eth0\n",
			"br0", "/etc/network/interfaces", "iface br0 inet dhcp\n  post-up ip link set dev br0 mtu 1500\n  bridge-ports eth0\n"},
		{"ifupdown port without stanza", "-- root/etc/network/interfaces --\niface br0 inet static\n  bridge_ports eth0\n",
			"eth0", "/etc/network/interfaces", "iface br0 inet static\n  pre-up ip link set dev eth0 mtu 1500\n  bridge_ports eth0\n"},
		{"ifupdown bridge gives it", "-- root/etc/network/interfaces --\niface br0 " +
			"inet static\n  bridge_ports eth0\n  mtu 1500\n", "eth0", "", ""},
		{"ifupdown template", "-- root/etc/network/interfaces --\niface t inet manual\n  mtu 9000\niface eth0 inet static inherits t\n  " +
			"address 192.0.2.1/24\n",
			"eth0", "", "eth0 inherits its MTU from the stanza at " +
				"/etc/network/interfaces:2, which others may inherit too: set the MTU to 1500 by hand"},
		{"ifupdown dhcp with an mtu that does nothing", "-- root/etc/network/interfaces --\niface eth0 inet dhcp\n  mtu 1500\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet dhcp\n  pre-up ip link set dev eth0 mtu 1500\n  mtu 1500\n"},
		{"ifupdown dhcp with a larger mtu that does nothing", "-- root/etc/network/interfaces --\niface eth0 inet dhcp\n  mtu 9000\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet dhcp\n  pre-up ip link set dev eth0 mtu 1500\n  mtu 9000\n"},
		{"ifupdown inet6 auto with an mtu that does nothing", "-- root/etc/network/interfaces --\niface eth0 inet static\n  mtu 1400\n" +
			"iface eth0 inet6 auto\n  mtu 9000\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet static\n  mtu 1500\niface eth0 inet6 auto\n  mtu 9000\n"},
		{"ifupdown inet6 with a smaller mtu of its own", "-- root/etc/network/interfaces --\niface eth0 inet static\n  mtu 9000\n" +
			"iface eth0 inet6 static\n  mtu 1280\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet static\n  mtu 1500\niface eth0 inet6 static\n  mtu 1280\n"},
		{"networkd pattern of ports of two bridges", linksTable +
			"-- root/etc/systemd/network/10-eth1.network --\n[Match]\nName=eth1\n[Network]\n" +
			"Bridge=br1\n-- root/etc/systemd/network/eth.network --\n[Match]\nName=e*\n[Network]\nBridge=br0\n",
			"eth0", "/etc/systemd/network/eth.network.d/90-fettle-mtu.conf", "[Link]\nMTUBytes=1500\n"},
		{"netplan that is not read whole", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0: {dhcp4: yes}\r\n", "eth0", "",
			"/etc/netplan/a.yaml has Windows line ends: change it by hand"},
		{"netplan replace with Windows line ends", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0: {mtu: 9000}\r\n", "eth0", "",
			"/etc/netplan/a.yaml has Windows line ends: change it by hand"},
		{"keyfile with Windows line ends", "-- root/etc/NetworkManager/system-connections/a --\n[connection]\r\ninterface-name=eth0\r\n", "eth0",
			"",
			"/etc/NetworkManager/system-connections/a has Windows line ends: change it by hand"},
		{"ifupdown both families", "-- root/etc/network/interfaces --\niface eth0 inet6 static\n  address 2001:db8::1/64\niface eth0 inet " +
			"static\n  address 192.0.2.1/24\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet6 static\n  address 2001:db8::1/64\niface eth0 inet static\n  mtu 1500\n  " +
				"address 192.0.2.1/24\n"},
		{"ifupdown inet6 alone", "-- root/etc/network/interfaces --\niface eth0 inet6 static\n  address 2001:db8::1/64\n",
			"eth0", "/etc/network/interfaces", "iface eth0 inet6 static\n  pre-up ip link set dev eth0 mtu 1500\n  address 2001:db8::1/64\n"},
		{"netplan replace", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0:\n      mtu: 9000 # jumbo\n      dhcp4: yes\n",
			"eth0", "/etc/netplan/a.yaml", "network:\n  ethernets:\n    eth0:\n      mtu: 1500 # jumbo\n      dhcp4: yes\n"},
		{"netplan add", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    # " +
			"the uplink\n    eth0:\n      # no mtu yet\n      dhcp4: yes\n",
			"eth0", "/etc/netplan/a.yaml", "network:\n  ethernets:\n    # the uplink\n    eth0:\n  " +
				"    # no mtu yet\n      mtu: 1500\n      dhcp4: yes\n"},
		{"netplan flow", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0: {dhcp4: yes} # é\n    eth1: {}\n",
			"eth0", "/etc/netplan/a.yaml", "network:\n  ethernets:\n    eth0: {mtu: 1500, dhcp4: yes} # é\n    eth1: {}\n"},
		{"netplan empty", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0: {dhcp4: yes}\n    eth1: {}\n",
			"eth1", "/etc/netplan/a.yaml", "network:\n  ethernets:\n    eth0: {dhcp4: yes}\n    eth1: {mtu: 1500}\n"},
		{"netplan null", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth1:\n    eth0: {dhcp4: yes}\n",
			"eth1", "/etc/netplan/a.yaml", "network:\n  ethernets:\n    eth1: {mtu: 1500}\n    eth0: {dhcp4: yes}\n"},
		{"netplan two on a line", "-- root/etc/netplan/a.yaml --\nnetwork: {ethernets: {eth0: {mtu: 9000}, eth1: {mtu: 9000}}}\n",
			"eth0", "", "/etc/netplan/a.yaml:1: the line is written in a way that fettle does not change: set the MTU of eth0 to 1500 there"},
		{"networkd replace", "-- root/etc/systemd/network/eth0.network --\n[Match]\nName=eth0\n[Link]\nMTUBytes = 9K\n",
			"eth0", "/etc/systemd/network/eth0.network", "[Match]\nName=eth0\n[Link]\nMTUBytes = 1500\n"},
		{"networkd drop-in", "-- root/usr/lib/systemd/network/eth0.network --\n[Match]\nName=eth0\n[Link]\nMTUBytes=9000\n",
			"eth0", "/etc/systemd/network/eth0.network.d/90-fettle-mtu.conf", "[Link]\nMTUBytes=1500\n"},
		{"networkd netdev", "-- root/etc/systemd/network/br0.netdev --\n[NetDev]\nName=br0\nKind=bridge\n",
			"br0", "/etc/systemd/network/br0.netdev.d/90-fettle-mtu.conf", "[NetDev]\nMTUBytes=1500\n"},
		{"networkd pattern", linksTable + "-- root/etc/systemd/network/eth.network --\n[Match]\nName=eth*\n[Network]\nDHCP=yes\n",
			"eth0", "", "/etc/systemd/network/eth.network is also about eth1: give eth0 a .network file of its own with MTUBytes=1500 in its " +
				"[Link] section"},
		{"networkd pattern of ports", linksTable + "-- root/etc/systemd/network/eth.network --\n[Match]\nName=eth*\n[Network]\nBridge=br0\n",
			"eth0", "/etc/systemd/network/eth.network.d/90-fettle-mtu.conf", "[Link]\nMTUBytes=1500\n"},
		{"keyfile replace", "-- root/etc/NetworkManager/system-connections/a --\n[connection]\ninterface-name=eth0\n[ethernet]\nmtu=9000\n",
			"eth0", "/etc/NetworkManager/system-connections/a", "[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1500\n"},
		{"keyfile empty section", "-- root/etc/NetworkManager/system-connections/a " +
			"--\n[connection]\ninterface-name=eth0\n\n[ethernet]\n\n[ipv4]\nmethod=auto\n",
			"eth0", "/etc/NetworkManager/system-connections/a", "[connection]\ninterface-name=eth" +
				"0\n\n[ethernet]\nmtu=1500\n\n[ipv4]\nmethod=auto\n"},
		{"keyfile no section", "-- root/etc/NetworkManager/system-connections/a --\n[connection]\ninterface-name=eth0\n",
			"eth0", "/etc/NetworkManager/system-connections/a", "[connection]\ninterface-name=eth0\n\n[ethernet]\nmtu=1500\n"},
		{"libvirt", "-- root/etc/libvirt/qemu/networks/a.xml --\n<network><bridge name='virbr1'/></network>\n",
			"virbr1", "", "libvirt keeps virbr1's definition itself: set <mtu size='1500'/> with virsh net-edit, then net-destroy and net-start " +
				"the network"},
		{"keyfile of a package", "-- root/usr/lib/NetworkManager/system-connections/a --\n[connection]\ninterface-name=eth0\n", "eth0", "",
			"/usr/lib/NetworkManager/system-connections/a is not below /etc: use nmcli connection modify … 802-3-ethernet.mtu 1500"},
		{"keyfile not a number", "-- root/etc/NetworkManager/system-connections/a --\n[connection]\ninterface-name=eth0\n[ethernet]\n" +
			"mac-address-blacklist=\nmtu=1_500\n", "eth0", "/etc/NetworkManager/system-connections/a",
			"fettle does not understand /etc/NetworkManager/system-connections/a well " +
				"enough to change it: set the MTU of eth0 to 1500 there by hand"},
		{"keyfile behind another setting", "-- root/etc/NetworkManager/system-connections/a --\n[connection]\ninterface-name=eth0\n[ethernet]\n" +
			"wake-on-lan=0\n[ipv4]\nmethod=auto\n", "eth0", "/etc/NetworkManager/system-connections/a",
			"[connection]\ninterface-name=eth0\n[ethernet]\nwake-on-lan=0\nmtu=1500\n[ipv4]\nmethod=auto\n"},
		{"netplan of a package", "-- root/usr/lib/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0:\n      dhcp4: yes\n", "eth0", "",
			"/usr/lib/netplan/a.yaml:3: add mtu: 1500 to the definition of eth0 by hand"},
		{"netplan until the next start", "-- root/run/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0:\n      mtu: 9000\n", "eth0", "",
			"/run/netplan/a.yaml:4 belongs to a package or is created again at boot: set the MTU of eth0 to 1500 below /etc"},
		{"netplan flow from the next line on", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0:\n      {dhcp4: yes}\n", "eth0",
			"",
			"/etc/netplan/a.yaml:3: add mtu: 1500 to the definition of eth0 by hand"},
		{"netplan with an alias", "-- root/etc/netplan/a.yaml --\nnetwork:\n  ethernets:\n    eth0: *other\n    eth1: &other {dhcp4: yes}\n",
			"eth0", "",
			"/etc/netplan/a.yaml:3: add mtu: 1500 to the definition of eth0 by hand"},
		{"Windows", "-- root/etc/network/interfaces --\niface eth0 inet static\r\n  mtu 9000\r\n", "eth0", "",
			"/etc/network/interfaces has Windows line ends: change it by hand"},
		{"ifupdown in two files",
			"-- root/etc/network/interfaces --\nsource more\niface eth0 inet static\n  mtu 9000\n-- root/etc/network/more --\n" +
				"iface eth0 inet6 static\n  mtu 9001\n", "eth0", "", "the MTU of eth0 is set in /etc/network/interfaces and in /etc/network/more: " +
				"set it to 1500 in one place"},
		{"ifupdown in a variable", "-- root/etc/network/interfaces --\niface eth0 inet static\n  mtu 9000\n  up ip link set eth0 mtu 9000; " +
			"ip link set eth1 mtu 9000\n", "eth0", "", "/etc/network/interfaces:3: the line is written in a way that fettle does not change: " +
			"set the MTU of eth0 to 1500 there"},
		{"ifupdown continued", "-- root/etc/network/interfaces --\niface eth0 inet static\n  mtu \\\n  9000\n", "eth0", "",
			"/etc/network/interfaces:2: the line is written in a way that fettle does not change: set the MTU of eth0 to 1500 there"},
		{"networkd outvoted", "-- root/usr/lib/systemd/network/eth0.network --\n[Match]\nName=eth0\n-- root/etc/systemd/network/eth0.network.d/" +
			"99.conf --\n[Link]\nMTUBytes=8000\n", "eth0", "/etc/systemd/network/eth0.network.d/90-fettle-mtu.conf",
			"fettle does not understand /etc/systemd/network/eth0.network.d/90-fettle-mtu.conf well enough to change it: set the MTU of eth0 to " +
				"1500 there by hand"},
		{"networkd by a link file", "-- root/etc/systemd/network/eth0.link --\n[Match]\nOriginalName=eth0\n[Link]\nMTUBytes=8000\n", "eth0", "",
			"no .network file is about eth0: make one with MTUBytes=1500 in its [Link] section"},
		{"networkd pattern, no links known", "-- root/etc/systemd/network/eth.network --\n[Match]\nName=eth* en*\n", "eth0", "",
			"/etc/systemd/network/eth.network is also about eth* en*: give eth0 a .network file of its own " +
				"with MTUBytes=1500 in its [Link] section"},
		{"set already", "-- root/etc/network/interfaces --\niface eth0 inet static\n  mtu 1500\n", "eth0", "", ""},
		{"nobody", "\n", "tap0", "", "no configuration that fettle reads is about tap0: whatever makes it must give it the MTU 1500"},
		{"quarrel", "-- root/etc/network/interfaces --\niface eth0 inet dhcp\n-- root/etc/systemd/network/eth0.network --\n[Match]\nName=eth0\n",
			"eth0", "", "eth0 is configured by [ifupdown systemd-networkd]: " +
				"decide which of them keeps it, and set its MTU to 1500 there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _ := Read(t.Context(), hosttest.New(t, c.host))
			e, err := cfg.SetMTU(c.iface, 1500)
			got := string(e.Content)
			if err != nil {
				got = err.Error()
			}
			if got != c.want || e.Path != c.path {
				t.Errorf("%s:\n got %q\nwant %q", e.Path, got, c.want)
			}
			if err == nil && e.Path != "" && string(e.Was) == got {
				t.Error("an edit that changes nothing")
			}
		})
	}
}

func TestSecretEdits(t *testing.T) {
	cfg, _ := Read(t.Context(), hosttest.New(t, strings.TrimSpace(`
-- root/etc/netplan/a.yaml --
network:
  ethernets:
    eth0: {mtu: 9000}
  wifis:
    wlan0:
      access-points: {home: {password: "correct horse"}}
-- root/etc/network/interfaces --
iface eth5 inet manual
  mtu 9000
`)+"\n"))
	for iface, secret := range map[string]bool{"eth0": true, "eth5": false} {
		if e, err := cfg.SetMTU(iface, 1500); err != nil || e.Secret != secret {
			t.Errorf("%s: secret %v, want %v (%v)", iface, e.Secret, secret, err)
		}
	}
}
