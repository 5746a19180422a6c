// Package proof mounts by hand and by fstab, and restarts.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"mkdir", "mount", "mountpoint", "sh", "systemctl"}}

const trapName = "mount-by-hand"

func mounted(point string, status int) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"mountpoint", point}, Status: status, Has: "mountpoint"}}
}

// told: the lab's own mounts, which it makes for the guest's programs, are told too.
func told(point, not string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"fettle", "check", trapName, "--format", "json"}, Status: 1,
		Has: `"subject": "` + point + `"`, Lacks: `"subject": "` + not + `"`}}
}

// Scenarios: of two mounts fstab has one; the other is lost. The lab starts without local-fs.target, so
// that it does not show the first one to come back.
var Scenarios = []lab.Scenario{{
	Name: "restart", About: "Of two mounts, the one that nothing mounts at boot is told before a restart, and lost", Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: []lab.Act{
			{Run: []string{"mkdir", "-p", "/etc/mnt-kept", "/etc/mnt-lost", "/etc/mnt-from"}},
			{Run: []string{"sh", "-c", "echo 'none /etc/mnt-kept tmpfs nofail 0 0' >> /etc/fstab"}},
			{Run: []string{"systemctl", "daemon-reload"}}, {Run: []string{"mount", "/etc/mnt-kept"}},
			{Run: []string{"mount", "--bind", "/etc/mnt-from", "/etc/mnt-lost"}}}},
		{Name: "told", Acts: []lab.Act{mounted("/etc/mnt-lost", 0), mounted("/etc/mnt-kept", 0), told("/etc/mnt-lost", "/etc/mnt-kept")}},
		{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean}, mounted("/etc/mnt-lost", 32)}},
	},
}}
