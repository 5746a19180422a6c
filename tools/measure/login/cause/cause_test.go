package cause

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/host/format/pam"
	"fettle/internal/means"
)

func TestParseResolvers(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    string
		waits   []int
		longest int
	}{
		{"", "[127.0.0.1:53] 5s 2 false", []int{5}, 10},
		{"nameserver 10.0.0.1\n", "[10.0.0.1:53] 5s 2 false", []int{5}, 10},
		// Two and three: the second waits 10/2, the third 20/3 (whole seconds).
		{"nameserver 10.0.0.1\nnameserver 10.0.0.2\n", "[10.0.0.1:53 10.0.0.2:53] 5s 2 false", []int{5, 5}, 20},
		{"nameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver 10.0.0.3\nnameserver 10.0.0.4\n",
			"[10.0.0.1:53 [fe80::1%eth0]:53 10.0.0.3:53] 5s 2 false", []int{5, 3, 6}, 28},
		{"# nameserver 10.0.0.9\n; x\nnameserver banana\nnameserver 10.0.0.1\noptions timeout:1 attempts:3 rotate edns0\n",
			"[10.0.0.1:53] 1s 3 true", []int{1}, 3},
		{"options timeout:900 attempts:99\noptions timeout:x\nnameserver 10.0.0.1", "[10.0.0.1:53] 30s 5 false", []int{30}, 150},
	} {
		r := ParseResolvers(c.text)
		if got := fmt.Sprint(r.Servers, " ", r.Timeout, " ", r.Attempts, " ", r.Rotate); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
		for i, w := range c.waits {
			if r.Wait(i) != time.Duration(w)*time.Second {
				t.Errorf("%q: waits %s for server %d, want %d s", c.text, r.Wait(i), i, w)
			}
		}
		if r.Longest() != time.Duration(c.longest)*time.Second {
			t.Errorf("%q: longest %s, want %d s", c.text, r.Longest(), c.longest)
		}
	}
}

