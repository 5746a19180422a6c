package rule

import (
	"strings"
	"testing"
)

// TestReadsStat: what a file is, of whom and how old; with follow: false, what a link itself is.
func TestReadsStat(t *testing.T) {
	const house = "time: 2026-01-02T00:00:00Z\n-- root/etc/b --\nabc\n-- stat/etc/b --\nmode 6755 uid 7 gid 8 size 4 nlink 3 mtime " +
		"2026-01-01T00:00:00Z\n" +
		"-- link/etc/l --\nb\n-- root/etc/passwd --\nroot:x:0:0::/root:/bin/sh\nann:x:7:8::/:/bin/sh\n-- root/etc/group --\nroot:x:0:\nadm:x:8:\n"
	many := house +
		"-- stat/etc/t --\ntype dir mode 1777\n-- stat/etc/g --\nmode 0020 uid 0 gid 8\n-- stat/etc/o --\nmode 0002 uid 7 gid 0\n" +
		"-- stat/etc/p --\ntype pipe\n-- stat/etc/s --\ntype socket\n-- stat/etc/c --\ntype char\n-- stat/etc/k --\ntype block\n"
	one := func(m string) string {
		return `[` + m + `.path, ` + m + `.type, ` + m + `.mode, ` + m + `.owner, string(` + m + `.world_writable), string(` + m +
			`.group_writable)]`
	}
	const b = " | stat /etc/b: mode 6755, owner ann:adm"
	checkReads(t, []read{
		{house, "{stat: /etc/b}", one("f"), "/etc/b, file, 6755, ann:adm, false, false" + b},
		{house, "{stat: /etc/b}", "[int(f.uid), int(f.gid), f.size, int(f.nlink)]", "7, 8, 4, 3" + b},
		{house, "{stat: /etc/b}", `[f.exists, f.age == duration("24h"), f.mtime == timestamp("2026-01-01T00:00:00Z")]`, "true, true, true" + b},
		{house, "{stat: /etc/l}", "f.type", "file | stat /etc/l: mode 6755, owner ann:adm"},
		{house, "{stat: /etc/l, follow: false}", "f.type", "link | stat /etc/l: mode 0777, owner root:root"},
		{many, "{stats: '/etc/[cgkopst]'}",
			`f.map(x, x.path + " " + x.type + " " + x.mode + " " + x.owner + (x.world_writable ? " w" : "") + (x.group_writable ? " g" : ""))`,
			"/etc/c char 0644 root:root, /etc/g file 0020 root:adm g, /etc/k block 0644 root:root, /etc/o file 0002 ann:root w, /etc/p " +
				"fifo 0644 root:root, " +
				"/etc/s socket 0644 root:root, /etc/t dir 1777 root:root w g | stats /etc/[cgkopst]: 7 read"},
		{house, "{stats: /etc/l, follow: false}", "f.map(x, x.type)", "link | stats /etc/l: 1 read"},
		{house, "{stats: /etc/l}", "f.map(x, x.type)", "file | stats /etc/l: 1 read"},
		{house, "{stats: /etc/none}", "size(f)", "0 | stats /etc/none: none"},
		{house + "-- denied/etc/passwd --\n", "{stat: /etc/b}", "f.owner", "7:8 | stat /etc/b: mode 6755, owner 7:8"},
		{house, "{stat: /etc/passwd}", "f.age", "unknown: the time of /etc/passwd: not collected in this capture"},
		{house, "{stat: /etc/passwd}", "f.mtime", "unknown: the time of /etc/passwd: not collected in this capture"},
		{"", "{stat: /etc/b}", "[f.exists, f.world_writable]", "false, false | stat /etc/b: absent"},
		{deniedA, "{stat: /etc/a}", "f.exists", "unknown: needs root: stat of /etc/a: permission denied"},
		{house + "-- root/etc/a --\n" + deniedA, "{stats: /etc/*}", "size(f)", "unknown: needs root: stat of /etc/a: permission denied"},
		{"-- denied/etc --\n", "{stats: /etc/*}", "size(f)", "unknown: needs root: listing /etc: permission denied"},
	})
}

func TestReadsLockAndLink(t *testing.T) {
	const locked = "-- stat/etc/b --\nino 7\n-- stat/etc/c --\nino 8\n-- root/etc/d --\n"
	const locks = locked + "-- root/proc/locks --\n1: POSIX  ADVISORY  WRITE 42 fe:00:7 0 EOF\n"
	const links = "-- link/etc/l --\n../usr/b\n-- link/etc/abs --\n/usr/none\n-- link/etc/two --\nl\n-- root/usr/b --\n"
	checkReads(t, []read{
		{locks, "{lock: /etc/b}", "[f.exists, f.held, f.pid == 42]", "true, true, true | /proc/locks: process 42 locks /etc/b"},
		{locks, "{lock: /etc/c}", "[f.exists, f.held, f.pid == 0]", "true, false, true | /proc/locks: no process locks /etc/c"},
		{locks, "{lock: /etc/d}", "f.held", "unknown: the inode of /etc/d: not collected in this capture"},
		{"", "{lock: /etc/b}", "[f.exists, f.held]", "false, false | /etc/b: absent"},
		{deniedA, "{lock: /etc/a}", "f.held", "unknown: needs root: stat of /etc/a: permission denied"},
		{locked + "-- denied/proc/locks --\n", "{lock: /etc/b}", "f.held", "unknown: needs root: reading /proc/locks: permission denied"},
		{links, "{link: /etc/l}", "[f.target, f.resolved]", "../usr/b, /usr/b | link /etc/l: ../usr/b"},
		{links, "{link: /etc/l}", "[f.exists, f.dangling]", "true, false | link /etc/l: ../usr/b"},
		{links, "{link: /etc/abs}", "f.resolved + string(f.dangling)", "/usr/nonetrue | link /etc/abs: /usr/none"},
		{links, "{link: /etc/two}", "f.target + f.resolved", "l/usr/b | link /etc/two: l"},
		{links, "{link: /usr/b}", "[f.exists, f.target == '']", "false, true | /usr/b: no symlink"},
		{links, "{link: /usr/none}", "f.exists", "false | /usr/none: no symlink"},
		{deniedA, "{link: /etc/a}", "f.exists", "unknown: needs root: reading link /etc/a: permission denied"},
		{links + "-- denied/usr/none --\n", "{link: /etc/abs}", "f.dangling", "unknown: needs root: stat of /usr/none: permission denied"},
	})
}

