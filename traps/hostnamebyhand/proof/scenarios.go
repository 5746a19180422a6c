// Package proof renames the host by hand, and restarts.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"cat", "sh"}}

const trapName = "hostname-by-hand"

func named(name string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"cat", "/proc/sys/kernel/hostname"}, Has: name}}
}

// Scenarios: a name that a restart takes back.
var Scenarios = []lab.Scenario{{
	Name: "restart", About: "A name that was set by hand is told before a restart, and lost", Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: []lab.Act{{Write: &lab.File{Path: "/etc/hostname", Mode: 0o644, Content: "template\n"}},
			{Run: []string{"sh", "-c", "echo clone7 > /proc/sys/kernel/hostname"}}, named("clone7")}},
		{Name: "told", Acts: []lab.Act{lab.Checked(trapName, map[string]string{"clone7": "found"})}},
		{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean}, named("template")}},
		{Name: "clear", Acts: []lab.Act{lab.Checked(trapName, lab.Nothing)}},
	},
}}
