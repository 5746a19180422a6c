// Package proof restarts a host that gets its address from a DHCP server which takes some seconds to answer.
package proof

import (
	"time"

	"fettle/lab"
)

const trapName = "listen-address-late"

var needs = lab.Needs{Systemd: true, Limit: 10 * time.Minute, Modules: []string{"veth", "af_packet"},
	Files: []string{"/usr/lib/systemd/systemd-networkd", "/usr/lib/systemd/systemd-networkd-wait-online"},
	Tools: []string{"sh", "ip", "sleep", "dnsmasq", "systemctl", "mkdir", "grep", "cat", "mount", "journalctl"}}

func file(name, text string) lab.Act {
	return lab.Act{Write: &lab.File{Path: name, Mode: 0o644, Content: text}}
}

const units = "/etc/systemd/system/"

// Where /sys is read-only, networkd does not wait for udev, which the machine lacks (systemd 252, src/shared/udev-util.c, udev_available).

// prepare is a host with systemd-networkd, whose link leads to a DHCP server in the same machine, and a name server that
// listens on the address from it.
var prepare = []lab.Act{
	file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nsystemd-network:x:998:998::/:/bin/false\n"),
	file("/etc/group", "root:x:0:\nsystemd-network:x:998:\n"),
	file("/etc/systemd/network/cli0.network", "[Match]\nName=cli0\n[Network]\nDHCP=ipv4\n"),
	file(units+"cable.service", "[Unit]\nDefaultDependencies=no\nBefore=systemd-networkd.service\n[Service]\nType=oneshot\n"+
		"RemainAfterExit=yes\nExecStart=/bin/sh -c 'ip link add cli0 type veth peer name srv0; ip address add 10.77.0.1/24 dev srv0; "+
		"ip link set srv0 up; mount -o remount,bind,ro /sys'\n[Install]\nWantedBy=multi-user.target\n"),
	file(units+"dhcp-server.service", "[Service]\nExecStartPre=/bin/sleep 5\nExecStart=/usr/sbin/dnsmasq -k -C /dev/null --port=0 "+
		"--interface=srv0 --bind-interfaces --dhcp-range=10.77.0.9,10.77.0.9,1h --dhcp-leasefile=/run/leases --user=root --group=root\n"+
		"[Install]\nWantedBy=multi-user.target\n"),
	file(units+"names.service", "[Unit]\nAfter=network.target\n[Service]\nExecStart=/usr/sbin/dnsmasq -k -C /etc/names.conf\n"+
		"[Install]\nWantedBy=multi-user.target\n"),
	file("/etc/names.conf", "listen-address=10.77.0.9\nbind-interfaces\nno-resolv\nno-hosts\nuser=root\ngroup=root\n"),
	{Run: []string{"systemctl", "daemon-reload"}},
	{Run: []string{"systemctl", "enable", "systemd-networkd.service", "systemd-networkd-wait-online.service", "cable.service",
		"dhcp-server.service", "names.service"}},
}

// settled waits for the address, and a little more.
var settled = lab.Act{Expect: &lab.Expect{Has: "inet 10.77.0.9", Run: []string{"sh", "-c",
	"i=0; while [ $i -lt 40 ]; do ip -4 address show cli0 | grep -q 10.77.0.9 && break; sleep 1; i=$((i+1)); done; sleep 3; ip -4 address; " +
		"journalctl -b -q -u systemd-networkd -u dhcp-server"}}}

func state(want string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"sh", "-c", "systemctl show -p ActiveState names.service; journalctl -b -q -u names"},
		Has: "ActiveState=" + want}}
}

// checked is lab.Checked with more time: the machine has one slow processor.
func checked(status int, want map[string]string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"fettle", "check", trapName, "--format", "json", "--limit", "2m"}, Status: status,
		Outcomes: want}}
}

const subject = "names.service on 10.77.0.9"

// Scenarios: the service that runs today is dead after the restart, with the drop-in it is not.
var Scenarios = []lab.Scenario{{
	Name:  "dhcp",
	About: "dnsmasq listens on the address from DHCP: found before the restart, dead after it; with network-online.target it runs",
	Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: prepare},
		{Name: "first-start", Acts: []lab.Act{{Restart: lab.RestartClean}, settled, {Run: []string{"systemctl", "restart", "names.service"}},
			{Run: []string{"sleep", "1"}}, state("active")}},
		{Name: "told", Acts: []lab.Act{checked(1, map[string]string{subject: "found"})}},
		{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean}, settled, state("failed")}},
		{Name: "drop-in", Acts: []lab.Act{
			file(units+"names.service.d/wait.conf", "[Unit]\nWants=network-online.target\nAfter=network-online.target\n"),
			{Run: []string{"systemctl", "daemon-reload"}}, {Run: []string{"systemctl", "restart", "names.service"}}, state("active"),
			checked(0, lab.Nothing)}},
		{Name: "restart-again", Acts: []lab.Act{{Restart: lab.RestartClean}, settled, state("active")}},
	},
}}
