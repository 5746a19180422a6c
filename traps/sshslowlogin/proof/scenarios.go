package proof

import (
	"time"

	"fettle/lab"
	"fettle/lab/sshhost"
)

// login is how long a login takes, to its end.
var login = []lab.Probe{
	{Name: "ssh " + sshhost.Name + " true", Run: sshhost.Key("true"), Timed: true, Ratio: 0.5, Within: 10 * time.Second},
} // sshd may still be reloading

func write(name, text string) lab.Act { return lab.Act{Write: &lab.File{Path: name, Content: text}} }

// avahi answers nothing for others: nobody is on its link.
const avahi = "[server]\nuse-ipv4=yes\nuse-ipv6=no\nenable-dbus=no\nallow-interfaces=dummy0\n[publish]\ndisable-publishing=yes\n"

// greeting asks a machine that is switched off.
const greeting = `#!/bin/sh
# Is the backup server up?
ssh -o BatchMode=yes -o ConnectTimeout=5 192.0.2.20 true || echo "no answer from the backup server"
`

var (
	// gssClient has GSSAPI on, as Debian's ssh_config does.
	gssClient = write("/etc/ssh/ssh_config", "Host *\n    GSSAPIAuthentication yes\n")
	withAvahi = []lab.Act{
		write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files mdns4 dns\n"),
		write("/etc/avahi/avahi-daemon.conf", avahi),
		{Run: []string{"ip", "link", "set", "dummy0", "multicast", "on"}},
		{Start: []string{"avahi-daemon", "--no-drop-root", "--no-chroot", "--no-rlimits"}},
		{Until: []string{"sh", "-c", "test -S /run/avahi-daemon/socket"}},
	}
)

const dropIn = "/etc/ssh/sshd_config.d/00-fettle-slow-login.conf"

var Scenarios = []lab.Scenario{
	{
		Name: "silent-resolver", About: "UseDNS yes, and a name server that never answers",
		Needs: sshhost.Needs(), Subject: "reverse-dns", Probes: login, Confirm: sshhost.Confirm,
		Prepare: sshhost.Host("UseDNS yes\n", sshhost.Silent("2")),
		Files:   map[string]string{dropIn: "# Set by fettle (ssh-slow-login).\nUseDNS no\n"},
	},
	{
		Name: "gssapi-without-keytab", About: "sshd and ssh have GSSAPI on, the host has no keytab, and no name server answers",
		Needs: sshhost.Needs(), Long: true, Subject: "gssapi", Probes: login, Confirm: sshhost.Confirm,
		Prepare: sshhost.Host("GSSAPIAuthentication yes\n", sshhost.Silent("2"), gssClient),
		Files:   map[string]string{dropIn: "# Set by fettle (ssh-slow-login).\nGSSAPIAuthentication no\n"},
	},
	{
		Name: "greeting-that-waits", About: "A script of update-motd.d asks a machine that is switched off",
		Needs: sshhost.Needs("run-parts"), Long: true, Subject: "pam:pam_motd", Probes: login,
		Prepare: sshhost.Host("", lab.Act{Write: &lab.File{Path: "/etc/update-motd.d/50-backup", Content: greeting, Mode: 0o755}}),
	},
	{
		Name: "avahi-before-dns", About: "nsswitch.conf asks a real avahi-daemon for each name, which nobody on the link answers",
		Needs: withMDNS(sshhost.Needs("avahi-daemon")), Long: true, Subject: "nss:mdns4", Probes: login, Confirm: sshhost.Confirm,
		Prepare: sshhost.Host("UseDNS yes\n", withAvahi...), Vanishes: true,
		Files: map[string]string{"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"},
	},
	{
		Name: "fast", About: "Debian's own set-up, and a name server that never answers: no login asks it",
		Needs: sshhost.Needs(), Innocent: true,
		Prepare: sshhost.Host("", sshhost.Silent("1")),
	},
	{
		Name: "nobody-confirms", About: "The change is not confirmed from a new login: it is taken back, and sshd reloaded",
		Needs: sshhost.Needs(), Long: true,
		Steps: []lab.Step{
			{Name: "prepare", Acts: sshhost.Host("UseDNS yes\n", sshhost.Silent("1"))},
			{Name: "fix", Acts: []lab.Act{
				lab.Mended("ssh-slow-login", "--on", "reverse-dns", "--yes", "--confirm-within", "10s"),
				expect(0, "UseDNS no", "cat", "/etc/ssh/sshd_config.d/00-fettle-slow-login.conf"),
			}},
			{Name: "clear", Acts: []lab.Act{lab.Checked("ssh-slow-login", lab.Nothing)}},
			{Name: "undone", Acts: []lab.Act{within(40*time.Second, lab.Checked("ssh-slow-login", map[string]string{"reverse-dns": "found"}))}},
			{Name: "found again", Acts: []lab.Act{{Until: sshhost.Key("true")}}},
		},
	},
}

func within(d time.Duration, a lab.Act) lab.Act {
	a.Expect.Within = d
	return a
}

func expect(status int, has string, argv ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: argv, Status: status, Has: has}}
}

func withMDNS(n lab.Needs) lab.Needs {
	n.Libs = append(n.Libs, "libnss_mdns4.so.2")
	return n
}