const (
	bookwormHost = "-- root/etc/os-release --\nID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nNAME=\"Debian GNU/Linux\"\n" +
		"PRETTY_NAME=\"Debian 12\"\n"
	deniedDpkg = "-- denied/var/lib/dpkg/status --\n"
	noDpkg     = "unknown: needs root: reading /var/lib/dpkg/status: permission denied"
)

func TestReadsPackages(t *testing.T) {
	const deb = "-- packages --\nbash 5.2-1\nlibc6 1:2.36-9\nlibssl3 3.0-1\n"
	const rpm = "-- packages --\n# rpm\nbash 5.1-2\nopenssl 1:3.0-1\n"
	const parts = "-- root/var/lib/dpkg/status --\nPackage: a\nStatus: deinstall ok config-files\nVersion: 1\nArchitecture: amd64\n\n" +
		"Package: b\nStatus: install ok half-configured\nVersion: 2\nArchitecture: i386\n\nPackage: b\nStatus: install ok installed\n" +
		"Version: 3\nArchitecture: amd64\n"
	distroless := "-- root/var/lib/dpkg/status.d/a --\nPackage: a\nVersion: 1-1\nArchitecture: amd64\n"
	checkReads(t, []read{
		{deb, "{package: bash}", "[f.name, f.version, f.status, f.manager, string(f.installed)]",
			"bash, 5.2-1, installed, dpkg, true | package bash: 5.2-1"},
		{deb, "{package: [none, libc6, bash]}", "f.name", "libc6 | package libc6: 1:2.36-9"},
		{deb, "{package: libc6}", `[f.before("1:2.36-9"), f.before("1:2.36-10"), f.since("1:2.36-9"), f.since("2:1"), f.before("3")]`,
			"false, true, true, false, false | package libc6: 1:2.36-9"},
		{deb, "{package: 'bash:i386'}", "f.installed", "false | packages: bash:i386: not installed"},
		{deb, "{package: 'bash:amd64'}", "f.installed", "true | package bash: 5.2-1"},
		{parts, "{package: b}", "[f.version, f.status]", "2, half-configured | package b: 2"},
		{parts, "{package: 'b:amd64'}", "f.version", "3 | package b: 3"},
		{parts, "{package: a}", "f.installed", "false | packages: a: not installed"},
		{parts, "{packages: '*'}", "f.map(p, p.name + p.version)", "b2, b3 | packages *: 2 read"},
		{deb, "{package: [x, y]}", "[f.name, f.manager, f.version]", "x, dpkg,  | packages: x, y: not installed"},
		{deb, "{package: x}", `f.before("1")`, "unknown: x.yaml:17: x is not installed: it has no version"},
		{deb, "{package: x}", `f.since("1")`, "unknown: x.yaml:17: x is not installed: it has no version"},
		{rpm, "{package: openssl}", `[f.before("1:3.0-2"), f.before("1:3.0-1"), f.before("4"), f.manager == "rpm"]`,
			"true, false, false, true | package openssl: 1:3.0-1"},
		{"kind: sosreport\n-- packages --\n# rpm\nopenssl 3.0-1\n", "{package: openssl}", `[f.before("1:3.0-1"), f.before("1:3.0-2")]`,
			"false, true | package openssl: 3.0-1"},
		{distroless, "{package: a}", "f.manager", "dpkg | package a: 1-1"},
		{deniedDpkg, "{package: bash}", "f.installed", noDpkg},
		{deniedDpkg, "{packages: bash}", "size(f)", noDpkg},
		{deb, "{packages: ['lib*', bash]}", "f.map(p, p.name)", "bash, libc6, libssl3 | packages lib*, bash: 3 read"},
		{deb, "{packages: 'lib[a-c]*'}", "f.map(p, p.version)", "1:2.36-9 | packages lib[a-c]*: 1 read"},
	})

}

