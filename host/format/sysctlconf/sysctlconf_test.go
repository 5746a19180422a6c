package sysctlconf

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestReadTellsWinnersAndLosers(t *testing.T) {
	h := hosttest.New(t, `-- root/etc/sysctl.d/10-a.conf --
net.ipv6.conf.eth0.accept_ra = 1
nonsense
-- root/etc/sysctl.d/50-x.conf --
net.ipv6.conf.*.accept_ra = 0
-- root/usr/lib/sysctl.d/50-x.conf --
net.ipv6.conf.eth0.accept_ra = 7
-- link/etc/sysctl.d/60-off.conf --
/dev/null
-- root/etc/sysctl.d/90-z.conf --
# comment
net/ipv6/conf/eth0/accept_ra = 2
-- root/etc/sysctl.conf --
net.ipv6.conf.eth0.accept_ra = 0
`)
	c, err := Read(t.Context(), h, Systemd)
	if err != nil {
		t.Fatal(err)
	}
	res := c.Lookup("net/ipv6/conf/eth0/accept_ra")
	if res.Winner == nil || res.Winner.Path != "/etc/sysctl.d/90-z.conf" || res.Winner.Line != 2 || res.Winner.Value != "2" {
		t.Errorf("winner %+v", res.Winner)
	}
	var losers []string
	for _, l := range res.Losers {
		losers = append(losers, fmt.Sprintf("%s:%d", l.Path, l.Line))
	}
	if got, want := strings.Join(losers, " "), "/etc/sysctl.d/10-a.conf:1 /etc/sysctl.d/50-x.conf:1"; got != want {
		t.Errorf("losers %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(c.Masked), "[/usr/lib/sysctl.d/50-x.conf /etc/sysctl.d/60-off.conf]"; got != want {
		t.Errorf("masked %s, want %s", got, want)
	}
	if len(c.Syntax) != 1 || !strings.HasPrefix(c.Syntax[0].Error(), "/etc/sysctl.d/10-a.conf:2: ") {
		t.Errorf("syntax errors %v", c.Syntax)
	}
	if len(c.NotRead) != 1 || c.NotRead[0].Path != MainFile {
		t.Errorf("not read: %+v", c.NotRead)
	}
	if c, _ := Read(t.Context(), h, Procps); len(c.NotRead) != 0 || c.Lookup("net/ipv6/conf/eth0/accept_ra").Winner.Value != "0" {
		t.Errorf("procps reads %s last", MainFile)
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	h := hosttest.New(
		t,
		"-- denied/etc/sysctl.d/10-a.conf --\n-- root/etc/sysctl.d/10-a.conf --\nkernel.a=1\n-- uncollected/usr/lib/sysctl.d --\n",
	)
	c, err := Read(t.Context(), h, Systemd)
	if err != nil || len(c.Unread) != 2 {
		t.Errorf("err %v, unread %v; want the denied file and the uncollected folder", err, c.Unread)
	}
}

func TestRootFolderHasNoRun(t *testing.T) {
	h := hosttest.New(t, "kind: root\n-- root/etc/sysctl.d/10-a.conf --\nkernel.a=1\n")
	c, err := Read(t.Context(), h, Systemd)
	if err != nil || len(c.Unread) != 0 || len(c.Settings) != 1 {
		t.Errorf("err %v, unread %v, settings %v", err, c.Unread, c.Settings)
	}
}

func TestForInterface(t *testing.T) {
	for _, tc := range []struct {
		name, conf, param    string
		reader               Reader
		present, later, idle string
	}{
		{"nothing", "", "accept_ra", Systemd, "", "", ""},
		{"own, with udev", "net.ipv6.conf.eth0.accept_ra=2\n", "accept_ra", Systemd, "2", "2", ""},
		{"own, without udev", "net.ipv6.conf.eth0.accept_ra=2\n", "accept_ra", Procps, "2", "", ""},
		{"default only", "net.ipv6.conf.default.accept_ra=2\n", "accept_ra", Systemd, "", "2", ""},
		{"all only", "net.ipv6.conf.all.accept_ra=2\n", "accept_ra", Systemd, "", "", "2"},
		{"all forwards", "net.ipv6.conf.all.forwarding=1\n", "forwarding", Systemd, "1", "1", ""},
		{"all after own", "net.ipv6.conf.eth0.forwarding=0\nnet.ipv6.conf.all.forwarding=1\n", "forwarding", Systemd, "1", "0", ""},
		{"glob", "net.ipv6.conf.*.accept_ra=2\n", "accept_ra", Systemd, "2", "2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := hosttest.New(t, "-- root/etc/sysctl.d/50-a.conf --\n"+tc.conf)
			c, _ := Read(t.Context(), h, tc.reader)
			got := c.ForInterface("ipv6", "eth0", tc.param)
			for what, p := range map[string]struct {
				s    *Setting
				want string
			}{"present": {got.Present, tc.present}, "later": {got.Later, tc.later}, "no effect": {got.NoEffect, tc.idle}} {
				v := ""
				if p.s != nil {
					v = p.s.Value
				}
				if v != p.want {
					t.Errorf("%s: %q, want %q", what, v, p.want)
				}
			}
		})
	}
}

func TestReadUfw(t *testing.T) {
	const sysctl = "-- root/etc/ufw/sysctl.conf --\nnet/ipv6/conf/default/forwarding=1\nnet/ipv6/conf/all/forwarding=1\n"
	h := hosttest.New(t, "-- root/etc/ufw/ufw.conf --\nENABLED=yes\n-- root/etc/default/ufw --\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n"+sysctl)
	c, err := ReadUfw(t.Context(), h)
	if err != nil || c == nil || len(c.Settings) != 2 || c.ForInterface("ipv6", "eth0", "forwarding").Present.Value != "1" {
		t.Errorf("enabled ufw: %+v, %v", c, err)
	}
	h = hosttest.New(t, "-- root/etc/ufw/ufw.conf --\nENABLED=no\n-- root/etc/default/ufw --\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n"+sysctl)
	if c, err := ReadUfw(t.Context(), h); c != nil || err != nil {
		t.Errorf("disabled ufw: %+v, %v", c, err)
	}
	if _, err := ReadUfw(t.Context(), hosttest.New(t, "-- denied/etc/ufw/ufw.conf --\n")); err == nil {
		t.Error("a denied file must not look like no ufw")
	}
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"net.ipv4.ip_forward":            "net/ipv4/ip_forward",
		"net/ipv4/ip_forward":            "net/ipv4/ip_forward",
		"net.ipv6.conf.eth0/7.accept_ra": "net/ipv6/conf/eth0.7/accept_ra",
		"net/ipv6/conf/eth0.7/accept_ra": "net/ipv6/conf/eth0.7/accept_ra",
		"/net//x/./y/":                   "net/x/y",
		"":                               "", ".": "",
	} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	for _, tc := range differential {
		f.Add([]byte(tc.files), "net/c/eth0/f")
	}
	f.Add([]byte("net.[[:alpha:].\\*.x=1\n-\x00\xff.\xfe/=2\r\n[!]]=\n"), "a")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		for _, r := range []Reader{Systemd, Procps} {
			set, bad := Parse(r, "/f", b)
			n := 1 + strings.Count(string(b), "\n") + strings.Count(string(b), "\r") + strings.Count(string(b), "\x00")
			for _, e := range bad {
				if e.Line < 1 || e.Line > n {
					t.Fatalf("line %d of %d", e.Line, n)
				}
			}
			for _, s := range set {
				if s.Key == "" || s.Line < 1 || s.Line > n || s.Exclude && s.Value != "" ||
					Normalize(s.Key) != s.Key && !strings.ContainsAny(s.Key, ".") {
					t.Fatalf("setting %+v of %q", s, b)
				}
				if !s.Glob() && !match(s.Key, s.Key) && !strings.Contains(s.Key, `\`) {
					t.Fatalf("%q does not match itself", s.Key)
				}
			}
			c := &Config{Reader: r, Settings: set}
			res := c.Lookup(key)
			if w := res.Winner; w != nil && w.Key != key && !match(w.Key, key) {
				t.Fatalf("%q wins for %q", w.Key, key)
			}
			c.ForInterface("ipv6", key, "accept_ra")
		}
	})
}

// TestOrderIsByName: files of all folders are read in the order of their names,
// not folder by folder (sysctl.d(5)).
func TestOrderIsByName(t *testing.T) {
	c, err := Read(
		t.Context(),
		hosttest.New(
			t,
			"-- root/etc/sysctl.d/10-early.conf --\nvm.swappiness = 1\n-- root/usr/lib/sysctl.d/90-late.conf --\nvm.swappiness = 2\n-- "+
				"root/etc/sysctl.d/50-mid.conf --\nvm.swappiness = 3\n"+
				"-- root/run/sysctl.d/99-last.conf --\nvm.dirty_ratio = 4\n-- root/usr/lib/sysctl.d/10-first.conf --\nvm.dirty_ratio = 5\n",
		),
		Systemd,
	)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"vm/swappiness": "2", "vm/dirty_ratio": "4"} {
		if w := c.Lookup(key).Winner; w == nil || w.Value != want {
			t.Errorf("%s: %+v wins, want %q", key, w, want)
		}
	}
}

// TestMergedUsr: where /lib is a link to /usr/lib nothing masks itself.
func TestMergedUsr(t *testing.T) {
	for link, masked := range map[string]int{"-- link/lib --\nusr/lib\n": 0, "": 1} {
		h := hosttest.New(
			t,
			link+"-- root/usr/lib/sysctl.d/10-a.conf --\nkernel.sysrq = 1\n-- root/lib/sysctl.d/10-a.conf --\nkernel.sysrq = 1\n",
		)
		c, err := Read(t.Context(), h, Systemd)
		if err != nil || len(c.Masked) != masked {
			t.Errorf("%q: masked %q, %v", link, c.Masked, err)
		}
	}
}
