// Package proof shows unit-restart-loop under the host's own systemd.
package proof

import (
	"time"

	"fettle/lab"
)

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "systemctl", "sleep", "false", "true"}}

func service(name, exec, restart string) lab.Act {
	return lab.Act{Write: &lab.File{Path: "/etc/systemd/system/" + name, Mode: 0o644,
		Content: "[Service]\nExecStart=/usr/bin/" + exec + "\nRestart=" + restart + "\nRestartSec=3\nStartLimitIntervalSe" +
			"c=0\n[Unit]\nStartLimitIntervalSec=0\n"}}
}

// Scenarios: a program that fails immediately, over and over, and one that ends
// well as often.
var Scenarios = []lab.Scenario{
	{
		Name: "crash-loop", About: "Restart=always, and a " +
			"program that ends with status 1", Needs: needs, Unfixable: true, Subject: "crash.service",
		Prepare: []lab.Act{
			service("crash.service", "false", "always"),
			{Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"systemctl", "start", "crash"}},
			{Until: []string{"sh", "-c", "test $(systemctl show -P NRestarts crash) -ge 5"}},
		},
		Probes: []lab.Probe{
			{
				Name:   "restarts are counted",
				Run:    []string{"sh", "-c", "test $(systemctl show -P NRestarts crash) -ge 5 && systemctl show -P Restart crash"},
				Want:   []string{"always"},
				Within: 10 * time.Second,
			},
		},
	},
	{
		Name: "ends-well", About: "Restart=always, and a program that ends well each time", Needs: needs, Innocent: true,
		Prepare: []lab.Act{
			service("work.service", "true", "always"),
			{Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"systemctl", "start", "work"}},
			{Until: []string{"sh", "-c", "test $(systemctl show -P NRestarts work) -ge 4"}},
		},
	},
}
