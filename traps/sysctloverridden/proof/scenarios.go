// Package proof shows sysctl-overridden with the host's own systemd-sysctl.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"sysctl", "systemctl", "sh"}}

func file(name, text string) lab.Act {
	return lab.Act{Write: &lab.File{Path: name, Content: text, Mode: 0o644}}
}

var swappiness = []string{"sysctl", "-n", "vm.swappiness"}

// Scenarios: a value changed by hand, a file that a distribution's undoes, and
// files that agree.
var Scenarios = []lab.Scenario{
	{
		Name: "by-hand", About: "A parameter set at boot, and changed by hand", Needs: needs, Subject: "vm.swappiness", Vanishes: true,
		Prepare: []lab.Act{
			file("/etc/sysctl.d/50-mine.conf", "vm.swappiness = 11\n"),
			{Run: []string{"systemctl", "restart", "systemd-sysctl"}},
			{Run: []string{"sysctl", "-q", "vm.swappiness=77"}},
		},
		Probes: []lab.Probe{{Name: "vm.swappiness", Run: swappiness, Want: []string{"77", "11", "77"}}},
	},
	{
		Name: "several-words", About: "A parameter of three numbers, set at boot and changed by hand", Needs: needs,
		Subject: "net.ipv4.tcp_rmem", Vanishes: true,
		Prepare: []lab.Act{
			file("/etc/sysctl.d/50-mine.conf", "# memory of sockets\nnet.ipv4.tcp_rmem = 8192 131072  6291456\n"),
			{Run: []string{"systemctl", "restart", "systemd-sysctl"}},
			{Run: []string{"sysctl", "-q", "net.ipv4.tcp_rmem=4096 87380 1000000"}},
		},
		Probes: []lab.Probe{{Name: "net.ipv4.tcp_rmem", Run: []string{"sysctl", "-n", "net.ipv4.tcp_rmem"},
			Want: []string{`4096\s87380\s1000000`, `8192\s131072\s6291456`, `4096\s87380\s1000000`}}},
	},
	{
		Name: "undone", About: "A file in /etc whose name comes before one in /usr/lib", Needs: needs, Unfixable: true, Subject: "vm.swappiness",
		Prepare: []lab.Act{
			file("/etc/sysctl.d/10-mine.conf", "vm.swappiness = 11\n"),
			file("/usr/lib/sysctl.d/50-vendor.conf", "vm.swappiness = 33\n"),
			{Run: []string{"systemctl", "restart", "systemd-sysctl"}},
		},
		Probes: []lab.Probe{{Name: "vm.swappiness", Run: swappiness, Want: []string{"33"}}},
	},
	{
		Name: "agree", About: "A file in /etc that overrides one in /usr/lib", Needs: needs, Innocent: true,
		Prepare: []lab.Act{
			file("/etc/sysctl.d/90-mine.conf", "vm.swappiness = 11\n"),
			file("/usr/lib/sysctl.d/50-vendor.conf", "vm.swappiness = 33\n"),
			{Run: []string{"systemctl", "restart", "systemd-sysctl"}},
		},
	},
}
