package sshd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]string{
		"1:9.2p1-2+deb12u10": "9.2", "8.7p1-38.el9": "8.7", "7.4p1-22.el7_9": "7.4", "1:8.2p1-4ubuntu0.11": "8.2",
		"9.9p1-1": "9.9", "1:10.0p1-5": "10.0", "6.6.1p1-35.el7": "6.6", "5.3p1-124.el6": "5.3", "9.7_p1-r4": "9.7",
		"": "", "banana": "", "1:": "", "0.9p1": "", "99999999999999.1p1": "",
	} {
		v, ok := ParseVersion(s)
		if ok != (want != "") || ok && v.String() != want {
			t.Errorf("%q: %v, %v; want %q", s, v, ok, want)
		}
	}
}

// with makes a host with one version of the server and one configuration.
func with(t *testing.T, version, config string) *Config {
	t.Helper()
	text := "-- root/etc/ssh/sshd_config --\n" + config + "\n"
	if version != "" {
		text += "-- root/var/lib/dpkg/status --\nPackage: openssh-server\nStatus: install ok installed\nVersion: " + version + "\n"
	}
	c, err := Read(t.Context(), hosttest.New(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestVersions: the same lines mean other things to other versions. 6.6 and
// 8.4 are as servconf.c and sshd.c of these versions do it.
func TestVersions(t *testing.T) {
	const both = "ChallengeResponseAuthentication no\nKbdInteractiveAuthentication yes"
	for _, c := range []struct{ version, config, keyword, want string }{
		{"1:6.6p1-1", "", "UseDNS", "yes"},
		{"1:9.2p1-1", "", "UseDNS", "no"},
		{"", "", "UseDNS", "?"},
		{"", "Include /etc/ssh/sshd_config.d/*.conf", "UseDNS", "no"}, // 8.2 at least
		{"", "UseDNS yes", "UseDNS", "yes"},
		{"1:6.6p1-1", "", "PermitRootLogin", "yes"},
		{"1:8.4p1-5", "", "PermitRootLogin", "without-password"},
		{"1:8.4p1-5", "", "KbdInteractiveAuthentication", "yes"},
		{"1:8.4p1-5", "ChallengeResponseAuthentication no", "KbdInteractiveAuthentication", "no"},
		{"1:8.4p1-5", "KbdInteractiveAuthentication no", "KbdInteractiveAuthentication", "yes"},
		{"1:8.4p1-5", both, "ChallengeResponseAuthentication", "yes"},
		{"1:8.7p1-5", both, "KbdInteractiveAuthentication", "no"},
		{"1:8.7p1-5", "KbdInteractiveAuthentication no", "KbdInteractiveAuthentication", "no"},
		{"", both, "KbdInteractiveAuthentication", "?"},
		{"", "ChallengeResponseAuthentication no\nKbdInteractiveAuthentication no", "KbdInteractiveAuthentication", "no"},
		{"1:9.9p1-1", "MaxStartups 5\nMaxStartups 6", "MaxStartups", "?"},
		{"1:9.9p1-1", "Subsystem a /a\nSubsystem a /b", "Subsystem", "a /a"},
		{"1:9.2p1-1", "", "Ciphers", "?"},
		{"1:9.2p1-1", "Ciphers +aes128-cbc", "Ciphers", "?"},
		{"1:9.2p1-1", "", "NoSuchThing", "?"},
		{"1:9.2p1-1", "ListenAddress printer.example.net", "ListenAddress", "?"},
	} {
		s := with(t, c.version, c.config).For(Conn{}).Get(c.keyword)
		got := s.Value()
		if !s.Known {
			got = "?"
		}
		if got != c.want {
			t.Errorf("sshd %q, %q: %s is %q, want %q", c.version, c.config, c.keyword, got, c.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/ssh/sshd_config --
Include /etc/ssh/sshd_config.d/*.conf
UseDNS yes
Match User alice
  GSSAPIAuthentication yes
-- root/etc/ssh/sshd_config.d/10-a.conf --

UseDNS no
-- uncollected/etc/ssh/sshd_config.d/20-b.conf --
-- denied/etc/ssh/sshd_config.d/30-c.conf --
`)
	c, err := Read(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	s := c.For(Conn{}).Get("usedns")
	if got := fmt.Sprint(s.Value(), " ", s.Place); got != "no /etc/ssh/sshd_config.d/10-a.conf:2" {
		t.Error(got)
	}
	if s := c.For(Conn{}).Get("gssapiauthentication"); !s.Default() || s.Value() != "no" {
		t.Errorf("%+v", s)
	}
	if s := c.For(Conn{User: "alice"}).Get("GSSAPIAuthentication"); s.Place.String() != "/etc/ssh/sshd_config:4" || !s.Is("yes") {
		t.Errorf("%+v", s)
	}
	all := c.Settings("GSSAPIAuthentication")
	if len(all) != 1 || all[0].Global() || all[0].Match[0].String() != "Match User alice" {
		t.Errorf("%+v", all)
	}
	if !c.DropIns {
		t.Error("the drop-in folder comes first, and is not seen")
	}
}

func TestUnread(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/ssh/sshd_config --
Include /etc/ssh/sshd_config.d/*.conf
-- denied/etc/ssh/sshd_config.d --
`)
	c, err := Read(t.Context(), h)
	if err != nil || !errors.Is(c.Unread, host.ErrDenied) {
		t.Errorf("%v, %v", err, c.Unread)
	}
	if _, err := Read(t.Context(), hosttest.New(t, "")); !host.IsAbsent(err) {
		t.Errorf("without a file: %v", err)
	}
}

func TestDropIns(t *testing.T) {
	for config, want := range map[string]bool{
		"Include /etc/ssh/sshd_config.d/*.conf\nUseDNS yes":   true,
		"# x\nInclude sshd_config.d/*.conf":                   true,
		"UseDNS yes\nInclude /etc/ssh/sshd_config.d/*.conf":   false,
		"Match all\nInclude /etc/ssh/sshd_config.d/*.conf":    false,
		"Include /etc/ssh/sshd_config.d/50-*.conf\nPort 22":   false,
		"Include /etc/ssh/other.d/*.conf\nUsePAM yes\nPort 1": false,
	} {
		if c := with(t, "", config); c.DropIns != want {
			t.Errorf("%q: %v", config, c.DropIns)
		}
	}
}

// TestBounds: files that include themselves end in an error, soon.
func TestBounds(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/ssh/sshd_config --\nInclude sshd_config sshd_config sshd_config\n")
	c, err := Read(t.Context(), h)
	if err != nil || len(c.Errors) == 0 || !strings.Contains(c.Errors[0].Error(), "too many levels") {
		t.Errorf("%v, %v", err, c)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "Port 22", "Match User a\nPermitTTY no", "Include *.conf", "Banner \"a", "A=\"b\" c",
		"Match Address 10.0.0.0/8,!::1 User \"x",
		"RekeyLimit 1.5G 1h", "ListenAddress [::]:1", "IPQoS 0x10", "MaxStartups 1:2:3", "\\\"'\\ ", "Match\x00", "Subsystem a \"",
		"Match all # x", "=", "\"\""} {
		f.Add(s, "user=alice")
	}
	f.Fuzz(func(t *testing.T, text, who string) {
		if strings.Contains(text, "\n-- ") || strings.HasPrefix(text, "-- ") {
			return
		}
		h := hosttest.New(t, "-- root/etc/ssh/sshd_config --\n"+text+"\n-- root/etc/ssh/a.conf --\n"+who+"\n")
		c, err := Read(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		for _, conn := range []Conn{{}, {User: who, Groups: []string{who}, Host: who, Addr: "192.0.2.1", LocalAddr: who, LocalPort: 22,
			RDomain: who}} {
			e := c.For(conn)
			for i := range table {
				e.Get(table[i].name)
			}
			for _, l := range e.Dump() {
				if !strings.Contains(l, " ") {
					t.Errorf("a keyword without a value: %q", l)
				}
			}
		}
		for _, e := range c.Errors {
			if e.Line < 1 || e.Path == "" {
				t.Errorf("an error without its place: %v", e)
			}
		}
	})
}

// TestMatchAllAndGlobals: what may not stand in a Match block is not taken from
// one that matches everything either: there the first line counts, as for all
// global settings (servconf.c, copy_set_server_options takes no others).
func TestMatchAllAndGlobals(t *testing.T) {
	c := with(t, "1:9.2p1-1", "LoginGraceTime 30\nMatch all\nLoginGraceTime 5\nMaxSessions 3")
	e := c.For(Conn{User: "alice", Addr: "192.0.2.1"})
	for keyword, want := range map[string]string{"LoginGraceTime": "30", "MaxSessions": "3"} {
		if got := strings.Join(e.Get(keyword).Values, " "); got != want {
			t.Errorf("%s is %s, want %s", keyword, got, want)
		}
	}
}

// TestAddressWithZone: a link-local client's address names an interface, which
// an address in a Match does not.
func TestAddressWithZone(t *testing.T) {
	c := with(t, "1:9.2p1-1", "MaxSessions 9\nMatch Address fe80::/10\nMaxSessions 3")
	if got := c.For(Conn{User: "alice", Addr: "fe80::1%eth0"}).Get("MaxSessions").Values; len(got) != 1 || got[0] != "3" {
		t.Errorf("MaxSessions is %s, want 3", got)
	}
}
