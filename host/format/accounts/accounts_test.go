package accounts

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/format/nameservice"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

const files = `
-- root/etc/nsswitch.conf --
# comment
passwd:  files systemd
group:   files [SUCCESS=merge] sss [NOTFOUND=return] ldap # x
initgroups: files winbind
-- root/etc/passwd --
root:x:0:0:root:/root:/bin/bash
# a comment
alice:x:1000:1000:Alice,,,:/home/alice:/bin/bash
bob:x:1001:4::/home/bob:/bin/sh
broken:x:abc:4::/:/bin/sh
short:x:1
alice:x:2000:2000:second:/:/bin/sh

-- root/etc/group --
root:x:0:
adm:x:4:syslog,alice,gone
systemd-journal:x:999:
adm2:x:4:carol,alice
bad:x:x:
`

func TestRead(t *testing.T) {
	db, err := Read(t.Context(), hosttest.New(t, files))
	if err != nil {
		t.Fatal(err)
	}
	var errs []string
	for _, e := range db.Errors {
		errs = append(errs, e.Error())
	}
	for i, want := range []string{"/etc/passwd:5:", "/etc/passwd:6:", "/etc/group:5:"} {
		if i >= len(errs) || !strings.HasPrefix(errs[i], want) {
			t.Fatalf("errors %q; want %s as number %d", errs, want, i)
		}
	}
	alice, ok := db.User("alice")
	if !ok || alice.UID != 1000 || alice.Line != 3 || !slices.Equal(db.GroupsOf(alice), []uint32{1000, 4}) {
		t.Errorf("alice: %+v %v", alice, db.GroupsOf(alice))
	}
	users, missing := db.MembersOf("adm")
	if len(users) != 2 || users[0].Name != "alice" || users[1].Name != "bob" {
		t.Errorf("members of adm: %+v", users)
	}
	if !slices.Equal(missing, []string{"syslog", "gone", "carol"}) {
		t.Errorf("missing: %v", missing)
	}
	if len(db.UsersElsewhere) != 0 || !slices.Equal(db.GroupsElsewhere, []string{"sss", "ldap", "winbind"}) {
		t.Errorf("elsewhere: %v, %v", db.UsersElsewhere, db.GroupsElsewhere)
	}
	if _, err := db.Names().Group("wheel"); err == nil || !strings.Contains(err.Error(), "sss") {
		t.Errorf("wheel: %v", err)
	}
	if db.GroupName(4) != "adm" || db.UserName(77) != "77" {
		t.Error("names of IDs")
	}
}

// TestWithHomes: root and whom somebody made, each home once; no services, no
// nobody, no home that is none.
func TestWithHomes(t *testing.T) {
	db, err := Read(
		t.Context(),
		hosttest.New(t, "-- root/etc/passwd --\nroot:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/usr/sbin:/bin/sh\nlast:x:999:1::/srv:/bin/sh\n"+
			"alice:x:1000:1::/home/alice:/bin/sh\ntoor:x:0:0::/root:/bin/sh\nbob:x:1001:1:::/bin/sh\ncarol:x:1002:1::here:/bin/sh\nnobody:x:"+
			"65534:1::/nonexistent:/bin/sh\nafter:x:65535:1::/home/after:/bin/sh\n-- root/etc/group --\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range db.WithHomes() {
		names = append(names, u.Name)
	}
	if !slices.Equal(names, []string{"root", "alice", "after"}) {
		t.Error(names)
	}
}

func TestReadWhatIsThere(t *testing.T) {
	if _, err := Read(t.Context(), hosttest.New(t, "-- root/etc/passwd --\n")); !host.IsAbsent(err) {
		t.Errorf("no group file: %v", err)
	}
	_, err := Read(t.Context(), hosttest.New(t, "incomplete: true\n-- root/etc/passwd --\n-- root/etc/group --\n"))
	if !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("nsswitch.conf not collected: %v", err)
	}
	db, err := Read(t.Context(), hosttest.New(t, "-- root/etc/passwd --\n+::::::\n-- root/etc/group --\nadm:x:4:\n"))
	if err != nil || !slices.Equal(db.UsersElsewhere, []string{"nis"}) || db.GroupsElsewhere != nil {
		t.Errorf("compat: %+v, %v", db, err)
	}
	db, err = Read(
		t.Context(),
		hosttest.New(
			t,
			"-- root/etc/nsswitch.conf --\npasswd: files altfiles\n-- "+
				"root/etc/passwd --\n-- root/etc/group --\n-- root/usr/lib/group --\nadm:x:4:\n",
		),
	)
	if _, ok := db.Group("adm"); err != nil || !ok || db.UsersElsewhere != nil {
		t.Errorf("altfiles: %+v, %v", db, err)
	}
}

// TestAgainstGetent compares every user's groups on this machine with what id(1) says.
func TestAgainstGetent(t *testing.T) {
	id := means.Tool(t, "id")
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	db, err := Read(t.Context(), host.New(src))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range db.Users {
		out, err := exec.Command(id, "-G", u.Name).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(string(out))
		var got []string
		for _, g := range db.GroupsOf(u) {
			got = append(got, fmt.Sprint(g))
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(db.GroupsElsewhere) == 0 && !slices.Equal(got, want) {
			t.Errorf("%s: id says %v, GroupsOf says %v", u.Name, want, got)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/bash\n+::::::\n", "adm:x:4:a,b\n", "group: files [A=b] sss")
	f.Fuzz(func(t *testing.T, passwd, group, sw string) {
		var db DB
		db.parsePasswd("p", passwd)
		db.parseGroup("g", group)
		for _, g := range db.Groups {
			db.MembersOf(g.Name)
		}
		elsewhere(nameservice.ParseSwitch(sw), "group")
	})
}
