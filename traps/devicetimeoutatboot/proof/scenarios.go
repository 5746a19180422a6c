// Package proof shows device-timeout-at-boot under the host's own systemd.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "systemctl", "journalctl", "mkdir", "grep"}}

func unit(name, text string) lab.Act {
	return lab.Act{Write: &lab.File{Path: "/etc/systemd/system/" + name, Content: text, Mode: 0o644}}
}

// Scenarios: a disk that does not come within the time that systemd gives it,
// and a mount that needs none.
var Scenarios = []lab.Scenario{
	{
		Name: "missing-disk", About: "A mount of a disk that is not there", Needs: needs, Unfixable: true, Subject: "/dev/lostdisk",
		Prepare: []lab.Act{unit("srv.mount", "[Mount]\nWhat=/dev/lostdisk\nWhere=/srv\nType=ext4\n"),
			unit("dev-lostdisk.device.d/short.conf", "[Unit]\nJobRunningTimeoutSec=3s\n"), {Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"sh", "-c", "! systemctl start srv.mount"}}, {Run: []string{"journalctl", "--sync"}}},
		Probes: []lab.Probe{
			{
				Name: "systemd's word",
				Run:  []string{"sh", "-c", "journalctl -b _PID=1 | grep -c 'Timed out waiting for device'"},
				Want: []string{"[1-9]"},
			},
		},
	},
	{
		Name: "tmpfs", About: "A mount that needs no device", Needs: needs, Innocent: true,
		Prepare: []lab.Act{unit("srv.mount", "[Mount]\nWhat=tmpfs\nWhere=/srv\nType=tmpfs\n"), {Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"systemctl", "start", "srv.mount"}}},
	},
}
