package proof

import "fettle/lab"

var underSystemd = lab.Needs{
	Systemd: true,
	Tools:   []string{"mkdir", "mount", "df", "cp", "mv", "rm", "sh", "head", "sleep", "readlink", "cat", "wc"},
}

// service is a unit of the admin's, started: Type=exec, for a simple one is
// called started before its program runs.
func service(name, lines string) []lab.Act {
	return []lab.Act{
		{Write: &lab.File{Path: "/etc/systemd/system/" + name, Content: "[Service]\nType=exec\n" + lines}},
		{Run: []string{"systemctl", "daemon-reload"}},
		{Run: []string{"systemctl", "start", name}},
	}
}

// running is the program that the unit's main process runs, as the kernel says.
func running(unit string, want ...string) lab.Probe {
	return lab.Probe{Name: "program of " + unit, Want: want,
		Run: []string{"sh", "-c", "readlink /proc/$(systemctl show --property=MainPID --value " + unit + ")/exe"}}
}

// systemdProof is about services of a real systemd. A restart opens the new
// files, and no undo opens the old ones again.
var systemdProof = []lab.Scenario{
	{
		Name: "service-runs-replaced-program", About: "The program of a service is replaced, as an upgrade does; its restart runs the new one",
		Needs: underSystemd, Subject: "lab-daemon.service", UndoKeeps: true, Vanishes: true,
		Probes: []lab.Probe{running("lab-daemon.service", "/usr/local/bin/lab-daemon \\(deleted\\)", "/usr/local/bin/lab-daemon")},
		Prepare: append(append([]lab.Act{
			{Run: []string{"mkdir", "-p", "/usr/local/bin"}},
			{Run: []string{"cp", "/usr/bin/sleep", "/usr/local/bin/lab-daemon"}},
		}, service("lab-daemon.service", "ExecStart=/usr/local/bin/lab-daemon 3600\n")...),
			lab.Act{Run: []string{"cp", "/usr/bin/sleep", "/usr/local/bin/lab-daemon.dpkg-new"}},
			lab.Act{Run: []string{"mv", "-f", "/usr/local/bin/lab-daemon.dpkg-new", "/usr/local/bin/lab-daemon"}}),
	},
	{
		Name: "service-holds-deleted-log", About: "A service goes on writing to a log of 40 MiB that was deleted; its restart frees the room",
		Needs: underSystemd, Long: true, Subject: "/data", UndoKeeps: true, Vanishes: true,
		Probes: []lab.Probe{running("lab-app.service", "/usr/bin/sleep", "/usr/bin/sleep"), used([]string{`4\d{4}`, `\d{1,3}`}),
			{
				Name: "bytes copied out",
				Run:  []string{"sh", "-c", "cat /var/lib/fettle/rescued/*/* 2>/dev/null | wc -c"},
				Find: `(\d+)\s*$`,
				Want: []string{`0`, `41943040`},
			}},
		Prepare: append(append(
			data[:2:2],
			service(
				"lab-app.service",
				"StandardOutput=append:/data/app.log\nExecStart=/usr/bin/sh -c 'test -e /run/wrote || head -c 41943040 /dev/zero; : > /run/wrote; "+
					"exec sleep 3600'\n",
			)...),
			lab.Act{Until: []string{"sh", "-c", "test -e /run/wrote"}},
			lab.Act{Run: []string{"rm", "/data/app.log"}}),
	},
	{
		Name: "service-restarted-after-upgrade", About: "The program was replaced and the service restarted, as packages do",
		Needs: underSystemd, Long: true, Innocent: true,
		Prepare: append(append([]lab.Act{
			{Run: []string{"mkdir", "-p", "/usr/local/bin"}},
			{Run: []string{"cp", "/usr/bin/sleep", "/usr/local/bin/lab-daemon"}},
		}, service("lab-daemon.service", "ExecStart=/usr/local/bin/lab-daemon 3600\n")...),
			lab.Act{Run: []string{"cp", "/usr/bin/sleep", "/usr/local/bin/lab-daemon.dpkg-new"}},
			lab.Act{Run: []string{"mv", "-f", "/usr/local/bin/lab-daemon.dpkg-new", "/usr/local/bin/lab-daemon"}},
			lab.Act{Run: []string{"systemctl", "restart", "lab-daemon.service"}}),
	},
}