// TestReadsKernel: what runs, by what distributions call it.
func TestReadsKernel(t *testing.T) {
	const sig = "-- root/proc/version_signature --\n"
	ask := `[f.upstream, f.package, f.distribution]`
	checkReads(t, []read{
		{"release: 6.1.0-25-amd64\nversion: '#1 SMP Debian 6.1.106-3 (2024-08-26)'\n", "{kernel: running}", ask,
			"6.1.106, 6.1.106-3, debian | uname -r: 6.1.0-25-amd64"},
		{"release: 5.15.0-91-generic\n" + sig + "Ubuntu 5.15.0-91.101-generic 5.15.131\n", "{kernel: running}", ask,
			"5.15.131, 5.15.0-91.101, ubuntu | uname -r: 5.15.0-91-generic"},
		{"release: 5.15.0-91-generic\n" + sig + "Ubuntu 5.15.0 5.15.131\n", "{kernel: running}", ask,
			"5.15.131, 5.15.0, ubuntu | uname -r: 5.15.0-91-generic"},
		{"release: 5.15.0-91-generic\n" + sig + "Mint 5.15.0-91.101-generic 5.15.131\n", "{kernel: running}", ask,
			"5.15.0, ,  | uname -r: 5.15.0-91-generic"},
		{"release: 5.15.0-91-generic\n" + sig + "Ubuntu 5.15.0-91.101-generic\n", "{kernel: running}", ask,
			"5.15.0, ,  | uname -r: 5.15.0-91-generic"},
		{"release: 4.18.0-553.el8_10.x86_64\n" + sig + "Ubuntu 1-2-3 9.9\n", "{kernel: running}", ask,
			"4.18.0, 4.18.0-553.el8_10.x86_64, redhat | uname -r: 4.18.0-553.el8_10.x86_64"},
		{"release: 6.1.79-99.167.amzn2023.x86_64\n", "{kernel: running}", "f.distribution", "redhat | uname -r: 6.1.79-99.167.amzn2023.x86_64"},
		{"release: 5.15.0-200.131.27uek.x86_64\n", "{kernel: running}", "f.distribution", "redhat | uname -r: 5.15.0-200.131.27uek.x86_64"},
		{"release: 6.4.0-150600.21-default\n", "{kernel: running}", "f.distribution + f.package + f.release",
			"suse6.4.0-150600.21-default | uname -r: 6.4.0-150600.21-default"},
		{"release: 5.3.18-57.lp1\n", "{kernel: running}", "f.distribution", "suse | uname -r: 5.3.18-57.lp1"},
		{"release: 6.19.0-rc1+\n", "{kernel: running}", `[f.before("6.19"), f.since("6.19"), f.since("6.18.5")]`,
			"true, false, true | uname -r: 6.19.0-rc1+"},
		{"release: 6.18.0\n", "{kernel: running}", `[f.before("6.18"), f.since("6.18"), f.before("6.19")]`,
			"false, true, true | uname -r: 6.18.0"},
		{"release: 6.18.0\n", "{kernel: running}", "f.before('x')", `unknown: x.yaml:17: "x" is not a version of Linux`},
		{"release: 6.18.0\n", "{kernel: running}", "f.since('x')", `unknown: x.yaml:17: "x" is not a version of Linux`},
		{"release: custom\n", "{kernel: running}", "f.release", `unknown: the release "custom" begins with no version of Linux`},
	})
}

// TestReadsFixed: the list of distributions before upstream's version; a kernel's fix that a distribution may have brought
// back is not known.
func TestReadsFixed(t *testing.T) {
	fixed := "{fixed-version: {package: [none, p], introduced: '2', upstream: '3', fixed: [{os: debian, release: '11', version: 2.5-9}, " +
		"{os: debian, release: '12', version: '1:2.5-2'}, {os: ubuntu, version: never}]}}"
	on := func(os, version string) string {
		id, release, _ := strings.Cut(os, " ")
		return "-- root/etc/os-release --\nID=" + id + "\nVERSION_ID=" + release + "\n-- packages --\np " + version + "\n"
	}
	kernel := "{fixed-version: {kernel: running, introduced: '5.0', upstream: '6.2', fixed: [{os: debian, version: 6.1.50-1}]}}"
	runs := func(os, release, version string) string {
		return "release: " + release + "\nversion: '" + version + "'\n-- root/etc/os-release --\nID=" + os + "\n"
	}
	ask := `string(f.bad) + " " + f.fixed_in`
	checkReads(t, []read{
		{on("debian 12", "1:2.5-1"), fixed, ask, "true 1:2.5-2 | p: 1:2.5-1; fixed since 1:2.5-2"},
		{on("debian 12", "1:2.5-2"), fixed, ask, "false 1:2.5-2 | p: 1:2.5-2; fixed since 1:2.5-2"},
		{on("debian 11", "2.5-8"), fixed, ask, "true 2.5-9 | p: 2.5-8; fixed since 2.5-9"},
		{on("debian 13", "1:2.9-1"), fixed, ask, "true 3 | p: 1:2.9-1; fixed since 3"},
		{on("debian 13", "1:3-1"), fixed, ask, "false 3 | p: 1:3-1; fixed since 3"},
		{on("debian 12", "1:1.9-1"), fixed, ask, "false 1:2.5-2 | p: 1:1.9-1; fixed since 1:2.5-2"}, // before it was introduced
		{on("debian 13", "1:2-1"), fixed, ask, "true 3 | p: 1:2-1; fixed since 3"},
		{on("ubuntu 24.04", "9-1"), fixed, ask, "true 3 | p: 9-1; fixed since 3"},
		{on("ubuntu 24.04", "1-1"), fixed, ask, "false 3 | p: 1-1; fixed since 3"},
		{on("rhel 9", "2.9-1"), fixed, "f.bad", "unknown: " + errBackports.Error()},
		{on("rhel 9", "3-1"), fixed, "f.bad", "false | p: 3-1; fixed since 3"},
		{"-- root/etc/os-release --\nID=fedora\n-- packages --\np 2.9-1\n", fixed, "f.bad", "true | p: 2.9-1; fixed since 3"},
		{"-- root/etc/os-release --\nID=rocky\nID_LIKE=\"centos fedora\"\n-- packages --\np 2.9-1\n", fixed, "f.bad", "unknown: " +
			errBackports.Error()},
		{"-- root/etc/os-release --\nID=sles\nID_LIKE=suse\n-- packages --\np 2.9-1\n", fixed, "f.bad", "unknown: " + errBackports.Error()},
		{"-- packages --\nq 1\n", fixed, "[f.name, string(f.installed)]", "none, false | packages: none, p: not installed"},
		{deniedDpkg, fixed, "f.bad", noDpkg},
		{"-- packages --\np 1\n-- denied/etc/os-release --\n", fixed, "f.bad", "unknown: needs root: reading /etc/os-release: permission denied"},
		{runs("debian", "6.1.0-9-amd64", "#1 SMP Debian 6.1.49-1 (x)"), kernel, ask,
			"true 6.1.50-1 | the kernel: 6.1.49-1; fixed since 6.1.50-1"},
		{runs("debian", "6.1.0-9-amd64", "#1 SMP Debian 6.1.50-1 (x)"), kernel, ask,
			"false 6.1.50-1 | the kernel: 6.1.50-1; fixed since 6.1.50-1"},
		{runs("arch", "6.1.9", ""), kernel, ask, "true 6.2 | the kernel: 6.1.9; fixed since 6.2"},
		{runs("arch", "6.2.0", ""), kernel, ask, "false 6.2 | the kernel: 6.2.0; fixed since 6.2"},
		{runs("arch", "4.9.1", ""), kernel, ask, "false 6.2 | the kernel: 4.9.1; fixed since 6.2"},
		{"release: custom\n", kernel, "f.bad", `unknown: the release "custom" begins with no version of Linux`},
	})
}

