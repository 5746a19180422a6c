// Package proof shows that the remedies of rules fix what they should, and
// that undo restores it: many in one machine, judged by the programs that the
// rules are about.
package proof

import (
	"maps"
	"slices"

	"fettle/lab"
)

// Group is what the scenarios belong to.
const Group = "rule-remedies"

// remedy is one rule's remedy: how to walk into the trap, and what a program
// other than fettle says in it, after the fix, and after the undo.
type remedy struct {
	rule    string
	prepare []lab.Act
	judge   []string
	trapped string // what the judge prints
	fixed   string
	final   bool              // cannot be undone
	files   map[string]string // what they hold after the fix, whole
}

// Rules are those that a scenario here fixes.
func Rules() map[string]bool {
	out := map[string]bool{}
	for _, r := range slices.Concat(plain, underSystemd) {
		out[r.rule] = true
	}
	return out
}

func file(name, text string) lab.Act { return mode(name, text, 0o644) }

func mode(name, text string, m uint32) lab.Act {
	return lab.Act{Write: &lab.File{Path: name, Content: text, Mode: m}}
}

func run(argv ...string) lab.Act { return lab.Act{Run: argv} }

func sh(text string) []string { return []string{"sh", "-c", text} }

// story is found, fix, clear, undo, found, rule by rule.
func story(all []remedy) []lab.Step {
	var steps []lab.Step
	for _, r := range all {
		expect := func(status int, has string, argv ...string) lab.Act {
			return lab.Act{Expect: &lab.Expect{Run: argv, Status: status, Has: has}}
		}
		judged := func(want string) lab.Act { return expect(0, want, sh("echo \"judge: $("+r.judge[2]+")\"")...) }
		fix := []string{r.rule, "--yes"}
		if r.final {
			fix = append(fix, "--yes-irreversible")
		}
		acts := append(append([]lab.Act{}, r.prepare...),
			lab.Checked(r.rule, map[string]string{"*": "found"}), judged(r.trapped),
			lab.Mended(fix...),
			expect(0, "", "fettle", "check", r.rule), judged(r.fixed))
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			acts = append(acts, lab.Act{Holds: &lab.File{Path: name, Content: r.files[name]}})
		}
		if !r.final {
			acts = append(acts, expect(0, "", "fettle", "undo", "--yes"), lab.Checked(r.rule, map[string]string{"*": "found"}), judged(r.trapped))
		}
		steps = append(steps, lab.Step{Name: r.rule, Acts: acts})
	}
	return steps
}

