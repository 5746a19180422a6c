package sosreport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