func TestReadsUnits(t *testing.T) {
	const units = "-- units --\na.service loaded active running enabled\nb.service loaded failed failed\nc.service masked inactive " +
		"dead masked\nd.service loaded active exited enabled-runtime\n"
	ask := "[f.exists, f.is_active, f.is_enabled, f.is_masked, f.is_failed]"
	checkReads(t, []read{
		{units, "{unit: a.service}", ask, "true, true, true, false, false | systemctl show a.service: active (running), enabled"},
		{units, "{unit: b.service}", ask, "true, false, false, false, true | systemctl show b.service: failed (failed)"},
		{units, "{unit: c.service}", ask, "true, false, false, true, false | systemctl show c.service: masked, inactive (dead), masked"},
		{units, "{unit: d.service}", ask, "true, true, true, false, false | systemctl show d.service: active (exited), enabled-runtime"},
		{units, "{unit: [x.service, b.service, a.service]}", "[f.name, f.load, f.active, f.sub]",
			"b.service, loaded, failed, failed | systemctl show b.service: failed (failed)"},
		{units, "{unit: [x.service, y.service]}", "f.name + f.file_state", "x.service | systemctl show x.service: not-found, inactive (dead)"},
	})
}

func TestReadsSysctls(t *testing.T) {
	const deniedConf = "-- root/etc/sysctl.d/1.conf --\n-- denied/etc/sysctl.d/1.conf --\n"
	conf := "-- root/etc/sysctl.d/10.conf --\n# c\nvm.swappiness = 10\n-- root/etc/sysctl.d/20.conf --\nvm.swappiness=20\n"
	checkReads(t, []read{
		{"-- root/proc/sys/vm/swappiness --\n60\n", "{sysctl: vm.swappiness}", "[f.exists, f.value == '60', f.int == 60]",
			"true, true, true | /proc/sys/vm/swappiness: 60"},
		{"-- root/proc/sys/vm/swappiness --\n1 2\n", "{sysctl: vm/swappiness}", "f.int",
			`unknown: /proc/sys/vm/swappiness says "1 2", which is not a number`},
		{"", "{sysctl: vm.swappiness}", "f.exists", "false | /proc/sys/vm/swappiness: absent"},
		{"", "{sysctl: vm.swappiness}", "f.int", "unknown: /proc/sys/vm/swappiness is absent"},
		{"-- denied/proc/sys/vm/swappiness --\n", "{sysctl: vm.swappiness}", "f.exists",
			"unknown: needs root: reading /proc/sys/vm/swappiness: permission denied"},
		{"-- root/proc/sys/kernel/random/uuid --\n1\n", "{sysctl: kernel.random.uuid}", "f.value",
			"unknown: /proc/sys/kernel/random/uuid: may hold secrets, which rules cannot read"},
		{conf, "{sysctl-conf: vm.swappiness}", "[f.value, f.where] + f.losers",
			"20, /etc/sysctl.d/20.conf:1, /etc/sysctl.d/10.conf:2 | /etc/sysctl.d/20.conf:1: vm.swappiness = 20"},
		{conf, "{sysctl-conf: vm/swappiness}", "f.set", "true | /etc/sysctl.d/20.conf:1: vm/swappiness = 20"},
		{conf, "{sysctl-conf: vm.overcommit_memory}", "[f.set, f.value != '']", "false, false | sysctl.d: vm.overcommit_memory is not set"},
		{conf + deniedConf, "{sysctl-conf: vm.swappiness}", "f.set", "unknown: needs root: reading /etc/sysctl.d/1.conf: permission denied"},
	})
}

func TestReadsProcesses(t *testing.T) {
	const ps = `-- table/processes --
[{"pid": 7, "comm": "systemd-journal", "uid": 3, "unit": "j.service"}, {"pid": 8, "comm": "abcdefghijklmno"}, {"pid": 9, "comm": "a"}]
`
	checkReads(t, []read{
		{ps, "{process: systemd-journald}", `f.map(p, p.comm + string(p.pid) + string(p.uid) + p.unit)`,
			"systemd-journal73j.service | process systemd-journald: 1 read"},
		{ps, "{process: abcdefghijklmno}", "size(f)", "1 | process abcdefghijklmno: 1 read"},
		{ps, "{process: abcdefghijklmn}", "size(f)", "0 | process abcdefghijklmn: none"},
		{ps, "{process: ['[ab]', 'sys*']}", "f.map(p, p.pid)", "7, 9 | process [ab], sys*: 2 read"},
		{ps, "{process: '?'}", "f[0]", "a | process ?: 1 read"},
		{"-- denied/table/processes --\n", "{process: a}", "size(f)", "unknown: needs root: reading processes: permission denied"},
	})
}

