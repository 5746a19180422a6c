package sosreport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
)

// made is a report of these files, as sos 4.0 of Debian 12 and 4.9 of Debian 13
// write them.
func made(t *testing.T, files map[string]string) *Source {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, dir)
}

const numeric = `/dev:
total 4
drwxr-xr-x 8 0 0  440 Nov 22 11:37 .
drwxr-xr-x 1 0 0 4096 Nov 22 11:37 ..
drwxr-xr-x 2 0 0   60 Nov 22 11:37 mapper
lrwxrwxrwx 1 0 0   13 Nov 22 11:37 fd -> /proc/self/fd
brw-rw---- 1 0 6 8, 0 Nov 22 11:37 sda
srw-rw-rw- 1 0 0    0 Nov 22 11:37 log with spaces

/dev/mapper:
total 0
drwxr-xr-x 2 0 0   60 Nov 22 11:37 .
drwxr-xr-x 8 0 0  440 Nov 22 11:37 ..
lrwxrwxrwx 1 0 0    7 Nov 22 11:37 vg-root -> ../dm-0
`

const labelled = `/lib/systemd:
total 4008
drwxr-xr-x 1 root root ?    4096 Nov 22 11:27 .
-rwxr-xr-x 1 root root ?  104856 Nov 22  2025 systemd
-rwsr-x--- 1 root mail system_u:object_r:init_exec_t:s0 92 2026-11-22 11:27 odd

`