// Scenarios play the remedies.
var Scenarios = []lab.Scenario{
	{Name: "files", About: "Remedies of rules that change files, sysctls and mounts: found, fixed, clear, undone, found again",
		Needs: lab.Needs{Engine: "uml", MemMiB: 320, Modules: []string{"loop", "veth", "ext4"},
			Files: []string{"/usr/share/dpkg"},
			Tools: []string{
				"sh",
				"cat",
				"grep",
				"run-parts",
				"visudo",
				"ip",
				"sysctl",
				"truncate",
				"losetup",
				"mkfs.ext4",
				"mount",
				"umount",
				"findmnt",
				"mkdir",
				"chmod",
				"test",
				"true",
				"apt-config",
				"dpkg",
				"dpkg-query",
				"dpkg-deb",
				"dpkg-split",
				"tar",
				"rm",
				"ldconfig",
				"start-stop-daemon",
				"diff",
				"stat",
			}},
		Steps: append([]lab.Step{{Name: "a-debian", Acts: []lab.Act{
			file("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"), file("/usr/lib/systemd/systemd", ""),
			file(
				"/var/lib/dpkg/status",
				pkg("cron", "installed")+pkg("unattended-upgrades", "installed")+pkg("logrotate", "installed")+
					pkg("fail2ban", "installed")+pkg("python3-systemd", "installed"),
			), file("/etc/nsswitch.conf", "hosts: files\n"),
		}}}, story(plain)...)},
	{Name: "units", About: "Remedies of rules that start, enable and configure units, under the host's own systemd",
		Needs: lab.Needs{
			Systemd: true,
			MemMiB:  320,
			Tools:   []string{"sh", "cat", "grep", "systemctl", "journalctl", "sleep", "cp", "mkdir", "ls", "true"},
		},
		Steps: append([]lab.Step{{Name: "a-debian", Acts: []lab.Act{file("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
			file("/var/lib/dpkg/status", pkg("logrotate", "installed"))}}}, story(underSystemd)...)},
}

func pkg(name, state string) string {
	return "Package: " + name + "\nStatus: install ok " + state + "\nPriority: optional\nSection: misc\nMaintainer: nobody " +
		"<n@example.org>\nArchitecture: all\nVersion: 1\nDescription: x\n\n"
}

var plain = []remedy{
	{rule: "fail2ban-no-log", prepare: []lab.Act{file("/etc/fail2ban/jail.d/defaults-debian.conf", "[sshd]\nenabled = true\n")},
		files: map[string]string{"/etc/fail2ban/jail.d/zz-fettle-sshd.conf": "[sshd]\nbackend = systemd\n"},
		judge: sh(`cat /etc/fail2ban/jail.d/*.conf | grep -c backend`), trapped: "judge: 0", fixed: "judge: 1"},
	{rule: "fail2ban-blind-to-sessions", prepare: []lab.Act{file("/usr/libexec/sshd-session", ""),
		file("/etc/fail2ban/filter.d/sshd.conf", "[DEFAULT]\n_daemon = sshd\n")},
		files: map[string]string{"/etc/fail2ban/filter.d/sshd.local": "[Definition]\n_daemon = sshd(?:-session)?\n"},
		judge: sh(`cat /etc/fail2ban/filter.d/sshd.* | grep -c session`), trapped: "judge: 0", fixed: "judge: 1"},
	{rule: "logrotate-file-ignored", prepare: []lab.Act{file("/etc/logrotate.conf", "weekly\ninclude /etc/logrotate.d\n"),
		mode("/etc/logrotate.d/shop", "/var/log/shop.log {\n  weekly\n}\n", 0o664), run("chmod", "0664", "/etc/logrotate.d/shop")},
		judge: sh(`stat -c %a /etc/logrotate.d/shop`), trapped: "judge: 664", fixed: "judge: 644"},
	{rule: "own-name-not-in-hosts", prepare: []lab.Act{file("/etc/hostname", "shop\n"),
		file("/etc/hosts", "# ours\n127.0.0.1 localhost\n192.0.2.7 till\n")},
		files: map[string]string{"/etc/hosts": "# ours\n127.0.0.1 localhost\n192.0.2.7 till\n127.0.1.1\tshop\n"},
		judge: sh(`grep -cw shop /etc/hosts`), trapped: "judge: 0", fixed: "judge: 1"},
	{
		rule: "postgresql-fsync-off",
		prepare: []lab.Act{file("/etc/postgresql/15/main/postgresql.conf",
			"# by the DBA\nport = 5432\nfsync = off   # faster\n\nwork_mem = 64MB")},
		files: map[string]string{"/etc/postgresql/15/main/postgresql.conf": "" +
			"# by the DBA\nport = 5432\nfsync = on   # faster\n\nwork_mem = 64MB"},
		judge:   sh(`grep ^fsync /etc/postgresql/15/main/postgresql.conf`),
		trapped: "judge: fsync = off",
		fixed:   "judge: fsync = on",
	},
	{rule: "rtc-local-time", prepare: []lab.Act{file("/etc/adjtime", "0.013 1700000000 0.0\n1700000000\nLOCAL\n")},
		files: map[string]string{"/etc/adjtime": "0.013 1700000000 0.0\n1700000000\nUTC\n"},
		judge: sh(`grep -c UTC /etc/adjtime`), trapped: "judge: 0", fixed: "judge: 1"},
	{
		rule: "fstab-without-nofail",
		prepare: []lab.Act{
			file("/etc/fstab", "# disks\nLABEL=data\t/srv/data  ext4 defaults,noatime 0 2\nLABEL=x /srv/data2 ext4 nofail 0 2\n"),
		},
		files: map[string]string{"/etc/fstab": "" +
			"# disks\nLABEL=data\t/srv/data  ext4 defaults,noatime,nofail 0 2\nLABEL=x /srv/data2 ext4 nofail 0 2\n"},
		judge:   sh(`findmnt --fstab -n -o OPTIONS /srv/data`),
		trapped: "judge: defaults,noatime\n",
		fixed:   "judge: defaults,noatime,nofail\n",
	},
	{rule: "nfs-soft-mount", prepare: []lab.Act{file("/etc/fstab",
		"# the NAS\nnas:/x /mnt/x nfs rw,soft,timeo=30 0 0\nnas:/y /mnt/y nfs rw,hard 0 0")},
		files: map[string]string{"/etc/fstab": "# the NAS\nnas:/x /mnt/x nfs rw,hard,timeo=30 0 0\nnas:/y /mnt/y nfs rw,hard 0 0"},
		judge: sh(`findmnt --fstab -n -o OPTIONS /mnt/x`), trapped: "judge: rw,soft,timeo=30", fixed: "judge: rw,hard,timeo=30"},
	{rule: "cron-file-ignored", prepare: []lab.Act{mode("/etc/cron.daily/backup.sh", "#!/bin/sh\n", 0o755)},
		judge: sh(`run-parts --test /etc/cron.daily`), trapped: "judge: \n", fixed: "judge: /etc/cron.daily/backup\n"},
	{
		rule: "sudoers-file-ignored",
		prepare: []lab.Act{
			mode("/etc/sudoers", "root ALL=(ALL) ALL\n@includedir /etc/sudoers.d\n", 0o440),
			mode("/etc/sudoers.d/jane.doe", "Defaults insults\n", 0o440),
		},
		judge:   sh(`visudo -c | grep -c 'sudoers.d/jane_doe: parsed OK'`),
		trapped: "judge: 0",
		fixed:   "judge: 1",
	},
	{
		rule: "resolv-conf-too-many-servers",
		prepare: []lab.Act{
			file("/etc/resolv.conf", "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\noptions rotate\n"),
		},
		judge:   sh(`grep -c ^nameserver /etc/resolv.conf`),
		trapped: "judge: 4",
		fixed:   "judge: 3",
	},
	{rule: "unattended-upgrades-idle", prepare: []lab.Act{run("mkdir", "-p", "/etc/apt/apt.conf.d")},
		judge: sh(`apt-config shell V APT::Periodic::Unattended-Upgrade`), trapped: "judge: \n", fixed: "judge: V='1'"},
	{rule: "rp-filter-asymmetric", prepare: []lab.Act{run("ip", "link", "add", "out0", "type", "veth", "peer", "name", "out1"),
		run("ip", "addr", "add", "192.0.2.1/24", "dev", "out0"), run("ip", "addr", "add", "198.51.100.1/24", "dev", "out1"),
		run("ip", "link", "set", "out0", "up"), run("ip", "link", "set", "out1", "up"),
		run(
			"ip",
			"route",
			"add",
			"default",
			"via",
			"192.0.2.254",
			"dev",
			"out0",
			"metric",
			"10",
		), run("ip", "route", "add", "default", "via", "198.51.100.254", "dev", "out1", "metric", "20"),
		run(
			"sysctl",
			"-q",
			"net.ipv4.conf.all.rp_filter=0",
		), run("sysctl", "-q", "net.ipv4.conf.out0.rp_filter=0"), run("sysctl", "-q", "net.ipv4.conf.out1.rp_filter=1")},
		judge: sh(`sysctl -n net.ipv4.conf.out1.rp_filter`), trapped: "judge: 1", fixed: "judge: 2"},
	{
		rule: "write-barriers-off",
		prepare: []lab.Act{run("truncate", "-s", "32M", "/tmp/disk"), run("mkfs.ext4", "-q", "/tmp/disk"), run("mkdir", "-p", "/mnt/disk"),
			file("/etc/fstab", "/tmp/disk /mnt/disk ext4 loop,nobarrier 0 0\n"), run("mount", "-o", "loop,nobarrier", "/tmp/disk", "/mnt/disk")},
		judge:   sh(`grep -c 'mnt/disk .*nobarrier' /proc/mounts`),
		trapped: "judge: 1",
		fixed:   "judge: 0",
	},
	{
		rule:  "dpkg-half-done",
		final: true,
		prepare: []lab.Act{
			file("/var/lib/dpkg/status", pkg("shop", "unpacked")),
			file("/var/lib/dpkg/info/shop.list", "/.\n"),
			file("/var/lib/dpkg/info/format", "1\n"),
			run("mkdir", "-p", "/var/lib/dpkg/updates", "/var/lib/dpkg/triggers", "/var/log"),
		},
		judge:   sh(`dpkg-query -W -f '${db:Status-Status}' shop`),
		trapped: "judge: unpacked",
		fixed:   "judge: installed",
	},
}

var underSystemd = []remedy{
	{
		rule: "logrotate-never-runs",
		prepare: []lab.Act{file("/etc/systemd/system/logrotate.timer", "[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n"),
			file(
				"/etc/systemd/system/logrotate.service",
				"[Service]\nExecStart=/usr/bin/true\n",
			), run("systemctl", "daemon-reload"), run("systemctl", "disable", "--now", "logrotate.timer")},
		judge: sh(
			`systemctl is-active logrotate.timer; systemctl is-enabled logrotate.timer`,
		),
		trapped: "judge: inactive\ndisabled",
		fixed:   "judge: active\nenabled",
	},
	{
		rule: "time-not-synchronised",
		prepare: []lab.Act{run("mkdir", "-p", "/usr/local/bin"), run("cp", "/usr/bin/sleep", "/usr/local/bin/systemd-timesyncd"),
			file(
				"/etc/systemd/system/systemd-timesyncd.service",
				"[Service]\nType=exec\nExecStart=/usr/local/bin/systemd-timesyncd 10000\n[Install]\nWantedBy=sysinit.target\n",
			), run("systemctl", "daemon-reload")},
		judge: sh(
			`systemctl is-active systemd-timesyncd; systemctl is-enabled systemd-timesyncd`,
		),
		trapped: "judge: inactive\ndisabled",
		fixed:   "judge: active\nenabled",
	},
	{
		rule: "time-daemons-quarrel",
		prepare: []lab.Act{run("cp", "/usr/bin/sleep", "/usr/local/bin/chronyd"), run("systemctl", "enable", "--now", "systemd-timesyncd"),
			file(
				"/etc/systemd/system/chrony.service",
				"[Service]\nType=exec\nExecStart=/usr/local/bin/chronyd 10000\n",
			), run("systemctl", "daemon-reload"), run("systemctl", "start", "chrony")},
		judge:   sh(`systemctl is-active systemd-timesyncd chrony`),
		trapped: "judge: active\nactive",
		fixed:   "judge: inactive\nactive",
	},
	{rule: "cgroup-tasks-limit", prepare: []lab.Act{
		file(
			"/etc/systemd/system/crowd.service",
			"[Service]\nTasksMax=4\nExecStart=/usr/bin/sh -c 'sleep 1000 & sleep 1000 & (sleep 1000 & sleep 1000 & sleep 1000 &); wait'\n",
		),
		run(
			"systemctl",
			"daemon-reload",
		), run("systemctl", "start", "crowd"), {Until: sh(`grep -q 'max [1-9]' /sys/fs/cgroup/system.slice/crowd.service/pids.events`)}},
		judge: sh(`systemctl show -P TasksMax crowd`), trapped: "judge: 4", fixed: "judge: 8"},
	{
		rule: "journal-lost-at-restart",
		prepare: []lab.Act{
			file("/usr/lib/systemd/journald.conf.d/volatile.conf", "[Journal]\nStorage=volatile\n"),
			run("systemctl", "restart", "systemd-journald"),
		},
		judge: sh(
			`journalctl --header 2>/dev/null | grep -c 'File path: /var/log/journal.*system.journal'`,
		),
		trapped: "judge:",
		fixed:   "judge: 1",
	},
}
