package proof

import (
	"fmt"
	"strings"
	"time"

	"fettle/lab"
	"fettle/lab/sshhost"
)

// manyHosts is a known_hosts file of so many servers, none of which is there.
func manyHosts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "web%d ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKvPZ0R0Sd8Z1Bc0Yd4b1d0kG9K1mQm0h7cUeWxO2cTn\n", i+1)
	}
	return b.String()
}

// knows has ana know so many servers besides the one that she logs in to.
func knows(n int) []lab.Act {
	return []lab.Act{
		{Write: &lab.File{Path: "/run/hosts", Content: manyHosts(n)}},
		{Run: []string{"sh", "-c", "cat /run/hosts >> /home/ana/.ssh/known_hosts"}},
	}
}

// twice are two commands of ana's to one host, one after the other.
var twice = []lab.Probe{
	{Name: "ssh lab true, first", Run: sshhost.As("ssh", sshhost.Name, "true"), Timed: true},
	{
		Name:   "ssh lab true, once more",
		Run:    sshhost.As("ssh", sshhost.Name, "true"),
		Timed:  true,
		Ratio:  0.6,
		Lasts:  true,
		Within: 10 * time.Second,
	}, // a busy machine: asked again
}

// whose asks bo's account who it is, while ana has a connection open to her own.
var whose = []lab.Probe{
	{Name: "ssh bo@lab id -un", Run: sshhost.As("sh", "-c", "ssh ana@lab true; exec ssh bo@lab id -un"), Want: []string{"ana", "bo", "ana"}},
}

// clashing is a configuration without the user in the socket's name.
const clashing = "Host lab\n    HostName " + sshhost.Addr + "\n    ControlMaster auto\n    " +
	"ControlPath ~/.ssh/%h:%p\n    ControlPersist 1m\n"

var Scenarios = []lab.Scenario{
	{
		Name: "login-for-each-command", About: "A user of a dozen hosts, who logs in anew for each command",
		Needs: sshhost.Needs("setpriv"), Subject: "ana", Probes: twice,
		Prepare: append(sshhost.Host(""), knows(12)...),
		Files: map[string]string{"/home/ana/.ssh/config": "Host lab\n    HostName " + sshhost.Addr + "\n\n" +
			"# Added by fettle (ssh-control-sockets):\n" +
			"# commands to one host share a connection.\n" +
			"Host *\n    ControlMaster auto\n    ControlPath ~/.ssh/control-%C\n    ControlPersist 10m\n"},
	},
	{
		Name: "one-socket-for-all-users", About: "The socket's name lacks the user: a command for bo is run as ana",
		Needs: sshhost.Needs("setpriv", "id"), Long: true, Subject: "ana", Probes: whose,
		Prepare: append(sshhost.Host(""), lab.Act{Write: &lab.File{Path: "/run/config", Content: clashing}},
			lab.Act{Run: []string{"cp", "/run/config", "/home/ana/.ssh/config"}}),
		Files: map[string]string{"/home/ana/.ssh/config": strings.Replace(clashing, "~/.ssh/%h:%p", "~/.ssh/control-%C", 1)},
	},
	{
		Name: "few-hosts", About: "Users who know three hosts are told nothing",
		Needs: sshhost.Needs(), Long: true, Innocent: true,
		Prepare: append(sshhost.Host(""), knows(2)...),
	},
}