func TestHostSources(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     {"files", "dns"},
		"passwd: files\n":      {"files", "dns"},
		"hosts: files dns # x": {"files", "dns"},
		"  hosts:\tfiles mdns4_minimal [NOTFOUND=return] dns mdns4\n":       {"files", "mdns4_minimal", "dns", "mdns4"},
		"hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns":  {"mymachines", "resolve", "files", "myhostname", "dns"},
		"hosts: a [SUCCESS=continue NOTFOUND=return]b[UNAVAIL=return]c a\n": {"a", "b", "c"},
		"hosts: a [oops":      {"a"},
		"#hosts: a\nhosts: b": {"b"},
	} {
		if got := HostSources(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAnswered(t *testing.T) {
	f := answered([]byte("passwd: files\nhosts: mdns [NOTFOUND=return] dns # x\n"), []byte("127.0.0.1 localhost\n"), "192.0.2.7")
	if got := string(f["/etc/nsswitch.conf"]); !strings.HasPrefix(got, "passwd: files\n") ||
		!strings.HasSuffix(got, "\nhosts: files mdns [NOTFOUND=return] dns\n") {
		t.Errorf("%q", got)
	}
	if got := string(f["/etc/hosts"]); !strings.HasPrefix(got, "192.0.2.7 ") || !strings.HasSuffix(got, "127.0.0.1 localhost\n") {
		t.Errorf("%q", got)
	}
	f = answered([]byte("passwd: files"), nil, "192.0.2.7")
	if got := HostSources(string(f["/etc/nsswitch.conf"])); !reflect.DeepEqual(got, []string{"files", "dns"}) {
		t.Errorf("%q", got)
	}
}

func TestSlowOnes(t *testing.T) {
	s := func(name string, ms int) Source {
		return Source{Name: name, Took: time.Duration(ms) * time.Millisecond}
	}
	for _, c := range []struct {
		sources []Source
		seconds float64
		want    string
	}{
		{[]Source{s("files", 2), s("dns", 5000)}, 5, "map[dns:5]"},
		{[]Source{s("files", 2), s("mdns", 5000), s("dns", 10000)}, 5.05, "map[mdns:5.05]"}, // [NOTFOUND=return]
		{[]Source{s("mdns", 1000), s("dns", 3000)}, 4, "map[dns:3 mdns:1]"},
		{[]Source{s("mdns", 1000), s("dns", 3000)}, 8, "map[dns:6 mdns:2]"}, // asked twice
		{[]Source{s("mdns", 1), s("dns", 3)}, 8, "map[]"},
	} {
		if got := fmt.Sprint(slowOnes(c.sources, c.seconds)); got != c.want {
			t.Errorf("%v of %v: %s, want %s", c.sources, c.seconds, got, c.want)
		}
	}
}

// files is a PAM configuration in memory.
type files map[string]string

func (f files) open(name string) (string, []byte, bool, error) {
	name = "/etc/pam.d/" + strings.TrimPrefix(name, "/etc/pam.d/")
	s, ok := f[name]
	return name, []byte(s), ok, nil
}

func (f files) read(name string) ([]byte, error) { return []byte(f[name]), nil }

var debian = files{
	"/etc/pam.d/sshd": "@include common-auth\naccount required pam_nologin.so\n@include common-session\nsession optional pam_motd.so  " +
		"motd=/run/motd.dynamic\n" +
		"session optional pam_motd.so noupdate\nsession [success=ok ignore=ignore module_unknown=ignore default=bad] \\\n  pam_selinux.so " +
		"open\nsession optional pam_exec.so [/bin/x y] z\n",
	"/etc/pam.d/common-auth": "auth [success=1 default=ignore] pam_unix.so " +
		"nullok\nauth requisite pam_deny.so\nauth required pam_permit.so\n",
	"/etc/pam.d/common-session": "session required pam_unix.so\nsession\toptional pam_systemd.so # slow\nsession optional pam_systemd.so",
}

func TestModules(t *testing.T) {
	c, err := pam.Parse("sshd", debian.open)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range modules(c) {
		lines := strings.Split(strings.TrimSpace(string(m.alone())), "\n")
		got = append(got, fmt.Sprintf("%s x%d", lines[len(lines)-1], len(m.rules)))
	}
	want := []string{
		"auth optional pam_unix.so nullok x1", "account optional pam_nologin.so x1", "session optional pam_unix.so x1",
		"session optional pam_systemd.so x2", "session optional " +
			"pam_motd.so motd=/run/motd.dynamic x1", "session optional pam_motd.so noupdate x1",
		"session optional pam_selinux.so open x1", "session optional pam_exec.so [/bin/x y] z x1",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestWithout: each module alone is taken out of the real stack, and nothing
// else of it changes.
func TestWithout(t *testing.T) {
	before, err := pam.Parse("sshd", debian.open)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules(before) {
		changed, err := without(debian.read, []module{m})
		if err != nil {
			t.Fatal(err)
		}
		less := files{}
		for k, v := range debian {
			less[k] = v
		}
		for k, v := range changed {
			less[k] = string(v)
		}
		after, err := pam.Parse("sshd", less.open)
		if err != nil || len(after.Problems) > 0 || after.Fatal != nil {
			t.Fatalf("%v, %v\n%s", err, after.Problems, changed)
		}
		for _, f := range pam.Facilities {
			old, _ := before.Stack(f)
			now, _ := after.Stack(f)
			if len(old) != len(now) {
				t.Fatalf("without %s: %d lines of %s, were %d", m.rule.Module, len(now), f, len(old))
			}
			for i := range old {
				gone := old[i].Facility == m.rule.Facility && old[i].Module == m.rule.Module && reflect.DeepEqual(old[i].Args, m.rule.Args)
				if now[i].Actions != old[i].Actions || gone != (now[i].Module != old[i].Module) || gone && now[i].Module != "pam_permit.so" {
					t.Errorf("without %s: %+v, was %+v", m.rule.Module, now[i], old[i])
				}
			}
		}
	}
}

func TestOptions(t *testing.T) {
	a := netip.MustParseAddr
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "address is missing"},
		{Options{Client: a("0.0.0.0")}, "no client's address"},
		{Options{Client: a("ff02::1")}, "no client's address"},
		{Options{Client: a("192.0.2.1"), Server: netip.MustParseAddrPort("[::1]:22")}, "two families"},
		{Options{Client: a("::ffff:192.0.2.1"), Server: netip.MustParseAddrPort("[::ffff:192.0.2.2]:22")}, ""},
		{Options{Client: a("2001:db8::1")}, ""},
	} {
		err := c.o.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzForeign(f *testing.F) {
	f.Add("nameserver 10.0.0.1\noptions timeout:1")
	f.Add("hosts: a [NOTFOUND=return] b")
	f.Add(debian["/etc/pam.d/sshd"])
	f.Fuzz(func(t *testing.T, text string) {
		r := ParseResolvers(text)
		if n := len(r.Servers); n < 1 || n > 3 || r.Longest() <= 0 {
			t.Fatalf("%+v", r)
		}
		for _, s := range HostSources(text) {
			if s == "" || strings.ContainsAny(s, " \t[") {
				t.Fatalf("source %q", s)
			}
		}
		if h := answered([]byte(text), nil, "192.0.2.7")["/etc/nsswitch.conf"]; HostSources(string(h))[0] != "files" {
			t.Fatalf("%q", h)
		}
		c, err := pam.Parse("sshd", files{"/etc/pam.d/sshd": text}.open)
		if err != nil || c.Fatal != nil {
			return
		}
		for _, m := range modules(c) {
			without(files{"/etc/pam.d/sshd": text}.read, []module{m})
		}
	})
}

func TestPingNobody(t *testing.T) {
	if _, err := PingLogind(context.Background(), t.TempDir()+"/none", time.Second); err == nil {
		t.Error("a bus that is not there answered")
	}
}

// TestExplained: a login without the causes tells how much of the delay they are, never more than all of it.
func TestExplained(t *testing.T) {
	one := []Cause{{}}
	for _, c := range []struct {
		r                Report
		delay, explained float64
	}{
		{Report{Total: 10, Floor: 2, Without: 4, Causes: one}, 8, 6}, {Report{Total: 10, Floor: 2, Without: 1, Causes: one}, 8, 8},
		{Report{Total: 10, Floor: 2, Without: 12, Causes: one}, 8, 0}, {Report{Total: 10, Floor: 2, Without: 4}, 8, 0},
		{Report{Total: 1, Floor: 2, Without: 0, Causes: one}, 0, 0},
	} {
		if d, e := c.r.Delay(), c.r.Explained(); d != c.delay || e != c.explained {
			t.Errorf("%+v: %v of %v, want %v of %v", c.r, e, d, c.explained, c.delay)
		}
	}
}

// TestDefaults: what is left out is filled in, and what is given stays.
func TestDefaults(t *testing.T) {
	for client, server := range map[string]string{"192.0.2.1": "127.0.0.1:22", "2001:db8::1": "[::1]:22", "::ffff:192.0.2.1": "127.0.0.1:22"} {
		o := Options{Client: netip.MustParseAddr(client)}
		if err := o.Check(); err != nil || o.User != "root" || o.Limit != time.Minute || o.Config != "/etc/ssh/sshd_config" ||
			o.SSHD != "/usr/sbin/sshd" || o.Tell == nil || o.Server.String() != server {
			t.Errorf("%s: %+v, %v", client, o, err)
		}
	}
	told := false
	o := Options{User: "anna", Client: netip.MustParseAddr("192.0.2.1"), Server: netip.MustParseAddrPort("192.0.2.2:2222"), Limit: time.Second,
		Config: "/c", SSHD: "/s", Tell: func(string) { told = true }}
	if err := o.Check(); err != nil || o.User != "anna" || o.Limit != time.Second || o.Config != "/c" || o.SSHD != "/s" ||
		o.Server.String() != "192.0.2.2:2222" {
		t.Errorf("%+v, %v", o, err)
	}
	if o.Tell(""); !told {
		t.Error("nobody hears of the experiments")
	}
}

// TestReplaced: lines that are not in the file are passed over, and the last one may end in a backslash.
func TestReplaced(t *testing.T) {
	at := func(n int) pam.Rule { return pam.Rule{Facility: pam.Session, Control: "optional", Line: n} }
	for _, c := range []struct {
		text  string
		rules []pam.Rule
		want  string
	}{
		{"a\nb\n", []pam.Rule{at(0), at(99), at(2)}, "a\nsession optional pam_permit.so\n"},
		{"session optional x \\", []pam.Rule{at(1)}, "session optional pam_permit.so\n"},
		{"a \\\n b\nc", []pam.Rule{at(1)}, "#\nsession optional pam_permit.so\nc"},
	} {
		if got := replaced(c.text, c.rules); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	for arg, want := range map[string]string{"a": "a", "a b": "[a b]", "a]b": `[a\]b]`, "[x": "[[x]"} {
		if got := quoted(arg); got != want {
			t.Errorf("%q is written %s, want %s", arg, got, want)
		}
	}
}