func TestReadsFilesystems(t *testing.T) {
	const fss = `-- root/srv/data/x --
-- root/srv/database --
-- link/l --
/srv/data/x
-- table/filesystems --
[{"device": "/dev/sda1", "mount": "/", "type": "ext4", "options": "rw,noatime", "size": 1000, "free": 500, "avail": 300, "files": 100, "ffree": 1},
 {"device": "none", "mount": "/srv/data", "type": "tmpfs", "options": "ro", "size": 0, "free": 0, "avail": 0, "files": 0, "ffree": 0},
 {"device": "nas:/x", "mount": "/srv/data", "type": "nfs4", "options": "rw", "network": true, "size": 10, "free": 10, "avail": 10, "files": 9, "ffree": 9}]
`
	const root = " | /: ext4 on /dev/sda1, rw,noatime, 62 % used"
	const nas = " | /srv/data: nfs4 on nas:/x, rw, 0 % used"
	checkReads(t, []read{
		{fss, "{filesystem: /srv/database}", `[f.used_percent, f.inodes_used_percent]`, "62.5, 99" + root},
		{fss, "{filesystem: /srv/database}",
			`[f.size, f.free, f.avail, f.files, f.ffree].map(n, string(n)) + f.options + [f.device, f.mount, f.type]`,
			"1000, 500, 300, 100, 1, rw, noatime, /dev/sda1, /, ext4" + root},
		{fss, "{filesystem: /srv/data/x}", "[f.exists, f.network]", "true, true" + nas}, // the one mounted last
		{fss, "{filesystem: /srv/data}", "f.type", "nfs4" + nas},
		{fss, "{filesystem: /l}", "f.mount", "/srv/data" + nas},
		{fss, "{filesystem: /none}", "f.exists", "false | /none: absent"},
		{fss, "{filesystems: {type: [ext4, tmpfs]}}", `f.map(x, x.type + " " + string(x.used_percent))`,
			"ext4 62.5, tmpfs 0 | filesystems: 2 read"},
		{fss, "{filesystems: {mount: /srv/*, device: 'nas:/*'}}", "f.map(x, x.type)", "nfs4 | filesystems: 1 read"},
		{fss, "{filesystems: {type: tmpfs, mount: /}}", "size(f)", "0 | filesystems: none"},
		{fss, "{filesystems: all}", "size(f)", "3 | filesystems: 3 read"},
		{"-- denied/table/filesystems --\n", "{filesystems: all}", "size(f)", "unknown: needs root: reading filesystems: permission denied"},
		{"-- denied/table/filesystems --\n", "{filesystem: /}", "f.type", "unknown: needs root: reading filesystems: permission denied"},
		{fss + "-- denied/srv/database --\n", "{filesystem: /srv/database}", "f.type",
			"unknown: needs root: stat of /srv/database: permission denied"},
	})
}

func TestReadsTablesOfTheHost(t *testing.T) {
	const fstab = "-- root/etc/fstab --\n# c\n/dev/sda1 / ext4 noatime,ro 1 2\ntmpfs /tmp tmpfs\n"
	const links = `-- table/links --
[{"ifname": "br0", "flags": ["UP", "LOWER_UP"], "mtu": 1500, "operstate": "UP", "address": "02:00:00:00:00:01", "linkinfo": {"info_kind": "bridge"},
  "addr_info": [{"local": "192.0.2.1", "prefixlen": 24}, {"local": "2001:db8::1", "prefixlen": 64}]},
 {"ifname": "vx0", "link": "eth0", "master": "br0", "mtu": 1450, "operstate": "DOWN", "linkinfo": {"info_kind": "vxlan", "info_data": {"external": true}}}]
`
	const md = "-- root/proc/mdstat --\nPersonalities : [raid1]\nmd0 : active raid1 sda1[0]\n      1000 blocks super 1.2 [2/1] [U_]\n" +
		"      [=>....]  recovery = 5.0% (1/20) finish=1.0min speed=1K/sec\n\nmd1 : inactive sdb1[0](S)\n      1000 blocks\n\nunused " +
		"devices: <none>\n"
	checkReads(t, []read{
		{fstab, "{fstab: all}", `f.map(e, e.device + e.mount + e.type + e.options.join("+") + string(e.dump) + string(e.pass) + string(e.line))`,
			"/dev/sda1/ext4noatime+ro122, tmpfs/tmptmpfsdefaults003 | fstab: 2 read"},
		{fstab, "{fstab: all}", "f[0]", "/dev/sda1 / ext4 noatime,ro 1 2 | fstab: 2 read"},
		{"", "{fstab: all}", "size(f)", "0 | fstab: none"},
		{"-- denied/etc/fstab --\n", "{fstab: all}", "size(f)", "unknown: needs root: reading /etc/fstab: permission denied"},
		{links, "{links: all}",
			`f.map(l, [l.name, l.kind, l.master, l.parent, l.operstate, l.mac, string(l.mtu), string(l.up), string(l.external)].join(" "))`,
			"br0 bridge   UP 02:00:00:00:00:01 1500 true false, vx0 vxlan br0 eth0 DOWN  1450 false true | links: 2 read"},
		{links, "{links: {kind: bridge}}", "f[0].addresses + f[0].flags", "192.0.2.1/24, 2001:db8::1/64, UP, LOWER_UP | links: 1 read"},
		{links, "{links: {name: 'vx*'}}", "f", "mtu 1450, DOWN | links: 1 read"},
		{links, "{links: {name: 'vx*', kind: bridge}}", "size(f)", "0 | links: none"},
		{"-- denied/table/links --\n", "{links: all}", "size(f)", "unknown: needs root: reading links: permission denied"},
		{md, "{arrays: all}",
			`f.map(a, [a.name, a.level, string(a.active), string(a.redundant), string(a.disks), string(a.missing), string(a.rebuilding)].join(" "))`,
			"md0 raid1 true true 2 1 true, md1  false false 0 0 false | arrays: 2 read"},
		{md, "{arrays: all}", "f[0]", "raid1 [2/1] [U_], recovery | arrays: 2 read"},
		{"-- denied/proc/mdstat --\n", "{arrays: all}", "size(f)", "unknown: needs root: reading /proc/mdstat: permission denied"},
		{"-- root/etc/passwd --\nroot:x:0:0::/root:/bin/sh\nann:x:7:8::/home/ann:/bin/false\n-- root/etc/group --\nroot:x:0:\n", "{users: all}",
			`f.map(u, u.name + string(u.uid) + string(u.gid) + u.home + u.shell)`, "root00/root/bin/sh, ann78/home/ann/bin/false | users: 2 read"},
		{"-- denied/etc/passwd --\n", "{users: all}", "size(f)", "unknown: needs root: reading /etc/passwd: permission denied"},
	})
}

