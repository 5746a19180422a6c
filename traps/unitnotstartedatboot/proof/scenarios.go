// Package proof shows unit-not-started-at-boot under the host's own systemd, and restarts it.
package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab"
	"fettle/lab/sabotage"
)

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "sleep", "systemctl", "true"}}

func shop(name string) lab.Act {
	return lab.Act{Write: &lab.File{Path: "/etc/systemd/system/" + name + ".service", Mode: 0o644,
		Content: "[Service]\nExecStart=/usr/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n"}}
}

func expect(status int, has string, run ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: run, Status: status, Has: has}}
}

const trapName = "unit-not-started-at-boot"

// Scenarios: a service that was started and not enabled; and what a restart leaves of it.
var Scenarios = []lab.Scenario{
	{
		Name: "by-hand", About: "A service that was started by hand, and is disabled", Needs: needs, Subject: "shop.service",
		Prepare: []lab.Act{shop("shop"), {Run: []string{"systemctl", "daemon-reload"}}, {Run: []string{"systemctl", "start", "shop"}}},
		Probes: []lab.Probe{
			{Name: "enablement of shop", Run: []string{"systemctl", "is-enabled", "shop"}, Want: []string{"disabled", "enabled", "disabled"}},
		},
	},
	{
		Name: "wanted", About: "Innocent: a disabled service that an enabled one wants", Needs: needs, Innocent: true,
		Prepare: []lab.Act{shop("shop"), shop("helper"),
			{Write: &lab.File{Path: "/etc/systemd/system/shop.service.d/w.conf", Mode: 0o644, Content: "[Unit]\nWants=helper.service\n"}},
			{Run: []string{"systemctl", "daemon-reload"}}, {Run: []string{"systemctl", "enable", "--quiet", "--now", "shop"}}},
		Probes: []lab.Probe{{Name: "state of helper", Run: []string{"systemctl", "is-active", "helper"}}},
	},
	{
		Name: "restart", About: "Two services are told before a restart; the one that was fixed comes back", Needs: needs,
		Steps: []lab.Step{
			{Name: "prepare", Acts: []lab.Act{shop("lost"), shop("kept"), {Run: []string{"systemctl", "daemon-reload"}},
				{Run: []string{"systemctl", "start", "lost", "kept"}}}},
			{Name: "told", Acts: []lab.Act{
				expect(1, `"subject": "lost.service"`, "fettle", "check", trapName, "--format", "json"),
				expect(1, `"subject": "kept.service"`, "fettle", "check", trapName, "--format", "json")}},
			{Name: "fix", Acts: []lab.Act{lab.Mended(trapName, "--yes", "--on", "kept.service"),
				{Run: []string{"fettle", "snapshot"}}, expect(0, `"restarted": false`, "fettle", "after", "--format", "json")}},
			{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean},
				expect(0, "active", "systemctl", "is-active", "kept"), expect(3, "inactive", "systemctl", "is-active", "lost"),
				expect(1, `"subject": "lost.service"`, "fettle", "after", "--wait", "2m", "--format", "json"),
				{Run: []string{"systemctl", "start", "lost"}},
				expect(0, `"lost": []`, "fettle", "after", "--format", "json"), {Run: []string{"systemctl", "stop", "lost"}}}},
			{Name: "clear", Acts: []lab.Act{lab.Checked(trapName, lab.Nothing)}},
		},
	},
}

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "started-once-more", Scenario: "by-hand", Spoil: sabotage.Replaced(func(s step.Unit) ([]step.Step, bool) {
		return []step.Step{step.Unit{Name: s.Name, Act: "start"}}, true
	})},
}
