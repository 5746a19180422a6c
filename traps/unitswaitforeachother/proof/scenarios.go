// Package proof restarts a host whose services wait for each other in a circle.
package proof

import "fettle/lab"

const trapName = "units-wait-for-each-other"

var needs = lab.Needs{Systemd: true, Tools: []string{"cat", "sh", "systemctl", "mkdir", "ln", "sleep"}}

func unit(name, after string) lab.Act {
	return lab.Act{Write: &lab.File{Path: "/etc/systemd/system/" + name, Mode: 0o644,
		Content: "[Unit]\n" + after + "[Service]\n" +
			"Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c true\n[Install]\nWantedBy=multi-user.target\n"}}
}

var enable = lab.Act{Run: []string{"sh", "-c", "mkdir -p /etc/systemd/system/multi-user.target.wants; for u in a b c; do " +
	"ln -sf /etc/systemd/system/ring-$u.service /etc/systemd/system/multi-user.target.wants/; done"}}

// runs expects how many of the three are active once the start has settled.
func runs(n string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"sh", "-c", "i=0; while [ $i -lt 60 ]; do n=0; " +
		"for u in a b c; do systemctl is-active -q ring-$u.service && n=$((n+1)); done; [ $n = " + n + " ] && break; " +
		"sleep 1; i=$((i+1)); done; echo $n run; systemctl list-jobs; systemctl list-units --all 'ring-*' multi-user.target"},
		Has: n + " run"}}
}

// Scenarios: of three services in a circle two are there after the restart; without one After= all are.
var Scenarios = []lab.Scenario{{
	Name: "ring-of-three", About: "Three services, each after the next: told before the restart, one is missing after it", Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: []lab.Act{unit("ring-a.service", "After=ring-b.service\n"), unit("ring-b.service", "After=ring-c.service\n"),
			unit("ring-c.service", "After=ring-a.service\n"), enable}},
		{Name: "told", Acts: []lab.Act{lab.Checked(trapName, map[string]string{"ring-a.service": "found"})}},
		{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean}, runs("2")}},
		{Name: "mended", Acts: []lab.Act{unit("ring-c.service", ""), lab.Checked(trapName, lab.Nothing)}},
		{Name: "restart-again", Acts: []lab.Act{{Restart: lab.RestartClean}, runs("3")}},
	},
}}
