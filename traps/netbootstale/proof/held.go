package proof

import (
	"time"

	"fettle/lab"
)

// tftpdUnit runs Debian's tftpd-hpa as its package does, on an address of its own: its
// getaddrinfo(3) wants one beside the loopback's (AI_ADDRCONFIG).
const tftpdUnit = "[Service]\nType=exec\n" +
	"ExecStart=/usr/sbin/in.tftpd --ipv4 --listen --foreground --user root --address 192.0.2.1:69 --secure " + tree + "\n"

// renamed is a server that goes on serving a folder whose name another one has by now.
var renamed = lab.Scenario{
	Name: "folder-renamed", About: "A running in.tftpd serves the folder that it was started with, under its new name",
	Needs: lab.Needs{Systemd: true, Limit: 6 * time.Minute, Tools: []string{"in.tftpd", "busybox", "ip", "mkdir", "mv", "sh", "test"},
		Modules: []string{"dummy"}, Libs: []string{"libnss_files.so.2"}},
	Subject: "tftpd-hpa.service", UndoKeeps: true, // a restarted daemon does not open the old folder again
	Prepare: []lab.Act{
		{Run: []string{"ip", "address", "add", "192.0.2.1/24", "dev", "dummy0"}},
		{Run: []string{"ip", "link", "set", "dummy0", "up"}},
		{Run: []string{"mkdir", "-p", tree}},
		{Write: &lab.File{Path: tree + "/version", Content: "u1\n"}},
		{Write: &lab.File{Path: "/etc/systemd/system/tftpd-hpa.service", Content: tftpdUnit}},
		{Run: []string{"systemctl", "daemon-reload"}},
		{Run: []string{"systemctl", "start", "tftpd-hpa"}},
		{Until: []string{"busybox", "tftp", "-g", "-r", "version", "-l", "/run/first", "192.0.2.1"}},
		{Run: []string{"mv", tree, tree + ".old"}},
		{Run: []string{"mkdir", tree}},
		{Write: &lab.File{Path: tree + "/version", Content: "u3\n"}},
	},
	Probes: []lab.Probe{{Name: "what a client gets", Within: 20 * time.Second,
		Run:  []string{"sh", "-c", "busybox tftp -g -r version -l /run/got 192.0.2.1 && read -r v < /run/got && echo $v"},
		Want: []string{"u1", "u3", "u3"}}},
}