func TestListings(t *testing.T) {
	s := made(t, map[string]string{
		"sos_commands/block/ls_-lanR_.dev":               numeric,
		"sos_commands/systemd/ls_-alZR_.lib.systemd":     labelled,
		"sos_commands/pam/ls_-lanF_.lib.x86_64.security": "total 0\n",
	})
	for name, want := range map[string]fs.FileMode{
		"/dev/sda": fs.ModeDevice | 0o660, "/dev/mapper": fs.ModeDir | 0o755, "/dev/mapper/vg-root": fs.ModeSymlink | 0o777,
		"/dev/log with spaces": fs.ModeSocket | 0o666, "/lib/systemd/systemd": 0o755, "/lib/systemd/odd": fs.ModeSetuid | 0o750,
	} {
		if i, err := s.Stat(t.Context(), name, false); err != nil || i.Mode != want {
			t.Errorf("%s: %v %v, want %v", name, i.Mode, err, want)
		}
	}
	for _, name := range []string{"/dev/sdb", "/dev/mapper/vg-home", "/dev/disk/by-uuid/1", "/lib/systemd/systemd-journald", "/dev/sda/x"} {
		if _, err := s.Stat(t.Context(), name, true); !host.IsAbsent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What the report does not tell is not absent: a file's content, a place of no listing.
	for _, name := range []string{"/lib/systemd/systemd", "/boot/vmlinuz", "/usr/lib/systemd/systemd", "/dev/fd/3", "/lib/x86_64/security/x"} {
		if _, err := s.ReadFile(t.Context(), name, 100); !errors.Is(err, host.ErrNotCollected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if es, err := s.ReadDir(t.Context(), "/dev"); err != nil || len(es) != 4 {
		t.Errorf("%v %v", es, err)
	}
	if to, err := s.Readlink(t.Context(), "/dev/mapper/vg-root"); err != nil || to != "../dm-0" {
		t.Errorf("%q %v", to, err)
	}
}

func TestTold(t *testing.T) {
	debs := strings.Repeat("ii  base-files 12 amd64 x\n", 1)
	for i := range 60 {
		debs += "ii  p" + strings.Repeat("x", i+1) + " 1 amd64 x\n"
	}
	s := made(t, map[string]string{
		"sos_commands/host/hostnamectl_status": " Static hostname: a\n         Chassis: container \n      Machine ID: " +
			"4c4e434aa0a84f38b3e4230d93d1199e\n" +
			"  Virtualization: lxc\n          Kernel: Linux 6.1.0\n",
		"sos_commands/networking/ethtool_eth0": "Settings for eth0:\n\tSpeed: 100Mb/s\n\tDuplex: Half\n\tLink detected: yes\n",
		"sos_commands/kernel/lsmod":            "Module Size Used by\nveth 1 0\n",
		"sos_commands/kernel/uname_-a":         "Linux a 6.1.0 #1 SMP x86_64 GNU/Linux\n",
		"sos_commands/dpkg/dpkg_-l":            debs + "rc  telegraf 1 amd64 x\nii  dnsmasq-base 1 amd64 x\n",
	})
	for name, want := range map[string]string{"/run/systemd/container": "lxc\n", "/etc/machine-id": "4c4e434aa0a84f38b3e4230d93d1199e\n",
		"/sys/class/net/eth0/duplex": "half\n", "/sys/class/net/eth0/carrier": "1\n"} {
		if b, err := s.ReadFile(t.Context(), name, 100); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	for _, name := range []string{"/.dockerenv", "/sys/module/zfs/version", "/etc/sssd/sssd.conf", "/etc/nslcd.conf",
		"/sys/class/net/lo/duplex", "/etc/sysconfig/docker", "/etc/dnsmasq.conf",
		"/etc/yum.repos.d", "/usr/etc/sudoers", "/var/lib/postgres/data/postgresql.conf", "/var/snap/docker/current/config/daemon.json"} {
		if _, err := s.Stat(t.Context(), name, true); !host.IsAbsent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"/etc/telegraf/telegraf.conf", "/sys/class/net/eth1/duplex", "/sys/module/veth", "/etc/apache2"} {
		if _, err := s.Stat(t.Context(), name, true); !errors.Is(err, host.ErrNotCollected) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClockAnswered: timedatectl reports whether a time server has answered.
func TestClockAnswered(t *testing.T) {
	const file = "/run/systemd/timesync/synchronized"
	for said, want := range map[string]error{
		"               Local time: Tue 2026-11-24 12:05:36 UTC\nSystem clock synchronized: yes\n              NTP service: active\n": nil,
		"System clock synchronized: no\n": host.ErrAbsent, "     NTP enabled: yes\nNTP synchronized: yes\n": nil,
		"Failed to query server: Connection timed out\n": host.ErrNotCollected,
	} {
		s := made(t, map[string]string{"sos_commands/systemd/timedatectl": said})
		if _, err := s.Stat(t.Context(), file, true); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", said, err, want)
		}
	}
}

// TestRedHat is a report of Red Hat's family, made by a sos in a container that looked at
// the host below /host, as on OpenShift's nodes: hostnamectl found no D-Bus there.
func TestRedHat(t *testing.T) {
	rpms := "shell-init: error retrieving current directory: getcwd: cannot access parent directories: No such file or directory\n"
	for i := range 60 {
		rpms += fmt.Sprintf("%-59s Fri Sep 27 11:51:34 2019\n", fmt.Sprintf("p%d-1.%d-2.el8.noarch", i, i))
	}
	s := made(t, map[string]string{
		"installed-rpms":                       rpms + "systemd-239-13.el8_0.5.x86_64      Fri Sep 27 11:51:33 2019\n",
		"sos_commands/host/hostnamectl_status": "Failed to query system properties: Connection timed out\n",
		"sos_commands/process/" +
			"ps_axo_pid_ppid_user_group_lwp_nlwp_start_time_comm_cgroup": "  PID  PPID USER     GROUP      LWP NLWP START COMMAND         CGROUP\n" +
			"    1     0 root     root         1    1 02:19 systemd         1:name=systemd:/init.scope\n    2     0 root     root         2    " +
			"1 02:19 kthreadd        -\n",
		"sos_commands/process/ps_alxwww": "F   UID   PID  PPID PRI  NI    VSZ   RSS WCHAN  STAT TTY        TIME COMMAND\n" +
			"4     0     1     0  20   0 244360 13796 -      Ss   ?          0:02 systemd\n1     0     2     0  20   0      0     0 -      S    " +
			"?          0:00 [kthreadd]\n",
		"sos_commands/networking/ip_-d_address": "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n" +
			"2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000\n",
	})
	h := host.New(s)
	ps, err := h.Packages(t.Context())
	if err != nil || len(ps) != 61 || ps[59] != (host.Package{Name: "p59", Version: "1.59-2.el8", Arch: "noarch", Status: "installed"}) {
		t.Errorf("%d packages, %v", len(ps), err)
	}
	for _, name := range []string{"/var/lib/dpkg/status", "/etc/apt/trusted.gpg.d", "/.dockerenv", "/run/systemd/container",
		"/run/.containerenv"} {
		if ok, err := h.Exists(t.Context(), name); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	for _, name := range []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd-journald", "/sys/class/net/eth0"} {
		if ok, err := h.Exists(t.Context(), name); !ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	for _, name := range []string{"/usr/lib/systemd/systemd", "/sys/class/net/eth0/duplex", "/etc/yum.conf"} {
		if _, err := h.ReadFile(t.Context(), name); !errors.Is(err, host.ErrNotCollected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if es, err := s.ReadDir(t.Context(), "/sys/class/net"); err != nil || len(es) != 2 || es[0].Name != "eth0" {
		t.Errorf("%v, %v", es, err)
	}
}

// TestPlugins3: what a plugin of sos 3 takes along where it is there, and that is not in the
// report, was not on the host; unless the plugin failed.
func TestPlugins3(t *testing.T) {
	const plugins = "alternatives: unversioned\nkernel: unversioned\nnetworking: unversioned\nsystemd: unversioned\n"
	for name, c := range map[string]struct {
		files        map[string]string
		known, other []string
	}{
		"ran": {map[string]string{"version.txt": "sosreport: 3.6\n" + plugins, "sos_logs/sos.log": "INFO: x\n"},
			[]string{"/etc/sysctl.d", "/etc/sysctl.conf", "/etc/systemd/journald.conf.d", "/etc/resolv.conf"},
			[]string{"/etc/ldap.conf", "/etc/ldap/ldap.conf", "/run/sysctl.d", "/etc/ssh/sshd_config"}},
		"failed": {map[string]string{"version.txt": "sosreport: 3.9.1\n" + plugins,
			"sos_logs/systemd-plugin-errors.txt": "Traceback (most recent call last):\n"},
			[]string{"/etc/sysctl.d"}, []string{"/etc/systemd/journald.conf.d"}},
		"timed out": {map[string]string{"version.txt": "sosreport: 3.8\n" + plugins, "sos_logs/ui.log": "\n Plugin kernel timed out\n"},
			[]string{"/etc/systemd/system.conf"}, []string{"/etc/sysctl.d"}},
		"newer":   {map[string]string{"version.txt": "sosreport: 3.\n" + plugins}, nil, []string{"/etc/sysctl.d"}},
		"older":   {map[string]string{"version.txt": "sosreport: 3.2\n" + plugins}, nil, []string{"/etc/sysctl.d", "/etc/systemd"}},
		"no list": {map[string]string{"sos_logs/sos.log": ""}, nil, []string{"/etc/sysctl.d"}},
	} {
		c.files["sos_commands/kernel/dmesg"] = "x\n"
		s := made(t, c.files)
		for _, f := range c.known {
			if _, err := s.ReadFile(t.Context(), f, 100); !host.IsAbsent(err) {
				t.Errorf("%s: %s: %v", name, f, err)
			}
		}
		for _, f := range c.other {
			if _, err := s.ReadFile(t.Context(), f, 100); !errors.Is(err, host.ErrNotCollected) {
				t.Errorf("%s: %s: %v", name, f, err)
			}
		}
	}
}

// TestTerminals: udev's database tells which terminals there are.
func TestTerminals(t *testing.T) {
	s := made(t, map[string]string{"sos_commands/devices/udevadm_info_--export-db": "P: /devices/virtual/tty/tty0\nN: tty0\n\n" +
		"P: /devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/ttyUSB0/tty/ttyUSB0\nN: ttyUSB0\n\nP: /devices/virtual/net/lo\n"})
	es, err := s.ReadDir(t.Context(), "/sys/class/tty")
	if err != nil || len(es) != 2 || es[1].Name != "ttyUSB0" {
		t.Fatalf("%v %v", es, err)
	}
	to, err := s.Readlink(t.Context(), "/sys/class/tty/ttyUSB0")
	if err != nil || to != "../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/ttyUSB0/tty/ttyUSB0" {
		t.Error(to, err)
	}
}

func TestToldByOthers(t *testing.T) {
	booted := "[ 0.0] Linux version 6.1.0\n[ 0.0] ACPI: FACP 0x0 000074\n"
	debs := ""
	for i := range 60 {
		debs += "ii  p" + strings.Repeat("x", i+1) + " 1 amd64 x\n"
	}
	container := " Static hostname: a\n         Chassis: container\n  Virtualization: lxc\n          Kernel: Linux 6.1.0\n"
	for name, c := range map[string]struct {
		files map[string]string
		path  string
		want  error
	}{
		"no table": {map[string]string{"sos_commands/kernel/dmesg": booted}, "/sys/firmware/acpi/tables/SPCR", host.ErrAbsent},
		"a table": {map[string]string{"sos_commands/kernel/dmesg": booted + "[ 0.0] ACPI: SPCR 0x0 000050\n"},
			"/sys/firmware/acpi/tables/SPCR", host.ErrNotCollected},
		"a log's end": {map[string]string{"sos_commands/kernel/dmesg": "[ 9.0] eth0: up\n"}, "/sys/firmware/acpi/tables/SPCR",
			host.ErrNotCollected},
		"a container": {map[string]string{"sos_commands/dpkg/dpkg_-l": debs, "sos_commands/host/hostnamectl_status": container}, "/boot",
			host.ErrAbsent},
		"a VM's image": {map[string]string{"sos_commands/dpkg/dpkg_-l": debs + "ii  linux-image-amd64 1 amd64 x\n",
			"sos_commands/host/hostnamectl_status": container}, "/boot", host.ErrNotCollected},
		"hardware": {map[string]string{"sos_commands/dpkg/dpkg_-l": debs,
			"sos_commands/host/hostnamectl_status": strings.Replace(container, "container", "server", 1)}, "/boot", host.ErrNotCollected},
		"apt found no fault": {map[string]string{"sos_commands/apt/apt-get_check": "Reading package " +
			"lists...\nBuilding dependency tree...\n"}, "/var/lib/dpkg/updates", nil},
		"apt was not asked": {map[string]string{"sos_commands/apt/a": "x"}, "/var/lib/dpkg/updates", host.ErrNotCollected},
	} {
		s := made(t, c.files)
		if _, err := s.ReadDir(t.Context(), c.path); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	s := made(
		t,
		map[string]string{"sos_commands/apt/apt-get_check": "E: dpkg was interrupted, you must manually run 'dpkg --configure -a'\n"},
	)
	if es, err := s.ReadDir(t.Context(), "/var/lib/dpkg/updates"); err != nil || len(es) != 1 {
		t.Errorf("interrupted: %v %v", es, err)
	}
}

// TestListedFolder: a folder whose content was listed is there.
func TestListedFolder(t *testing.T) {
	s := made(
		t,
		map[string]string{
			"sos_commands/boot/ls_-lanR_.boot": "/boot:\ntotal 8\ndrwxr-xr-x 2 0 0 4096 Jan  1 " +
				"00:00 .\n-rw-r--r-- 1 0 0 5 Jan  1 00:00 vmlinuz-6.1\n",
		},
	)
	if st, err := s.Stat(t.Context(), "/boot", true); err != nil || !st.Mode.IsDir() {
		t.Error(st, err)
	}
}

// TestFewPackages: where the list of packages is not whole, nothing is absent for it.
func TestFewPackages(t *testing.T) {
	s := made(t, map[string]string{"sos_commands/dpkg/dpkg_-l": "ii  base-files 12 amd64 x\n"})
	if _, err := s.Stat(t.Context(), "/etc/nslcd.conf", true); !errors.Is(err, host.ErrNotCollected) {
		t.Error(err)
	}
}