func TestReadsTheRunningKernel(t *testing.T) {
	const line = "-- root/proc/cmdline --\nroot=/dev/sda1 quiet console=tty0 console=ttyS0,115200\n"
	const text = " | /proc/cmdline: root=/dev/sda1 quiet console=tty0 console=ttyS0,115200"
	const mods = "-- root/proc/modules --\nnf_nat 1 2 x\nkvm 1 0 -\nend\n"
	const sys = "-- root/sys/module/a_b/parameters/x --\n7\n-- root/sys/module/a_b/parameters/y --\n-- " +
		"denied/sys/module/a_b/parameters/y --\n-- root/sys/module/a_b/parameters/z --\n8\n"
	const mem = "-- root/proc/meminfo --\nodd\nMemTotal:  2048 kB\nEmpty:\nMemAvailable:  1024 kB\nHugePages_Total:  3\n"
	const said = " | /proc/meminfo: 2 MiB in all, 1 MiB available"
	checkReads(t, []read{
		{line, "{cmdline: running}",
			`f.getAll("console") + [f.get("root", "no"), f.get("init", "no"), f.values["root"], string(f.sets("quiet")), string(f.sets("qui"))]`,
			"tty0, ttyS0,115200, /dev/sda1, no, /dev/sda1, true, false" + text},
		{line, "{cmdline: running}", "[f.args.size() == 4, f.text.startsWith('root=')]", "true, true" + text},
		{"-- denied/proc/cmdline --\n", "{cmdline: running}", "f.text", "unknown: needs root: reading /proc/cmdline: permission denied"},
		{mods, "{module: nf-nat}", "f.loaded", "true | /sys/module/nf_nat: loaded"},
		{mods, "{module: kv}", "f.loaded", "false | /sys/module/kv: not loaded"},
		{mods, "{module: nf-nat}", "size(f.parameters)", "0 | /sys/module/nf_nat: loaded"},
		{sys, "{module: a-b}", `[string(f.loaded), f.parameters["x"], f.parameters["z"], f.parameters.get("y", "no")]`,
			"true, 7, 8, no | /sys/module/a_b: loaded"},
		{sys + "-- denied/sys/module/a_b/parameters --\n", "{module: a-b}", "size(f.parameters)",
			"unknown: needs root: listing /sys/module/a_b/parameters: permission denied"},
		{"", "{module: kvm}", "f.loaded", "false | /sys/module/kvm: not loaded"},
		{"-- denied/proc/modules --\n", "{module: kvm}", "f.loaded", "unknown: needs root: reading /proc/modules: permission denied"},
		{"-- denied/sys/module/kvm --\n", "{module: kvm}", "f.loaded", "unknown: needs root: stat of /sys/module/kvm: permission denied"},
		{"kind: root\n", "{module: kvm}", "f.loaded", "unknown: only files are seen here, not a running system"},
		{mods, "{modules: all}", "f", "nf_nat, kvm | modules: nf_nat, kvm"},
		{"", "{modules: all}", "size(f)", "0 | modules: none"},
		{"kind: root\n", "{modules: all}", "size(f)", "unknown: only files are seen here, not a running system"},
		{"-- denied/proc/modules --\n", "{modules: all}", "size(f)", "unknown: needs root: reading /proc/modules: permission denied"},
		{mem, "{memory: all}", `[f.total, f.available, f.fields["HugePages_Total"], size(f.fields)]`, "2097152, 1048576, 3, 3" + said},
		{mem, "{memory: all}", "f.swap_free", "unknown: /proc/meminfo has no SwapFree"},
		{mem, "{memory: all}", "f.swap_total", "unknown: /proc/meminfo has no SwapTotal"},
		{mem + "SwapTotal: 4 kB\nSwapFree: 2 kB\n", "{memory: all}", "[f.swap_total, f.swap_free]", "4096, 2048" + said},
		{mem + "Bad: x kB\n", "{memory: all}", "f.total", `unknown: /proc/meminfo says "x", which is not a number`},
		{"-- denied/proc/meminfo --\n", "{memory: all}", "f.total", "unknown: needs root: reading /proc/meminfo: permission denied"},
	})
}

