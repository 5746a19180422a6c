package sosreport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/host"
)

// TestDpkgList: lines of dpkg -l with wish and state; others are headings.
func TestDpkgList(t *testing.T) {
	const kept = "ii  libc6:amd64 2.36-9 amd64 GNU C Library\nrc old 1.0 all gone, with its files\nhi  held 2 arm64\niHR broken 3 all\n"
	b, err := parseDpkgList("Desired=Unknown/Install\n||/ Name Version Architecture\n+++-===-===-===\n" + kept +
		"iiii four 1 all\ni one 1 all\nxi wish 1 all\nix state 1 all\nii short 1\n")
	got := string(b)
	want := "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9\n\n" +
		"Package: old\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1.0\n\n" +
		"Package: held\nStatus: hold ok installed\nArchitecture: arm64\nVersion: 2\n\n" +
		"Package: broken\nStatus: install ok half-installed\nArchitecture: all\nVersion: 3\n\n"
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := parseDpkgList("||/ Name Version Architecture\n"); !errors.Is(err, host.ErrNotCollected) {
		t.Error(err)
	}
}

// TestRoutes: kinds, next hops, of which the first stays, and what is no route.
func TestRoutes(t *testing.T) {
	rs, err := parseRoutes("unicast fe80::/64 dev eth0 metric 256\n\n" +
		"default proto static metric 1024\n\tnexthop via fe80::1 dev eth0 weight 1\n" +
		"\tnexthop via fe80::2 dev eth1 weight 1\nblackhole 2001:db8::/32 dev lo\nlocal ::1 dev lo\n")
	var got []string
	for _, r := range rs {
		got = append(got, fmt.Sprintf("%s %s %s", r.Type, r.Dst, r.Dev))
	}
	if want := " fe80::/64 eth0, default eth0,blackhole 2001:db8::/32 lo,local ::1 lo"; err != nil || strings.Join(got, ",") != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"RTNETLINK answers: Not supported\n", "fe80::/64 dev eth0\nnonsense\n", "local\n"} {
		if rs, err := parseRoutes(bad); err == nil {
			t.Errorf("%q: %v", bad, rs)
		}
	}
	if rs, err := parseRoutes("nexthop via fe80::1 dev eth0\n"); err != nil || len(rs) != 0 {
		t.Error(rs, err)
	}
}

// TestProcessRows: a process is known once, with its user, where it is seen from the report's own container.
func TestProcessRows(t *testing.T) {
	ps := parseProcesses("warning: something\n  PID COMMAND         CGROUP\n"+
		"    1 systemd         0::/init.scope\n    2 kthreadd        -\n"+
		"   77 cron            0::/system.slice/cron.service\n"+
		"   77 cron            0::/system.slice/cron.service\n   78 nobody          -\n"+
		"    x odd             -\n", "  PID   UID\n    1     0\n    2     0\n   77   101\n    y     1\n   79     z\n")
	var got []string
	for _, p := range ps {
		got = append(got, fmt.Sprintf("%d %s %d %s", p.PID, p.Comm, p.UID, p.Unit))
	}
	if want := "1 systemd 0 init.scope,2 kthreadd 0 ,77 cron 101 cron.service"; strings.Join(got, ",") != want {
		t.Errorf("%q", got)
	}
}

// TestOwners: of names root's alone is sure.
func TestOwners(t *testing.T) {
	for s, want := range map[string]uint32{"0": 0, "1000": 1000, "root": 0, "mail": 1<<32 - 2, "4294967296": 1<<32 - 2} {
		if got := owner(s); got != want {
			t.Errorf("%s: %d, want %d", s, got, want)
		}
	}
}

