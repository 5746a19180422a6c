// Package proof shows apparmor-denials with a real profile in a kernel that
// has AppArmor.
package proof

import "fettle/lab"

var needs = lab.Needs{Engine: "qemu", MemMiB: 640, Tools: []string{"mount", "mkdir", "apparmor_parser", "dmesg", "sh", "cat", "cp"}}

// profile lets the program read all but one file.
const profile = `profile reader /usr/local/bin/reader {
  /** mr,
  audit deny /etc/hostname r,
}
`

// load writes the profile and loads it; /usr/local/bin/reader is cat.
func load(text string) []lab.Act {
	return []lab.Act{
		{Run: []string{"sh", "-c", "mount -t securityfs securityfs /sys/kernel/security || true"}},
		{Write: &lab.File{Path: "/etc/reader", Content: text, Mode: 0o644}},
		{Write: &lab.File{Path: "/etc/hostname", Content: "guest\n", Mode: 0o644}},
		{Run: []string{"sh", "-c", "mkdir -p /usr/local/bin && cp $(command -v cat) /usr/local/bin/reader"}},
		{Run: []string{"apparmor_parser", "-r", "--skip-cache", "/etc/reader"}},
		{Run: []string{"sh", "-c", "for i in 1 2 3 4; do /usr/local/bin/reader /etc/hostname || true; done"}},
	}
}

// Scenarios: a program that may not read a file, and one that may.
var Scenarios = []lab.Scenario{
	{
		Name: "denied-file", About: "A program whose profile denies it a file", Needs: needs, Unfixable: true, Subject: "reader",
		Prepare: load(profile),
		Probes: []lab.Probe{
			{
				Name: "the program",
				Run:  []string{"sh", "-c", "/usr/local/bin/reader /etc/hostname 2>&1"},
				Find: "(Permission denied)",
				Want: []string{"Permission denied"},
			},
		},
	},
	{
		Name: "allowed", About: "The same program, and a profile that lets it", Needs: needs, Innocent: true,
		Prepare: load("profile reader /usr/local/bin/reader {\n  /** mr,\n}\n"),
	},
}