// TestReadsLogs: the ends of the logs that are there; where none is, nobody knows, but for an optional one.
func TestReadsLogs(t *testing.T) {
	const logs = "-- root/var/log/syslog --\nx 1\ny\nx 2 \n-- root/var/log/messages --\n x 3\n-- root/var/log/d/1 --\n"
	// The part of a line at the front of the last mebibyte is none.
	tail := "-- root/var/log/syslog --\nx 0\n" + strings.Repeat("#", 1<<20) + "\nx 1\n"
	exact := "-- root/var/log/syslog --\nx 0\n" + strings.Repeat("#", 1<<20-len("x 0\n")-1) + "\n"
	ask := `[string(f.count), f.first, f.last, string(f.found), string(f.looked)]`
	checkReads(t, []read{
		{logs, "{log: x}", ask, "3, x 1, x 3, true, true | /var/log/messages: x 3"},
		{logs, "{log: x, in: [/var/log/none, /var/log/syslog]}", ask, "2, x 1, x 2, true, true | /var/log/syslog: x 2"},
		{logs, "{log: none, in: /var/log/sys*}", ask, "0, , , false, true | /var/log/syslog: no line matches none"},
		{logs, "{log: x, in: /var/log/none}", "f.found", "unknown: none of /var/log/none is there, and the journal is not read"},
		{logs, "{log: x, in: /var/log/none, optional: true}", ask, "0, , , false, false"},
		{logs + "-- denied/var/log/syslog --\n", "{log: x}", "f.found", "unknown: needs root: reading /var/log/syslog: permission denied"},
		{logs + "-- denied/var/log/syslog --\n", "{log: x, optional: true}", ask, "1, x 3, x 3, true, true | /var/log/messages: x 3"},
		{"-- denied/var/log --\n", "{log: x, in: /var/log/*}", "f.found", "unknown: needs root: listing /var/log: permission denied"},
		{exact, "{log: x}", ask, "1, x 0, x 0, true, true | /var/log/syslog: x 0"},
	})
	for _, c := range []read{
		{tail, "{log: x}", ask, "1, x 1, x 1, true, true | /var/log/syslog: x 1"},
		{"-- command/dmesg --\nexit 3\na\nb\n", "{command: [dmesg]}", `f.lines + [string(f.exit), string(f.stdout == "a\nb\n"), f.stderr]`,
			"a, b, 3, true,  | dmesg: 2 lines"},
		{"-- denied/command/dmesg --\n", "{command: [dmesg]}", "f.exit", "unknown: needs root: running dmesg: permission denied"},
	} {
		c.check(t, true)
	}
}

func TestReadsUpgrade(t *testing.T) {
	const php = bookwormHost + "-- packages --\nbash 5\n"
	ask := `[f.name, f.version, f.next, f.series, f.next_series, string(f.gone), string(f.installed)]`
	checkReads(t, []read{
		{php, "{upgrade: bind9}", "[f.from, f.to, f.codename, f.leaves, string(f.known), string(f.installed), string(f.crosses('1'))]",
			"Debian 12, Debian 13, trixie, bookworm, true, false, false | packages: bind9: not installed"},
		{php + "bind9 1:9.18.49-1~deb12u1\n", "{upgrade: bind9}", ask,
			"bind9, 1:9.18.49-1~deb12u1, 1:9.20.30-1~deb13u1, 9.18, 9.20, false, true | package bind9: 1:9.18.49-1~deb12u1"},
		{php + "bind9 1:9.18.49-1~deb12u1\n", "{upgrade: bind9}",
			`[f.crosses("1:9.20"), f.crosses("1:9.18"), f.crosses("1:9.18.49-1~deb12u1"), f.crosses("1:9.20.30-1~deb13u1"), f.crosses("1:9.21")]`,
			"true, false, false, true, false | package bind9: 1:9.18.49-1~deb12u1"},
		{php + "php8.2-fpm 8.2.32-1~deb12u1\n", "{upgrade: php8.2-fpm}", ask,
			"php8.2-fpm, 8.2.32-1~deb12u1, , 8.2, , true, true | package php8.2-fpm: 8.2.32-1~deb12u1"},
		{php + "php8.2-fpm 8.2.32-1~deb12u1\n", "{upgrade: php8.2-fpm}", "f.crosses('1')", "false | package php8.2-fpm: 8.2.32-1~deb12u1"},
		{php + "php8.2-fpm 8.2.30-1+0~20251219.75+debian12~1.gbp1c2d3e\n", "{upgrade: php8.2-fpm}", "f.gone",
			"false | package php8.2-fpm: 8.2.30-1+0~20251219.75+debian12~1.gbp1c2d3e"},
		{php + "php8.1-fpm 8.1.2-1\nphp8.2-fpm 8.2.32-1\n", "{upgrade: [php8.1-fpm, php8.2-fpm]}", "f.name",
			"php8.2-fpm | package php8.2-fpm: 8.2.32-1"},
		{php + "php8.1-fpm 8.1.2-1\n", "{upgrade: [php8.1-fpm, php8.2-fpm]}", "[f.name, string(f.gone)]",
			"php8.1-fpm, false | package php8.1-fpm: 8.1.2-1"},
		{php + "bind9 1:9\n", "{upgrade: bind9}", `f.crosses("not a version")`,
			`unknown: x.yaml:17: "not a version" is not a version of a Debian package: upstream_version must start with digit`},
		{"-- root/etc/os-release --\nID=arch\nPRETTY_NAME=Arch\n", "{upgrade: bind9}", "[f.known, f.installed]",
			"false, false | /etc/os-release: Arch"},
		{"-- denied/etc/os-release --\n", "{upgrade: bind9}", "f.known", "unknown: needs root: reading /etc/os-release: permission denied"},
		{bookwormHost + deniedDpkg, "{upgrade: bind9}", "f.known", noDpkg},
	})
}

