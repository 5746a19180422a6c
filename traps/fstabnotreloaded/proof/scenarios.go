// Package proof lets systemd mount by a line of fstab that is not there any more.
package proof

import "fettle/lab"

const trapName = "fstab-not-reloaded"

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "mkdir", "mount", "umount", "systemctl", "cat"},
	Files: []string{"/usr/lib/systemd/system-generators/systemd-fstab-generator"}}

func file(name, text string) lab.Act {
	return lab.Act{Write: &lab.File{Path: name, Content: text, Mode: 0o644}}
}

func line(from string) string { return "/etc/" + from + " /etc/shop none bind,nofail 0 0\n" }

// shows is which folder is mounted.
func shows(which string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: []string{"cat", "/etc/shop/which"}, Has: which}}
}

var restart = lab.Act{Run: []string{"systemctl", "restart", "etc-shop.mount"}}

// Scenarios: systemd mounts the old folder again, until it has read fstab.
var Scenarios = []lab.Scenario{{
	Name: "moved", About: "A mount that fstab takes from elsewhere now: systemd brings the old one back, until it has read fstab",
	Needs: needs,
	Steps: []lab.Step{
		{Name: "prepare", Acts: []lab.Act{{Run: []string{"mkdir", "-p", "/etc/old", "/etc/new", "/etc/shop"}},
			file("/etc/old/which", "the old one\n"), file("/etc/new/which", "the new one\n"), file("/etc/fstab", line("old")),
			{Run: []string{"systemctl", "daemon-reload"}}, {Run: []string{"systemctl", "start", "etc-shop.mount"}}, shows("the old one"),
			lab.Checked(trapName, map[string]string{"etc-shop.mount": "clear"})}},
		{Name: "moved-by-hand", Acts: []lab.Act{file("/etc/fstab", line("new")), {Run: []string{"umount", "/etc/shop"}},
			{Run: []string{"mount", "/etc/shop"}}, shows("the new one"), lab.Checked(trapName, map[string]string{"etc-shop.mount": "found"})}},
		{Name: "the-old-one-again", Acts: []lab.Act{restart, shows("the old one")}},
		{Name: "mended", Acts: []lab.Act{{Run: []string{"systemctl", "daemon-reload"}}, restart, shows("the new one"),
			lab.Checked(trapName, map[string]string{"etc-shop.mount": "clear"})}},
	},
}}
