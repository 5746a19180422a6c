// Package remedyproof holds the lab's scenarios about remedies in general: what
// fettle fix, confirm and undo do on a host that runs systemd.
package remedyproof

import (
	"time"

	"fettle/lab"
)

// Group is before the names of the scenarios, where others have their trap.
const Group = "remedy"

// Scenarios are all of them.
var Scenarios = []lab.Scenario{
	{
		Name: "timer-undoes", About: "Nobody confirms: systemd's timer takes the change back",
		Needs: needs,
		Steps: []lab.Step{
			{Name: "prepare", Acts: journalTrap},
			{Name: "fix", Acts: []lab.Act{
				lab.Mended(fix(soon)[2:]...),
				expect(0, "active", "systemctl", "is-active", "fettle-undo-0001.timer"),
				expect(0, "enabled", "systemctl", "is-enabled", "fettle-undo-0001-boot.service"),
			}},
			{Name: "clear", Acts: []lab.Act{lab.Checked(trapped, map[string]string{journalFolder: "clear"})}},
			{Name: "undone", Acts: []lab.Act{within(40*time.Second, 0, "it was not confirmed", "fettle", "changes")}},
			{Name: "found again", Acts: []lab.Act{lab.Checked(trapped, map[string]string{journalFolder: "found"})}},
			{Name: "guards gone", Acts: guardsGone},
		},
	},
	{
		Name: "timer-undoes-after-kill", About: "fettle is killed in the middle of its change: systemd's timer takes it back",
		Needs: needs, Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: journalTrap},
			{Name: "fix", Acts: []lab.Act{expect(-1, "", append(killedAt("20"), fix(soon)[1:]...)...)}},
			{Name: "half-way", Acts: []lab.Act{expect(0, "interrupted meanwhile", "fettle", "changes")}},
			{Name: "undone", Acts: []lab.Act{within(40*time.Second, 0, "it was not confirmed", "fettle", "changes")}},
			{Name: "found again", Acts: []lab.Act{lab.Checked(trapped, map[string]string{journalFolder: "found"})}},
			{Name: "guards gone", Acts: guardsGone},
		},
	},
	{
		Name: "confirmed", About: "Confirmed in time: the change stays, also over a restart; timer and boot unit are gone",
		Needs: needs, Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: journalTrap},
			{Name: "fix", Acts: []lab.Act{lab.Mended(fix(soon)[2:]...)}},
			{Name: "confirm", Acts: append([]lab.Act{expect(0, "confirmed and stays", "fettle", "confirm")}, guardsGone...)},
			{Name: "stays", Acts: []lab.Act{{Run: []string{"sleep", "11"}}, lab.Checked(trapped, map[string]string{journalFolder: "clear"})}},
			{
				Name: "restart",
				Acts: []lab.Act{{Restart: lab.RestartClean}, expect(0, "", "fettle", "changes"),
					lab.Checked(trapped, map[string]string{journalFolder: "clear"})},
			},
		},
	},
	{
		Name: "power-cut-before-confirm", About: "The power fails before anybody confirms: the next " +
			"boot takes the change back before it sets sysctls",
		Needs: netNeeds, Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: raTrap},
			{Name: "fix", Acts: []lab.Act{
				lab.Mended("ipv6-ra-forwarding", "--on", "eth0", "--yes", "--confirm-within", "10m"),
				expect(0, "enabled", "systemctl", "is-enabled", "fettle-undo-0001-boot.service"),
				expect(0, "accept_ra=2", "cat", raFile),
				expect(0, "2\n", "cat", "/proc/sys/net/ipv6/conf/eth0/accept_ra"),
			}},
			powerCut, asBefore, bootGuardsGone,
		},
	},
	{
		Name: "power-cut-half-way", About: "The power fails between a step and the journal's word of it: the next boot takes the change back",
		Needs: netNeeds, Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: raTrap},
			{Name: "fix", Acts: []lab.Act{
				expect(-1, "", append(killedAt("29"), "fix", "ipv6-ra-forwarding", "--on", "eth0", "--yes", "--confirm-within", "10m")...),
				expect(0, "accept_ra=2", "cat", raFile),
				expect(0, "interrupted meanwhile", "fettle", "changes"),
			}},
			powerCut, asBefore, bootGuardsGone,
		},
	},
}

// soon is the time to confirm: short, but not so short that it is over on a
// busy host before the change is made.
const soon = "10s"

var needs = lab.Needs{Systemd: true, Tools: []string{"mkdir", "systemd-cat", "echo", "cat", "ls", "setfacl", "env"}}

const (
	trapped       = "journal-access"
	journalFolder = "/var/log/journal"
)

// killedAt is a fettle that is killed at a point.
func killedAt(point string) []string { return []string{"fettle-lab", lab.KilledVerb, point, "-"} }

func fix(within string) []string {
	return []string{"fettle", "fix", "journal-access", "--on", "/var/log/journal", "--yes", "--confirm-within", within}
}

// journalTrap is a journal folder that was made with mkdir on a running host.
var journalTrap = []lab.Act{
	{Run: []string{"mkdir", "/var/log/journal"}},
	{Run: []string{"journalctl", "--flush"}},
	{Run: []string{"systemd-cat", "echo", "a line for all admins"}},
	lab.Checked(trapped, map[string]string{journalFolder: "found"}),
}

// guardsGone: nothing of the rollback is left to systemd.
var guardsGone = []lab.Act{
	{
		Expect: &lab.Expect{
			Run:    []string{"systemctl", "list-units", "--all", "--no-legend", "fettle-undo*"},
			Lacks:  "fettle-undo",
			Within: 5 * time.Second,
		},
	},
	{Expect: &lab.Expect{Run: []string{"systemctl", "list-unit-files", "fettle-undo*"}, Status: 1, Lacks: "fettle-undo"}},
	expect(2, "No such file", "ls", "/etc/systemd/system/sysinit.target.wants"),
	expect(0, "0 loaded", "systemctl", "list-units", "--failed", "--no-pager"),
}

func expect(status int, has string, argv ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: argv, Status: status, Has: has}}
}

func within(d time.Duration, status int, has string, argv ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: argv, Status: status, Has: has, Within: d}}
}
