// Package proof sets kernel parameters by hand and by a file, and restarts.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"cat", "sh"}}

const trapName = "sysctl-by-hand"

func set(key, value string) lab.Act {
	return lab.Act{Run: []string{"sh", "-c", "echo " + value + " > /proc/sys/" + key}}
}

func is(key, value string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"cat", "/proc/sys/" + key}, Has: value}}
}

// Scenarios: two parameters by hand, of which a file has one; a restart keeps that one.
var Scenarios = []lab.Scenario{{
	Name: "restart", About: "Of two parameters that were set, the one that no file has is told before a restart, and lost", Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: []lab.Act{
			{Write: &lab.File{Path: "/etc/sysctl.d/50-kept.conf", Mode: 0o644, Content: "vm.swappiness = 7\n"}},
			set("vm/swappiness", "7"), set("vm/max_map_count", "262144"), set("net/ipv4/ip_forward", "1")}},
		{Name: "told", Acts: []lab.Act{
			lab.Checked(trapName, map[string]string{"vm.max_map_count": "found", "net.ipv4.ip_forward": "found"})}},
		{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean}, is("vm/swappiness", "7"), is("vm/max_map_count", "65530"),
			is("net/ipv4/ip_forward", "0")}},
		{Name: "clear", Acts: []lab.Act{lab.Checked(trapName, lab.Nothing)}},
	},
}}