// TestUname: the release is one word, the version several, and the machine is said up to three times.
func TestUname(t *testing.T) {
	for text, want := range map[string]string{
		"Linux web1 6.1.0-9-amd64 #1 SMP Debian 6.1.27-1 x86_64 GNU/Linux":                 "web1 6.1.0-9-amd64 x86_64",
		"Linux db1 5.14.0-70.el9.x86_64 #1 SMP PREEMPT Thu x86_64 x86_64 x86_64 GNU/Linux": "db1 5.14.0-70.el9.x86_64 x86_64",
		"Linux a 6.1": "  ",
	} {
		var id host.Identity
		parseUname(text, &id)
		if got := id.Hostname + " " + id.Release + " " + id.Machine; got != want || strings.Contains(id.Version, "x86_64") {
			t.Errorf("%s: %q, version %q", text, got, id.Version)
		}
	}
}

// TestHostName: what hostname said counts, then /etc/hostname, where uname said nothing.
func TestHostName(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"both":             {map[string]string{"hostname": "said\n", "etc/hostname": "filed\n"}, "said"},
		"of the file":      {map[string]string{"etc/hostname": "filed\n"}, "filed"},
		"of uname":         {map[string]string{"uname": "Linux told 6.1 #1 x86_64 GNU/Linux", "etc/hostname": "filed\n"}, "told"},
		"of none of these": {map[string]string{}, ""},
	} {
		c.files["sos_commands/x"] = ""
		if got := made(t, c.files).Identity().Hostname; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestReportBelow: the report may be in a folder beside few others, and then is looked for no further.
func TestReportBelow(t *testing.T) {
	for n, found := range map[int]bool{1: true, 16: true, 17: false} {
		dir := t.TempDir()
		for i := range n - 1 {
			os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o755)
		}
		if err := os.MkdirAll(filepath.Join(dir, "sosreport/sos_commands"), 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), dir)
		if (err == nil) != found {
			t.Errorf("among %d: %v", n, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestListeners: of all sockets those that listen for TCP, as ss -ltn prints them; without the file nobody knows.
func TestListeners(t *testing.T) {
	ss := host.Command{Name: "ss", Args: []string{"-ltn"}}
	s := made(t, map[string]string{"sos_commands/networking/ss_-peaonmi": "nl UNCONN 0 0 rtnl:0 *\n" +
		"tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:((\"sshd\"))\ntcp ESTAB 0 0 10.0.0.1:22 10.0.0.2:99 users\n" +
		"udp LISTEN 0 0 0.0.0.0:53 0.0.0.0:*\n" +
		"tcp LISTEN 0 5\n"})
	out, err := s.listeners()
	if want := "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"; err != nil || string(out.Stdout) != want {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	if out, err := made(t, map[string]string{"sos_commands/x": ""}).Command(t.Context(), ss); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("%q, %v", out.Stdout, err)
	}
}

// TestNothingInvented: of a report without a file nothing is said that it would tell.
func TestNothingInvented(t *testing.T) {
	s, ctx := made(t, map[string]string{"sos_commands/x": ""}), t.Context()
	for name, ask := range map[string]func() error{
		"machine ID":   func() error { _, err := s.machineID(); return err },
		"a container":  func() error { _, err := s.containerFile("/run/systemd/container"); return err },
		"a card":       func() error { _, err := s.nicFile("/sys/class/net/eth0/duplex"); return err },
		"its speed":    func() error { _, err := s.nicFile("/sys/class/net/eth0/speed"); return err },
		"a module":     func() error { return s.absentWithout("dm_cache", "/x") },
		"packages":     func() error { _, err := s.rpmList("%{NAME}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\n"); return err },
		"in odd forms": func() error { _, err := s.rpmList("%{NAME}\\n"); return err },
		"services":     func() error { _, err := s.systemctlShow([]string{"ssh.service"}); return err },
		"no service":   func() error { _, err := s.systemctlShow(nil); return err },
		"a file":       func() error { _, err := s.ReadFile(ctx, "/etc/x", 9); return err },
		"a folder":     func() error { _, err := s.ReadDir(ctx, "/etc"); return err },
		"a link":       func() error { _, err := s.Readlink(ctx, "/etc/x"); return err },
		"a command": func() error {
			_, err := s.Command(context.Background(), host.Command{Name: "dmsetup", Args: []string{"status"}})
			return err
		},
	} {
		if err := ask(); err == nil || host.IsAbsent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestToldByCards: ethtool's words, and what it does not say of a card.
func TestToldByCards(t *testing.T) {
	s := made(t, map[string]string{
		"sos_commands/networking/ethtool_eth0": "Settings for eth0:\n\tSpeed: 1000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n",
		"sos_commands/networking/ethtool_br0":  "Settings for br0:\n\tLink detected: no\n"})
	for name, want := range map[string]string{"eth0/duplex": "full\n", "eth0/carrier": "1\n", "br0/carrier": "0\n",
		"br0/duplex": "", "lo/duplex": ""} {
		b, err := s.nicFile("/sys/class/net/" + name)
		if string(b) != want || (want == "") != host.IsAbsent(err) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// TestShowArguments: what systemctl show may be asked for, in each of its forms; what is not understood is refused.
func TestShowArguments(t *testing.T) {
	for line, want := range map[string]string{
		"a.service":                       "[a.service] [] false",
		"a b -p Id,Names":                 "[a b] [Id Names] false",
		"-p Id -pNames --property=Type a": "[a] [Id Names Type] false",
		"--property Id a":                 "[a] [Id] false",
		"--value -p Id a":                 "[a] [Id] true",
		"--no-pager --all -a -- a":        "[a] [] false",
		"a -p":                            "",
		"a --property":                    "",
		"--host=x a":                      "",
		"-H x a":                          "",
		"--property=LoadState,ActiveState -- a -p": "",
	} {
		units, props, bare, ok := showArgs(strings.Fields(line))
		got := ""
		if ok {
			got = fmt.Sprint(units, props, bare)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	const shown = "Id=a.service\nNames=a.service alias.service\nType=simple\nExecStart={ path=/a ; x=y }\n\n" +
		"Id=b.service\nNames=b.service\n\nType=none\n"
	s := made(t, map[string]string{shownServices: shown})
	for line, want := range map[string]string{
		"a":                        "Id=a.service\nNames=a.service alias.service\nType=simple\nExecStart={ path=/a ; x=y }\n",
		"alias.service -p Id":      "Id=a.service\n",
		"a b -p Id":                "Id=a.service\n\nId=b.service\n",
		"a -p Type,Id --value":     "a.service\nsimple\n",
		"a -p ExecStart":           "ExecStart={ path=/a ; x=y }\n",
		"*.service -p Id --value":  "a.service\n\nb.service\n",
		"c":                        "",
		"a c":                      "",
		"a.socket":                 "",
		"b.service -p Type":        "\x00",
		"--unknown-option a.servi": "",
	} {
		out, err := s.systemctlShow(strings.Fields(line))
		if want == "\x00" { // a unit without that property
			if err != nil || len(out.Stdout) != 0 {
				t.Errorf("%s: %q, %v", line, out.Stdout, err)
			}
			continue
		}
		if string(out.Stdout) != want || (want == "") != errors.Is(err, host.ErrNotCollected) {
			t.Errorf("%s: %q, %v, want %q", line, out.Stdout, err, want)
		}
	}
}

// TestLsof: deleted files, and logs that are written to, whether or not lsof told of threads and sizes.
func TestLsof(t *testing.T) {
	const head = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
	const threads = "COMMAND PID TID TASKCMD USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
	const denied = head + "a 7 0 txt unknown /proc/7/exe (readlink: Permission denied)\n"
	ps := []host.Process{{PID: 7, Comm: "a-long-name", Unit: "a.service"}}
	for text, want := range map[string]string{
		head + "a 7 0 3w REG 8,1 1025 99 /var/log/x\n":          "7 a-long-name a.service 0 fd3 /var/log/x write 1025 3 99",
		head + "a 8 101 3u REG 8,1 512 99 /var/log/x y\n":       "8 a  101 fd3 /var/log/x y write 512 1 99",
		head + "a 8 0 3uW REG 8,1 0 99 /srv/x (deleted)\n":      "8 a  0 fd3 /srv/x deleted write 0 0 99",
		head + "a 8 0 3r REG 0x8,0x1 513 99 /srv/x (deleted)\n": "8 a  0 fd3 /srv/x deleted 513 2 99",
		head + "a 8 0 txt REG 8,1 9 99 /usr/bin/a (deleted)\n":  "8 a  0 fd-1 /usr/bin/a deleted mapped exec program 9 1 99",
		head + "a 8 0 mem REG 8,1 9 99 /lib/x.so.1 (deleted)\n": "8 a  0 fd-1 /lib/x.so.1 deleted mapped exec 9 1 99",
		head + "a 8 0 mem REG 8,1 9 99 /srv/data (deleted)\n":   "8 a  0 fd-1 /srv/data deleted mapped 9 1 99",
		head + "a 8 0 DEL REG 8,1 99 /lib/y.so\n":               "8 a  0 fd-1 /lib/y.so deleted mapped exec 0 0 99",
		threads + "a 8 0 3w REG 8,1 5 99 /var/log/x\n":          "8 a  0 fd3 /var/log/x write 5 1 99",
		threads + "a 8 9 b 0 3w REG 8,1 5 99 /var/log/x\n":      "8 a  0 fd3 /var/log/x write 5 1 99",
		head + "a 7 0 3r REG 8,1 5 99 /var/log/x\n":             "",
		head + "a 7 0 3w REG 8,1 5 99 /srv/x\n":                 "",
		head + "a 7 0 cwd REG 8,1 5 99 /srv/x (deleted)\n":      "",
		head + "a 7 0 3w CHR 8,1 5 99 /srv/x (deleted)\n":       "",
		head + "a 7 0 3w REG 8 5 99 /srv/x (deleted)\n":         "",
		head + "a 7 root 3w REG 8,1 5 99 /srv/x (deleted)\n":    "",
		head + "a x 0 3w REG 8,1 5 99 /srv/x (deleted)\n":       "",
		head + "a 7 0 3w REG 8,1 5 99 /dev/shm/x (deleted)\n":   "",
		head + "a 7 0 3w REG 0,1 5 99 /memfd:x (deleted)\n":     "",
		head + "a 7 0 txt REG 0,1 5 99 / (deleted)\n":           "",
		denied: "denied", denied + "a 7 0 cwd DIR 8,1 5 99 /\n": "denied",
		"a 7 0 3w REG 8,1 5 99 /srv/x (deleted)\n": "unknown",
	} {
		res, ok := parseLsof(text, ps)
		got := ""
		for _, f := range res.Files {
			got += fmt.Sprintf("%d %s %s %d fd%d %s", f.PID, f.Comm, f.Unit, f.UID, f.FD, f.Path)
			for _, is := range []struct {
				so   bool
				word string
			}{{f.Deleted, " deleted"}, {f.Write, " write"}, {f.Mapped, " mapped"}, {f.Exec, " exec"}, {f.Program, " program"}} {
				if is.so {
					got += is.word
				}
			}
			got += fmt.Sprintf(" %d %d %d", f.Size, f.Blocks, f.Ino)
			if f.Dev != 8<<8|1 {
				t.Errorf("%q: device %#x", text, f.Dev)
			}
		}
		switch {
		case !ok:
			got = "unknown"
		case res.Denied > 0:
			got = "denied"
		}
		if got != want || res.Denied > 0 && res.Looked > 0 {
			t.Errorf("%q: %q, want %q (%d looked at)", text, got, want, res.Looked)
		}
	}
	for numbers, want := range map[[2]uint64]uint64{{8, 1}: 0x801, {0xfff, 0xff}: 0xfffff, {0x1000, 0}: 1 << 44, {0, 0x100}: 1 << 20, {259,
		7}: 0x10307} {
		if got := makedev(numbers[0], numbers[1]); got != want {
			t.Errorf("device %d,%d is %#x, want %#x", numbers[0], numbers[1], got, want)
		}
	}
}

// TestWhatIsMounted: mounts with their options and how full they are; what lies over another mount takes its place.
func TestWhatIsMounted(t *testing.T) {
	got := parseFilesystems("/dev/sda1 on / type ext4 (rw,errors=remount-ro) [root]\nproc on /proc type proc (rw)\nnot a mount\n"+
		"filer:/a on /mnt/a type b type nfs4 (rw)\n/dev/sdb1 on /srv type ext4 (ro)\n/dev/sdc1 on /srv type xfs (rw)\nx on /y\n",
		"Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 1000 400 500 45% /\n"+
			"filer:/a 9 9 9 9% /mnt/a type b\n/dev/sdc1 10 20 0 100% /srv\n",
		"Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 100 30 70 30% /\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
	want := []host.Filesystem{
		{Device: "/dev/sda1", Mount: "/", Type: "ext4", Options: "rw,errors=remount-ro", Dev: 0x801, Size: 1000 << 10, Free: 600 << 10,
			Avail: 500 << 10,
			Files: 100, FFree: 70},
		{Device: "proc", Mount: "/proc", Type: "proc", Options: "rw"},
		{Device: "filer:/a", Mount: "/mnt/a type b", Type: "nfs4", Options: "rw", Network: true},
		{Device: "/dev/sdc1", Mount: "/srv", Type: "xfs", Options: "rw", Size: 10 << 10},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestPartsOfLinks: addresses, lifetimes and links whose lines are short or odd.
func TestPartsOfLinks(t *testing.T) {
	for line, want := range map[string]string{
		"inet 192.0.2.9/24 scope global eth0": "inet 192.0.2.9 24 global false", "inet6 fe80::1/64 scope link": "inet6 fe80::1 64 link false",
		"inet 192.0.2.9 peer 192.0.2.1/30 scope host": "inet 192.0.2.9 30 host false",
		"inet 192.0.2.9 scope global dynamic eth0":    "inet 192.0.2.9 32 global true",
		"inet6 2001:db8::1 scope global":              "inet6 2001:db8::1 128 global false",
		"inet 192.0.2.9/24 scope":                     "inet 192.0.2.9 24  false",
		"inet 192.0.2.9 peer":                         "inet 192.0.2.9 32  false", "inet": "",
	} {
		a, ok := linkAddr(strings.Fields(line))
		got := ""
		if ok {
			got = fmt.Sprintf("%s %s %d %s %v", a.Family, a.Local, a.PrefixLen, a.Scope, a.Dynamic)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for text, want := range map[string]int64{"86389sec": 86389, "0sec": 0, "forever": 1<<32 - 1, "": 1<<32 - 1, "99999999999sec": 1<<32 - 1} {
		if got := lifetime(text); got != want {
			t.Errorf("%q lasts %d s, want %d", text, got, want)
		}
	}
	for line, want := range map[string]string{
		"1: lo: <LOOPBACK,UP> mtu 65536 state UNKNOWN": "1 lo  [LOOPBACK UP] 65536  UNKNOWN", "2: a@NONE: <> mtu 9": "2 a  [] 9  ",
		"3: a@b: <UP> mtu 9 qdisc x master br0 state": "3 a b [UP] 9 br0 ", "4: a@ifb: <UP>": "4 a ifb [UP] 0  ",
		"5: a@if7: <UP>": "5 a  [UP] 0  ",
		"6: a":           "", "x: a: <UP>": "", "7: a: UP": "",
	} {
		l, err := linkHead(strings.Fields(line))
		got := ""
		if err == nil {
			got = fmt.Sprintf("%d %s %s %s %d %s %s", l.Index, l.Name, l.Parent, l.Flags, l.MTU, l.Master, l.OperState)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for line, want := range map[string]string{"vxlan id 1 external": " map[external:true]vxlan", "vlan protocol 802.1Q id 7": " map[id:7]vlan",
		"vlan id x":                     " map[]vlan",
		"bridge_slave state forwarding": "bridge map[]", "altname a": " map[]", "altname": " map[]", "RX: bytes": " map[]", "vf 0": " map[]",
		"802.1x":  " map[]",
		"vlan id": " map[]vlan"} {
		var l host.Link
		linkKind(&l, strings.Fields(line))
		if got := fmt.Sprint(l.Info.SlaveKind, " ", l.Info.Data, l.Info.Kind); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	var r host.Route
	routeWords(&r, strings.Fields("odd via fe80::1 dev eth0 table 7 proto ra metric 100 pref medium dev"))
	if want := (host.Route{Gateway: "fe80::1", Dev: "eth0", Table: "7", Protocol: "ra", Metric: 100}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// TestToldByModules: without a module what it makes is absent, on machines whose kernels never have it built in.
func TestToldByModules(t *testing.T) {
	const uname, arm = "Linux a 6.1.0 #1 SMP x86_64 GNU/Linux", "Linux a 6.1.0 #1 SMP aarch64 GNU/Linux"
	for name, c := range map[string]struct {
		modules, uname string
		absent         bool
	}{"not loaded": {"Module Size\n\nveth 1 0\n", uname, true}, "loaded": {"veth 1 0\nzfs 1 0\n", uname, false},
		"one that ends so": {"amd64_edac 1 0\nxzfs 1 0\n", uname, false}, "another machine": {"veth 1 0\n", arm, false}} {
		s := made(t, map[string]string{"sos_commands/kernel/lsmod": c.modules, "sos_commands/kernel/uname_-a": c.uname})
		if err := s.absentWithout("zfs", "/x"); host.IsAbsent(err) != c.absent || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSnapsAreInstalled: a program that came as a snap has its configuration, too.
func TestSnapsAreInstalled(t *testing.T) {
	debs := ""
	for i := range 60 {
		debs += fmt.Sprintf("ii  p%d 1 amd64 x\n", i)
	}
	for snaps, absent := range map[string]bool{"": true, "Name Version\ncertbot 2.0\n": false, "Name Version\ncore 1\n": true} {
		files := map[string]string{"sos_commands/dpkg/dpkg_-l": debs}
		if snaps != "" {
			files["sos_commands/snap/snap_list"] = snaps
		}
		if _, err := made(t, files).Stat(t.Context(), "/etc/letsencrypt", true); host.IsAbsent(err) != absent {
			t.Errorf("%q: %v", snaps, err)
		}
	}
}

// TestWhatSosRan: an output that sos noted counts where the command came to its end, with its status.
func TestWhatSosRan(t *testing.T) {
	for code, whole := range map[int]bool{0: true, 1: true, 123: true, 124: false, 126: false, 127: false, 128: true} {
		s := made(t, map[string]string{"sos_commands/block/x": "said\n", "sos_commands/md/mdadm_-E_.dev.sda": "examined\n",
			"sos_reports/manifest.json": fmt.Sprintf(`{"components":{"report":{"plugins":{"a":{"commands":[`+
				`{"exec":"dmsetup targets","filepath":"sos_commands/block/x","return_code":%d},`+
				`{"exec":"mdadm -E /dev/sda","filepath":"sos_commands/md/mdadm_-E_.dev.sda","return_code":%[1]d}]}}}}}`, code)})
		for _, c := range []host.Command{{Name: "dmsetup", Args: []string{"targets"}}, {Name: "mdadm", Args: []string{"--examine", "/dev/sda"}}} {
			out, err := s.Command(t.Context(), c)
			if whole != (err == nil && len(out.Stdout) > 0) || !whole && !errors.Is(err, host.ErrNotCollected) ||
				whole && c.Name == "dmsetup" && out.Exit != code {
				t.Errorf("%s, which ended with %d: %+v, %v", c, code, out, err)
			}
		}
	}
	for version, want := range map[string]bool{"4.9": true, "4.10.1": true, "5.0": true, "4.8.2": false, "3.9": false, "4": false,
		"x.9": false, "": false} {
		if followsIncludes(version) != want {
			t.Errorf("sos %s follows includes: %v", version, !want)
		}
	}
	for name, files := range map[string]map[string]string{"/proc/meminfo": {"free": "free: command not found\n"},
		"/proc/modules": {"lsmod": "Module Size Used\n"}} {
		for _, files := range []map[string]string{files, {}} {
			files["sos_commands/x"] = ""
			if b, err := made(t, files).ReadFile(t.Context(), name, 99); !errors.Is(err, host.ErrNotCollected) {
				t.Errorf("%s of %q: %q, %v", name, files, b, err)
			}
		}
	}
}
