// Package proof shows mounts-missing under the host's own systemd.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "systemctl", "mkdir", "stat"}}

// generates is a machine whose systemd makes units of fstab's lines.
var generates = lab.Needs{Systemd: true, Tools: needs.Tools, Files: []string{"/usr/lib/systemd/system-generators/systemd-fstab-generator"}}

func unit(name, text string) lab.Act {
	return lab.Act{Write: &lab.File{Path: "/etc/systemd/system/" + name, Content: text, Mode: 0o644}}
}

const srv = "[Mount]\nWhat=tmpfs\nWhere=/srv\nType=tmpfs\n[Install]\nWantedBy=local-fs.target\n"

// small and large are sizes of what is mounted.
const (
	small = "[Mount]\nOptions=size=1m\n"
	large = "[Mount]\nOptions=size=4m\n"
)

var mounted = []lab.Probe{
	{Name: "its unit", Run: []string{"systemctl", "is-active", "srv.mount"}, Want: []string{"inactive", "active", "inactive"}},
}

// Scenarios: an enabled mount that nobody mounted, and one that is.
var Scenarios = []lab.Scenario{
	{
		Name: "never-mounted", About: "A mount unit that was enabled, and never started", Needs: needs, Subject: "/srv",
		Prepare: []lab.Act{
			{Run: []string{"mkdir", "-p", "/srv"}},
			unit("srv.mount", srv),
			{Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"systemctl", "enable", "srv.mount"}},
		},
		Probes: mounted,
	},
	{
		Name: "edited-since", About: "A mount unit that was changed after systemd read it", Needs: needs, Subject: "/srv",
		Prepare: []lab.Act{
			{Run: []string{"mkdir", "-p", "/srv"}},
			unit("srv.mount", srv+small),
			{Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"systemctl", "enable", "srv.mount"}},
			unit("srv.mount", srv+large),
		},
		Probes: []lab.Probe{{Name: "blocks of 4 KiB in /srv", Run: []string{"stat", "-f", "-c", "%b", "/srv"}, Want: []string{"0", "1024", "0"}}},
	},
	{
		Name: "added-since", About: "A line of fstab that was added after systemd read it", Needs: generates, Subject: "/srv",
		Prepare: []lab.Act{
			{Run: []string{"mkdir", "-p", "/srv"}},
			{Write: &lab.File{Path: "/etc/fstab", Content: "# the shop's scratch space\nscratch /srv tmpfs size=4m 0 0\n"}},
		},
		Probes: []lab.Probe{{Name: "blocks of 4 KiB in /srv", Run: []string{"stat", "-f", "-c", "%b", "/srv"}, Want: []string{"0", "1024", "0"}}},
	},
	{
		Name: "mounted", About: "The same, started", Needs: needs, Innocent: true, Subject: "/srv",
		Prepare: []lab.Act{
			{Run: []string{"mkdir", "-p", "/srv"}},
			unit("srv.mount", srv),
			{Run: []string{"systemctl", "daemon-reload"}},
			{Run: []string{"systemctl", "enable", "--now", "srv.mount"}},
		},
	},
}
