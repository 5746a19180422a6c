package sshcontrolsockets

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host/format/accounts"
	"fettle/host/hosttest"
)

// TestPersons: root and those with an ID of a person's log in, if they have a folder and a shell.
func TestPersons(t *testing.T) {
	for _, c := range []struct {
		uid         int
		home, shell string
		want        bool
	}{
		{0, "/root", "/bin/bash", true}, {1000, "/home/a", "/bin/sh", true}, {59999, "/home/a", "/bin/sh", true}, {1001, "/home/a", "", true},
		{1, "/root", "/bin/sh", false}, {999, "/home/a", "/bin/sh", false}, {60000, "/home/a", "/bin/sh", false},
		{1000, "/", "/bin/sh", false}, {1000, "", "/bin/sh", false}, {1000, "home/a", "/bin/sh", false},
		{1000, "/home/a", "/usr/sbin/nologin", false}, {1000, "/home/a", "/bin/false", false}, {0, "/root", "/sbin/nologin", false},
	} {
		u := accounts.User{Name: "a", Home: c.home, Shell: c.shell}
		u.UID += uint32(c.uid)
		if person(u) != c.want {
			t.Errorf("%+v logs in: %v", c, !c.want)
		}
	}
}

// TestNamesThatJustFit: the longest name of a socket that ssh can make, and as many of them as are judged.
func TestNamesThatJustFit(t *testing.T) {
	const master = "ControlMaster auto\nControlPersist 60\n"
	for name, c := range map[string]struct {
		config string
		long   bool
	}{
		"made":                 {master + "ControlPath /tmp/" + strings.Repeat("x", sunPath-1-tempName-len("/tmp/")), false},
		"a byte more":          {master + "ControlPath /tmp/" + strings.Repeat("x", sunPath-tempName-len("/tmp/")), true},
		"looked for":           {"ControlPath /tmp/" + strings.Repeat("x", sunPath-1-len("/tmp/")), false},
		"looked for, too long": {"ControlPath /tmp/" + strings.Repeat("x", sunPath-len("/tmp/")), true},
	} {
		h := hosttest.New(t, "-- root/etc/passwd --\nann:x:1001:1001::/home/ann:/bin/sh\n-- root/etc/group --\nann:x:1001:\n"+
			"-- root/home/ann/.ssh/config --\n"+c.config+"\n")
		said := fmt.Sprint(traptest.Run(t, &Trap, h))
		if strings.Contains(said, "too long") != c.long {
			t.Errorf("%s: it is said to be too long: %v\n%s", name, !c.long, said)
		}
	}
	h := hosttest.New(t, "-- root/etc/passwd --\nann:x:1001:1001::/home/ann:/bin/sh\n-- root/etc/group --\nann:x:1001:\n"+
		"-- root/home/ann/.ssh/config --\n"+strings.Repeat("ControlPath none\n", maxPaths)+"\n")
	if said := fmt.Sprint(traptest.Run(t, &Trap, h)); strings.Contains(said, "more than") {
		t.Errorf("as many lines as are judged: %s", said)
	}
}

// TestNamesOfKnownHosts: the first name of each line, hashed ones without; what is no line of a host's is left out, and what follows it
// is not.
func TestNamesOfKnownHosts(t *testing.T) {
	const text = "# a comment of words\n\ncut ssh-rsa\na,b ssh-rsa A\n@revoked c ssh-rsa A\n@revoked\n|1|x= ssh-rsa A\n" +
		"@cert-authority d A\n[e]:22 ssh-rsa A\n"
	if got := fmt.Sprintf("%q", names(text)); got != `["a" "c" "" "e]:22"]` {
		t.Error(got)
	}
}

// TestOneAfterTheOther: users that follow one whose file is too large, or one without ssh, are judged too; and so is a line behind none.
func TestOneAfterTheOther(t *testing.T) {
	h := hosttest.New(t, "-- root/etc/passwd --\nann:x:1001:1001::/home/ann:/bin/sh\nbob:x:1002:1002::/home/bob:/bin/sh\n"+
		"cyd:x:1003:1003::/home/cyd:/bin/sh\n-- root/etc/group --\nann:x:1001:\n-- root/home/ann/.ssh/config --\n"+
		strings.Repeat("ControlPath ~/x/%C\n", maxPaths+1)+
		"-- root/home/cyd/.ssh/config --\nHost a\nControlPath none\nHost b\nControlPath relative-%C\n")
	got := ""
	for _, o := range traptest.Run(t, &Trap, h) {
		got += fmt.Sprintf("%s %s\n", o.Subject, o.Status)
	}
	if got != "ann unknown\ncyd found\n" {
		t.Errorf("%s", got)
	}
}
