package proof

import (
	"time"

	"fettle/lab"
)

var underSystemd = lab.Needs{
	Systemd: true,
	Tools:   []string{"mkdir", "systemd-cat", "journalctl", "setpriv", "echo", "ls", "getfacl", "stat", "sh", "rmdir", "grep", "find"},
}

// byHand makes the folder on a running host, and tells journald.
var byHand = []lab.Act{
	{Run: []string{"mkdir", top}},
	{Run: []string{"journalctl", "--flush"}},
	{Run: []string{"systemd-cat", "echo", "a line for all admins"}},
	{Run: []string{"journalctl", "--sync"}},
}

// systemdProof is about systemd's own journald, and what systemd-tmpfiles
// makes of the folder at the next boot.
var systemdProof = []lab.Scenario{
	{
		Name: "under-systemd", About: "A journal folder made with mkdir on a host that systemd runs",
		Needs: underSystemd, Probes: whoReads, Subject: top, Prepare: byHand, Harmless: asBefore,
	},
	{
		Name: "next-boot", About: "The same folder after a restart: systemd-tmpfiles mends what is written from then on, not the archives",
		Needs: underSystemd, Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: append(byHand[:len(byHand):len(byHand)],
				lab.Act{Run: []string{"journalctl", "--rotate"}}, // leaves an archive
				lab.Act{Run: []string{"systemd-cat", "echo", "a later line"}})},
			{Name: "found", Acts: []lab.Act{lab.Checked("journal-access", map[string]string{top: "found"})}},
			{Name: "restart", Acts: []lab.Act{{Restart: lab.RestartClean},
				{Expect: &lab.Expect{Run: []string{"systemd-cat", "echo", "a line of the next boot"}}},
				{Expect: &lab.Expect{Run: []string{"stat", "-c", "%a %U:%G", top}, Has: "2755 root:systemd-journal"}},
				{Expect: &lab.Expect{Run: []string{"getfacl", "-p", top}, Has: "default:group:adm:r-x"}},
				{Expect: &lab.Expect{Run: as("1000", "4", append(last[:len(last):len(last)], "-b", "0")...), Within: 5 * time.Second}},
			}},
			{
				Name: "archive",
				Acts: []lab.Act{lab.Checked("journal-access", map[string]string{top: "found"})},
			},
			{Name: "fix", Acts: []lab.Act{lab.Mended("journal-access", "--yes")}},
			{Name: "clear", Acts: []lab.Act{lab.Checked("journal-access", lab.Nothing)}},
		},
	},
}
