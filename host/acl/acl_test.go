package acl

import (
	"fmt"
	"strings"
	"testing"

	"fettle/internal/means"
)

var testNames = Names{
	User:  func(n string) (uint32, error) { return lookup(map[string]uint32{"root": 0, "alice": 1000}, n) },
	Group: func(n string) (uint32, error) { return lookup(map[string]uint32{"adm": 4, "wheel": 10}, n) },
}

func lookup(m map[string]uint32, n string) (uint32, error) {
	if id, ok := m[n]; ok {
		return id, nil
	}
	return 0, fmt.Errorf("no such name")
}

func must(t testing.TB, text string) ACL {
	t.Helper()
	a, err := ParseText(text, testNames)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParseText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"u::rwx,g::r-x,o::---", "user::rwx,group::r-x,other::---"},
		{"u::7,g::5,o:0", "user::rwx,group::r-x,other::---"},
		{"other::r--\nuser::rw-\n# comment\ngroup::r-- #effective:r--\n", "user::rw-,group::r--,other::r--"},
		{"u::rwx,g::rx,g:adm:rx,u:alice:w,m:rx,o::-", "user::rwx,user:1000:-w-,group::r-x,group:4:r-x,mask::r-x,other::---"},
		{" group : adm : r-x ", "group:4:r-x"},
		{"g:4294967294:x", "group:4294967294:--x"},
		{"", ""},
	} {
		got, err := ParseText(c.in, testNames)
		if err != nil || got.String() != c.want {
			t.Errorf("ParseText(%q) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"u:rwx", "x::rwx", "u::rwxr", "u::", "m:adm:rwx", "g:nobodyknows:r", "g:4294967295:r", "u::9", "u:::r",
		"g:-1:r"} {
		if a, err := ParseText(in, testNames); err == nil {
			t.Errorf("ParseText(%q) = %s; want an error", in, a)
		}
	}
	a, d, err := ParseBoth("d:group::r-x,d:group:adm:r-x,group::r-x,group:adm:r-x,default:u::rwx", testNames)
	if err != nil || a.String() != "group::r-x,group:4:r-x" || d.String() != "user::rwx,group::r-x,group:4:r-x" {
		t.Errorf("ParseBoth: %s | %s, %v", a, d, err)
	}
}

func TestValid(t *testing.T) {
	for in, want := range map[string]string{
		"u::rwx,g::r,o::-":                        "",
		"u::rwx,g::r,g:4:r,m::r,o::-":             "",
		"u::rwx,g::r,m::r,o::-":                   "",
		"u::rwx,g::r,g:4:r,o::-":                  "need a mask",
		"u::rwx,g::r":                             "the other:: entry is missing",
		"u::rwx,g::r,o::-,o::r":                   "two entries of other::",
		"u::rwx,g::r,g:4:r,g:adm:x,m::r,o::-":     "two entries of group:4",
		"u::rwx,g::r,u:4:r,g:adm:x,m::r,m::-,o:0": "two entries of mask::",
	} {
		err := must(t, in).Valid()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Valid(%s) = %v; want %q", in, err, want)
		}
	}
}

func TestAllows(t *testing.T) {
	const owner, group = 0, 999
	a := must(t, "u::rwx,u:1000:rwx,g::r-x,g:4:r-x,g:5:-wx,m::r-x,o::--x")
	for _, c := range []struct {
		uid  uint32
		gids []uint32
		want Perm
		ok   bool
	}{
		{0, nil, Write, true},
		{1000, nil, Read, true},
		{1000, nil, Write, false},                          // the mask
		{1000, []uint32{999}, Write, false},                // a user entry decides alone
		{1001, []uint32{999}, Read | Exec, true},           // the file's group
		{1001, []uint32{4}, Read | Exec, true},             // a named group
		{1001, []uint32{5}, Read, false},                   // a group that matches hides "other"
		{1001, []uint32{5}, Exec, true},                    //
		{1001, []uint32{5, 4}, Read, true},                 // any matching group may grant
		{1001, []uint32{7}, Exec, true},                    // other
		{1001, []uint32{7}, Read, false},                   //
		{1001, []uint32{5, 4}, Read | Write | Exec, false}, // two halves do not add up
		{1001, []uint32{5}, Write, false},                  // the mask again
		{1001, []uint32{1000}, Read, false},                // a uid is no gid
	} {
		if got := a.Allows(c.uid, c.gids, owner, group, c.want); got != c.ok {
			t.Errorf("Allows(uid %d, gids %v, %s) = %v", c.uid, c.gids, c.want, got)
		}
	}
}

func TestMergeAndMode(t *testing.T) {
	a := FromMode(0o750)
	if got := a.String(); got != "user::rwx,group::r-x,other::---" {
		t.Error(got)
	}
	b := a.Merge(Entry{Tag: Group, ID: 4, Perm: Read}, Entry{Tag: GroupObj, Perm: 0})
	if got := b.String(); got != "user::rwx,group::---,group:4:r--,mask::r--,other::---" || b.Mode() != 0o740 {
		t.Errorf("%s %o", got, b.Mode())
	}
	c := b.Merge(Entry{Tag: Group, ID: 4, Perm: Read | Exec}, Entry{Tag: Mask, Perm: Exec})
	if e, _ := c.Find(Group, 4); c.Effective(e) != Exec || c.Mode() != 0o710 || c.Valid() != nil {
		t.Errorf("%s %o", c, c.Mode())
	}
	if a.String() != "user::rwx,group::r-x,other::---" {
		t.Error("Merge changed its receiver")
	}
}

func TestParseXattrRefuses(t *testing.T) {
	good := must(t, "u::rwx,g::r-x,g:4:r-x,m::r-x,o::r-x").Xattr()
	for name, b := range map[string][]byte{
		"empty": nil, "short": good[:3], "version": append([]byte{1}, good[1:]...), "cut": good[:len(good)-1],
		"no other": good[:len(good)-8],
	} {
		if a, err := ParseXattr(b); err == nil {
			t.Errorf("%s: read as %s", name, a)
		}
	}
	if a, err := ParseXattr(good[:4]); err != nil || a != nil {
		t.Errorf("no entries: %v, %v", a, err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParseXattr(f *testing.F) {
	f.Add(must(f, "u::rwx,g::r-x,g:4:r-x,m::r-x,o::r-x").Xattr())
	f.Add([]byte{2, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseXattr(b)
		if err != nil || a == nil {
			return
		}
		again, err := ParseXattr(a.Xattr())
		if err != nil || !again.Equal(a) {
			t.Fatalf("%s came back as %s, %v", a, again, err)
		}
		text, err := ParseText(a.String(), Names{})
		if err != nil || !text.Equal(a) {
			t.Fatalf("%s as text came back as %s, %v", a, text, err)
		}
	})
}

func FuzzParseText(f *testing.F) {
	f.Add("u::rwx,g::r-x,g:adm:r-x,m::r-x,o::r-x")
	f.Add("d:group::r-x,default:o:0 # x\nuser:alice:w")
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParseText(s, testNames); err == nil {
			again, err := ParseText(a.String(), Names{})
			if err != nil || !again.Equal(a) {
				t.Fatalf("%q: %s came back as %s, %v", s, a, again, err)
			}
		}
		ParseBoth(s, testNames)
	})
}
