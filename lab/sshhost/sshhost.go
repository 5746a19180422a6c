// Package sshhost is what scenarios about SSH have in common: a host that
// runs systemd, with the distribution's own sshd and PAM stack as Debian sets
// them up, and ssh clients on it.
package sshhost

import (
	"slices"
	"time"

	"fettle/lab"
)

// Addr is the host's address; ssh of its users reaches it as Name.
const (
	Addr = "192.0.2.10"
	Name = "lab"
)

// Key is the command that logs in to the host with root's key, from root.
func Key(command ...string) []string { return append([]string{"ssh", Name}, command...) }

// Confirm is how an admin confirms a change: from a new login.
var Confirm = Key("fettle", "confirm")

// Needs are those of the host, with further programs of a scenario.
func Needs(tools ...string) lab.Needs {
	return lab.Needs{
		Systemd: true,
		// Whatever is sent to an address of its network is lost: a server that
		// does not answer.
		Modules: []string{"dummy"},
		Tools: append(
			[]string{"sshd", "ssh", "ssh-keygen", "sh", "cat", "cp", "ln", "mkdir", "rm", "kill", "env", "chown", "chmod"},
			tools...),
		MayTools: []string{"sshd-session", "sshd-auth"}, // from OpenSSH 9.8 on
		Libs: []string{
			"security/pam_unix.so",
			"security/pam_deny.so",
			"security/pam_permit.so",
			"security/pam_nologin.so",
			"security/pam_motd.so",
		},
		MemMiB: 320,
		Limit:  12 * time.Minute,
	}
}

// ana and bo are people; the others are what daemons need.
const passwd = `root:x:0:0:root:/root:/bin/sh
sshd:x:105:65534::/run/sshd:/bin/false
avahi:x:106:106::/run/avahi-daemon:/bin/false
nobody:x:65534:65534::/:/bin/false
ana:x:1000:1000::/home/ana:/bin/sh
bo:x:1001:1001::/home/bo:/bin/sh
`

const group = `root:x:0:
adm:x:4:ana
nogroup:x:65534:
avahi:x:106:
ana:x:1000:
bo:x:1001:
systemd-journal:x:999:
totp:x:998:ana
`

// Password is that of ana and bo.
const Password = "correct horse"

// hash is Password as crypt(5) keeps it (openssl passwd -6 -salt fettle).
const hash = "$6$fettle$BBZ1B6Uj4cg3KEULgTbRjm1BbfaLKVfKDBtT4wgsQpwQkOPHVbvNJtSh9vfx2NirUCUflA788ByhEos5wvSGG1"

// stack is Debian's /etc/pam.d/sshd with what it includes, without the modules
// for SELinux, limits, the environment and mail, and without the pause of 2 s
// after each login that is refused.
var stack = map[string]string{
	"common-auth": "auth [success=1 default=ignore] pam_unix.so nullok nodelay\nauth requisite pam_deny.so\nauth required pam_permit.so\n",
	"common-account": "account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so\naccount requisite pam_deny.so\naccount " +
		"required pam_permit.so\n",
	"common-session": "session [default=1] pam_permit.so\nsession requisite pam_deny.so\nsession required pam_permit.so\nsession required " +
		"pam_unix.so\n",
	"other": "@include common-auth\n@include common-account\n@include common-session\n",
	"sshd":  Auth + Rest,
}

// Auth and Rest are the two parts of /etc/pam.d/sshd.
const (
	Auth = "@include common-auth\n"
	Rest = "account required pam_nologin.so\n@include common-account\n@include common-session\n" +
		"session optional pam_motd.so motd=/run/motd.dynamic\nsession optional pam_motd.so noupdate\n"
)

// config is Debian's /etc/ssh/sshd_config, with one host key, which is quick to make.
const config = `Include /etc/ssh/sshd_config.d/*.conf
HostKey /etc/ssh/ssh_host_ed25519_key
KbdInteractiveAuthentication no
UsePAM yes
X11Forwarding yes
PrintMotd no
AcceptEnv LANG LC_*
`

// client is ~/.ssh/config.
const client = "Host " + Name + "\n    HostName " + Addr + "\n"

// keys makes the host's key and one key for root and ana, which let each in
// as root, ana and bo. It waits for nobody: ssh knows the host.
const keys = `umask 077
ssh-keygen -q -t ed25519 -N '' -C lab -f /etc/ssh/ssh_host_ed25519_key
ssh-keygen -q -t ed25519 -N '' -C key -f /root/.ssh/id_ed25519
echo "` + Addr + ` $(cat /etc/ssh/ssh_host_ed25519_key.pub)" > /root/.ssh/known_hosts
cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
for home in /home/ana /home/bo; do
	mkdir -p $home/.ssh
	cp /root/.ssh/* $home/.ssh/
	chmod 0711 $home
	chown -R ${home#/home/} $home
done
`

// Host makes the host: with lines added to sshd_config, what else is to be
// done before sshd starts, and sshd running.
func Host(lines string, more ...lab.Act) []lab.Act {
	acts := []lab.Act{
		{Run: []string{"ip", "address", "add", Addr + "/24", "dev", "dummy0"}},
		{Run: []string{"ip", "link", "set", "dummy0", "up"}},
		write("/etc/passwd", passwd), write("/etc/group", group),
		{
			Write: &lab.File{
				Path:    "/etc/shadow",
				Mode:    0o600,
				Content: "root:*:19000::::::\nsshd:!:19000::::::\nana:" + hash + ":19000::::::\nbo:" + hash + ":19000::::::\n",
			},
		},
		write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"),
		write("/etc/hosts", "127.0.0.1 localhost\n"),
		write("/etc/ssh/sshd_config", config+lines),
		{Write: &lab.File{Path: "/root/.ssh/config", Mode: 0o600, Content: client}},
		write("/run/keys.sh", keys), {Run: []string{"sh", "-e", "/run/keys.sh"}},
	}
	for _, name := range []string{"common-auth", "common-account", "common-session", "other", "sshd"} {
		acts = append(acts, write("/etc/pam.d/"+name, stack[name]))
	}
	// What systemd-user-sessions does at the end of a boot.
	acts = append(acts, lab.Act{Run: []string{"rm", "-f", "/run/nologin"}})
	return slices.Concat(acts, more, []lab.Act{{Run: []string{"systemctl", "start", "ssh.service"}}, {Run: Key("true")}})
}

func write(name, text string) lab.Act { return lab.Act{Write: &lab.File{Path: name, Content: text}} }

// As is a command run as ana, with her rights alone.
func As(command ...string) []string {
	return append([]string{"setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "env", "HOME=/home/ana"}, command...)
}

// Silent has name servers asked that do not answer, each lookup for so many seconds.
func Silent(seconds string) lab.Act {
	return write("/etc/resolv.conf", "nameserver 192.0.2.53\noptions timeout:"+seconds+" attempts:1\n")
}
