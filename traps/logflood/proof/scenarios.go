// Package proof shows log-flood with the host's own journald.
package proof

import "fettle/lab"

var needs = lab.Needs{Systemd: true, Tools: []string{"sh", "systemctl", "systemd-cat", "cat", "journalctl", "seq", "wc"}}

// Scenarios: a program that says the same 4,000 times, and one that says 100
// different things. The first lives until journald has read it: of a process that
// wrote and is gone by then journald knows no unit.
var Scenarios = []lab.Scenario{
	{
		Name: "same-line", About: "A program that logs one message 4,000 times", Needs: needs, Unfixable: true, Subject: "fettle-lab.service",
		Prepare: []lab.Act{
			{
				Run: []string{
					"sh",
					"-c",
					"systemd-cat -t flood sh -c 'for i in $(seq 4000); do echo connection $i refused; done; journalctl --sync'",
				},
			},
		},
		Probes: []lab.Probe{
			{Name: "lines in the journal", Run: []string{"sh", "-c", "journalctl -b -t flood -o cat -q | wc -l"}, Want: []string{"[34]\\d\\d\\d"}},
		},
	},
	{
		Name: "quiet", About: "A program that logs a hundred lines", Needs: needs, Innocent: true,
		Prepare: []lab.Act{{Run: []string{"sh", "-c", "seq -f 'connection %.0f refused' 100 | systemd-cat -t quiet; journalctl --sync"}}},
	},
}