func TestReadsConfigurationOfPrograms(t *testing.T) {
	const nginx = "-- root/etc/nginx.conf --\nuser www;\nhttp {\n  server {\n    listen 80 default;\n  }\n}\n"
	const sshd = "-- root/etc/ssh/sshd_config --\nPort 22\nMatch User ann\n  permitrootlogin no\n"
	const sources = "-- root/etc/apt/sources.list --\n# c\ndeb [trusted=yes] http://a.org/x stable main contrib\ndeb " +
		"[signed-by=/k.gpg] http://b.org s main\n"
	const conffiles = "-- root/var/lib/dpkg/status --\nPackage: a\nStatus: install ok installed\nVersion: 1\nConffiles:\n /etc/b " +
		"900150983cd24fb0d6963f7d28e17f72\n" +
		" /etc/c 900150983cd24fb0d6963f7d28e17f72\n /etc/n 900150983cd24fb0d6963f7d28e17f72 obsolete\n\nPackage: z\nStatus: install ok " +
		"installed\nVersion: 1\n" +
		"Conffiles:\n /etc/z 900150983cd24fb0d6963f7d28e17f72\n-- raw/etc/b --\n\"abc\"\n-- root/etc/c --\nother\n-- denied/etc/z --\n"
	const json = "-- root/etc/a.json --\n{\"a\": {\"b\": 1}, \"c\": \"\"}\n-- root/etc/d/x --\n-- root/etc/e --\n[]\n"
	checkReads(t, []read{
		{nginx, "{statements: /etc/nginx.conf, form: nginx}",
			`f.map(s, s.name + "(" + s.args.join(" ") + ")" + s.within.join("/") + "<" + s.block + ">" + s.path + string(s.line))`,
			"user(www)<>/etc/nginx.conf1, http()<>/etc/nginx.conf2, server()http<http>/etc/nginx.conf3, listen(80 " +
				"default)http/server<server>/etc/nginx.conf4 | " +
				"statements /etc/nginx.conf: 4 read"},
		{nginx, "{statements: /etc/nginx.conf, form: nginx, named: [listen, user]}", "f.map(s, s.text)",
			"user www, listen 80 default | statements /etc/nginx.conf: 2 read"},
		{nginx, "{statements: /etc/nginx.conf, form: nginx, named: listen}", "f", "listen 80 default | statements /etc/nginx.conf: 1 read"},
		{deniedA, "{statements: /etc/a, form: nginx}", "size(f)", "unknown: needs root: reading /etc/a: permission denied"},
		{sshd, "{sshd: [port, permitrootlogin]}", `f.map(d, d.keyword + " " + d.value + " " + d.path + string(d.line) + string(d.global))`,
			"port 22 /etc/ssh/sshd_config1true, permitrootlogin no /etc/ssh/sshd_config3false | sshd port, permitrootlogin: 2 read"},
		{sshd, "{sshd: permitrootlogin}", "f", "permitrootlogin no | sshd permitrootlogin: 1 read"},
		{"", "{sshd: port}", "size(f)", "0 | sshd port: none"},
		{"-- denied/etc/ssh/sshd_config --\n", "{sshd: port}", "size(f)", "unknown: needs root: reading /etc/ssh/sshd_config: permission denied"},
		{sources, "{apt-sources: all}",
			`f.map(s, [s.uri, s.suite, s.components.join("+"), s.from, string(s.signed), string(s.trusted)].join(" "))`,
			"http://a.org/x stable main+contrib /etc/apt/sources.list:2 false true, http://b.org s main /etc/apt/sources.list:3 true " +
				"false | apt-sources: 2 read"},
		{sources, "{apt-sources: all}", "f[0]", "http://a.org/x stable main contrib | apt-sources: 2 read"},
		{"-- denied/etc/apt/sources.list --\n", "{apt-sources: all}", "size(f)",
			"unknown: needs root: reading /etc/apt/sources.list: permission denied"},
		{conffiles, "{conffiles: a}",
			`f.map(c, c.path + " " + c.package_name + (c.changed ? " changed" : "") + (c.gone ? " gone" : "") + (c.obsolete ? " old" : "") + (c.ucf ? " ucf" : ""))`,
			"/etc/b a, /etc/c a changed, /etc/n a gone old | conffiles a: 3 read"},
		{conffiles, "{conffiles: a}", "f.filter(c, !c.gone)", "as the package brought it, changed | conffiles a: 3 read"},
		{conffiles, "{conffiles: z}", "f[0].changed", "unknown: needs root: reading /etc/z: permission denied"},
		{deniedDpkg, "{conffiles: a}", "size(f)", noDpkg},
		{json, "{json: /etc/*}", `f.map(j, j.path + j.get("a.b", "-") + string(j.sets("c")) + string(size(j.values)))`,
			"/etc/a.json1true2, /etc/e-false1 | json /etc/*: 2 read"},
		{json, "{json: /etc/a.json}", "f[0]", "2 values | json /etc/a.json: 1 read"},
		{json, "{json: /etc/none}", "size(f)", "0 | json /etc/none: none"},
		{json + "-- denied/etc/e --\n", "{json: /etc/*}", "size(f)", "unknown: needs root: reading /etc/e: permission denied"},
		{"-- root/etc/x --\n{\n", "{json: /etc/x}", `f[0].sets("a")`, "unknown: x.yaml:17: /etc/x: not JSON: unexpected EOF"},
	})
}

// TestReadsHostAndOS: what every rule has.
func TestReadsHostAndOS(t *testing.T) {
	const head = "hostname: web1\nmachine: x86_64\neuid: 0\n"
	checkReads(t, []read{
		{head, "{file: /x}", "[host.name, host.machine, host.kind, string(host.root), string(host.running), host.container]",
			"web1, x86_64, capture, true, true,  | /x: absent"},
		{"kind: root\neuid: 5\n", "{file: /x}", "[host.root, host.running]", "false, false | /x: absent"},
		{"-- root/run/systemd/container --\nlxc\n", "{file: /x}", "host.container", "lxc | /x: absent"},
		{bookwormHost, "{file: /x}",
			`[os.id, os.version_id, os.codename, os.name, os.pretty, string(os.exists), string(os.is("debian")), string(os.is("x"))]`,
			"debian, 12, bookworm, Debian GNU/Linux, Debian 12, true, true, false | /x: absent"},
		{"-- root/etc/os-release --\nID=mint\nID_LIKE=\"ubuntu debian\"\n", "{file: /x}", `os.like + [string(os.is("debian"))]`,
			"ubuntu, debian, true | /x: absent"},
		{"", "{file: /x}", "os.exists", "false | /x: absent"},
		{"time: 2026-01-02T03:04:05Z\n", "{file: /x}", "now", "2026-01-02 03:04 UTC | /x: absent"},
	})
}
