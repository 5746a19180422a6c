// Package proof asks Debian's cron which tables it reads.
package proof

import (
	"fettle/engine/remedy/step"
	"fettle/lab"
	"fettle/lab/sabotage"
)

var needs = lab.Needs{Tools: []string{"sh", "cron", "sleep", "cat", "rm", "mkdir", "kill"}, Libs: []string{"security/pam_permit.so"}}

// ran starts cron, whose @reboot jobs run at once, and tells whether the job of the table ran.
var ran = []string{"sh", "-c",
	"rm -f /run/crond.reboot /var/run/crond.reboot /tmp/ran; mkdir -p /var/run /var/spool/cron/crontabs; cron -f & " +
		"sleep 3; kill $!; if [ -e /tmp/ran ]; then echo the job ran; else echo no job ran; fi"}

func host(table string) []lab.Act {
	file := func(name, text string) lab.Act {
		return lab.Act{Write: &lab.File{Path: name, Content: text, Mode: 0o644}}
	}
	return []lab.Act{
		file("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
		file("/etc/passwd", "root:x:0:0::/root:/bin/sh\n"), file("/etc/group", "root:x:0:\n"), file("/etc/nsswitch.conf", "passwd: files\n"),
		file("/etc/pam.d/cron", "auth required pam_permit.so\naccount required pam_permit.so\nsession required pam_permit.so\n"),
		file("/var/lib/dpkg/status", "Package: cron\nStatus: install ok installed\nArchitecture: amd64\nVersion: 3.0pl1-162\n\n"),
		file("/etc/cron.d/shop", table),
	}
}

const good = "@reboot root echo yes > /tmp/ran\n"

// Scenarios: cron itself runs the job or does not.
var Scenarios = []lab.Scenario{
	{Name: "no-newline", About: "The last line of a table has no newline", Needs: needs, Subject: "/etc/cron.d/shop",
		Prepare: host(good + "0 3 * * * root true"),
		Files:   map[string]string{"/etc/cron.d/shop": good + "0 3 * * * root true\n"},
		Probes:  []lab.Probe{{Name: "what cron runs", Run: ran, Want: []string{"no job ran", "the job ran", "no job ran"}}}},
	{Name: "unknown-user", About: "A user that does not exist, in the line below the job", Needs: needs, Subject: "/etc/cron.d/shop",
		Prepare: host(good + "0 3 * * * nobody-here true\n"), Unfixable: true,
		Probes: []lab.Probe{{Name: "what cron runs", Run: ran, Want: []string{"no job ran"}}}},
	{Name: "good", About: "A table without a mistake", Needs: needs, Innocent: true, Prepare: host(good),
		Probes: []lab.Probe{{Name: "what cron runs", Run: ran, Want: []string{"the job ran"}}}},
}

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "emptied", Scenario: "no-newline", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		f.Content = []byte("\n")
		return []step.Step{f}, true
	})},
}
