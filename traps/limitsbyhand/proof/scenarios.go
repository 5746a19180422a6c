// Package proof raises a service's limit from outside, and restarts.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"cat", "sh", "prlimit", "systemctl", "grep"}}

const trapName = "limits-by-hand"

const unit = `[Service]
User=nobody
LimitNOFILE=1024
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
`

// limited looks at the process of the service.
func limited(to string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"sh", "-c",
		"grep 'open files' /proc/$(systemctl show -P MainPID shop.service)/limits"}, Has: to}}
}

// Scenarios: a limit that a restart takes back.
var Scenarios = []lab.Scenario{{
	Name: "restart", About: "A limit that was raised with prlimit is reported before a restart, and lost", Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: []lab.Act{{Write: &lab.File{Path: "/etc/systemd/system/shop.service", Mode: 0o644, Content: unit}},
			{Run: []string{"systemctl", "enable", "shop.service"}}, {Run: []string{"systemctl", "start", "shop.service"}}, limited("1024")}},
		{Name: "healthy", Acts: []lab.Act{lab.Checked(trapName, map[string]string{"shop.service": "clear"})}},
		{Name: "raise", Acts: []lab.Act{{Run: []string{"sh", "-c",
			"prlimit --pid $(systemctl show -P MainPID shop.service) --nofile=65536:65536"}}, limited("65536")}},
		{Name: "told", Acts: []lab.Act{lab.Checked(trapName, map[string]string{"shop.service": "found"})}},
		{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean}, limited("1024")}},
		{Name: "clear", Acts: []lab.Act{lab.Checked(trapName, lab.Nothing)}},
	},
}}
