package step

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
)

// TestFileActs: what is done to replace a file, in order. What is not on disk before its name is, or a name
// that is not on disk after it, is lost in a power cut.
func TestFileActs(t *testing.T) {
	list := accessList(t, "user::rw-,user:12:r--,group::r--,mask::r--,other::---")
	whole := []func(*machine.Image){xattr("user.note", "keep"), xattr("security.ima", "old sum"), xattr(acl.XattrAccess, list),
		withMode(0o4640)}
	attributes := []string{"chown %s 1:2", "setxattr %s system.posix_acl_access", "setxattr %s user.note", "chmod %s 4640", "sync %s"}
	on := func(file string, acts ...string) (out []string) {
		for _, a := range acts {
			out = append(out, strings.ReplaceAll(a, "%s", file))
		}
		return out
	}
	const tmp = "/etc/.tmp"
	for name, c := range map[string]struct {
		step    File
		prepare func(*memory)
		want    []string
		ends    machine.Image // of /etc/a
	}{
		"new": {File{Path: "/etc/a", Content: []byte("new")}, func(*memory) {},
			[]string{"create /etc/.tmp", "chmod /etc/.tmp 0644", "sync /etc/.tmp", "rename /etc/.tmp /etc/a", "sync /etc"},
			machine.Image{Mode: 0o644, ModNS: 9999}},
		"new, of a mode": {File{Path: "/etc/a", Content: []byte("new"), Mode: 0o600}, func(*memory) {},
			[]string{"create /etc/.tmp", "sync /etc/.tmp", "rename /etc/.tmp /etc/a", "sync /etc"}, machine.Image{Mode: 0o600, ModNS: 9999}},
		"new, and a folder for it": {File{Path: "/etc/b/c/a", Content: []byte("new"), Mode: 0o600}, func(m *memory) { m.file("/etc/a", "new") },
			[]string{"mkdir /etc/b 0755", "sync /etc", "mkdir /etc/b/c 0755", "sync /etc/b", "create /etc/b/c/.tmp", "sync /etc/b/c/.tmp",
				"rename /etc/b/c/.tmp /etc/b/c/a", "sync /etc/b/c"}, machine.Image{Mode: 0o640, UID: 1, GID: 2, ModNS: 77}},
		"a file, with a temporary one of a run that was killed": {File{Path: "/etc/a", Was: []byte("old"), Content: []byte("new")},
			func(m *memory) { m.file("/etc/a", "old", whole...); m.file(tmp, "ne") },
			append(append([]string{"unlink " + tmp, "create " + tmp}, on(tmp, attributes...)...), "rename "+tmp+" /etc/a", "sync /etc"),
			machine.Image{ModNS: 9999}},
		"hard links": {File{Path: "/etc/a", Was: []byte("old"), Content: []byte("new")},
			func(m *memory) { m.file("/etc/a", "old", append(whole, withLinks(2))...) },
			[]string{"overwrite /etc/a", "chmod /etc/a 4640", "sync /etc/a"}, machine.Image{ModNS: 9999}},
		"a mount point": {File{Path: "/etc/a", Was: []byte("old"), Content: []byte("new")},
			func(m *memory) { m.file("/etc/a", "old", append(whole, mounted)...) },
			[]string{"overwrite /etc/a", "chmod /etc/a 4640", "sync /etc/a"}, machine.Image{ModNS: 9999}},
		"a mount point that is not seen": {File{Path: "/etc/a", Was: []byte("old"), Content: []byte("new")},
			func(m *memory) { m.file("/etc/a", "old", whole...); m.fails["rename "+tmp] = syscall.EBUSY },
			append(append([]string{"create " + tmp}, on(tmp, attributes...)...), "unlink "+tmp, "overwrite /etc/a", "chmod /etc/a 4640",
				"sync /etc/a"), machine.Image{ModNS: 9999}},
		"a group that is not his": {File{Path: "/etc/a", Was: []byte("old"), Content: []byte("new")},
			func(m *memory) { m.file("/etc/a", "old", whole...); m.fails["chown "+tmp] = syscall.EPERM },
			[]string{"create " + tmp, "unlink " + tmp, "overwrite /etc/a", "chmod /etc/a 4640", "sync /etc/a"}, machine.Image{ModNS: 9999}},
		"a copy": {File{Path: "/etc/a", Content: []byte("new"), Like: "/etc/b"}, func(m *memory) { m.file("/etc/b", "new", whole...) },
			append(append([]string{"create " + tmp}, append(on(tmp, attributes[:4]...), "utime "+tmp+" 77", "sync "+tmp)...),
				"rename "+tmp+" /etc/a", "sync /etc"), machine.Image{ModNS: 77}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			c.prepare(m)
			if _, err := m.taken(t.Context(), c.step); err != nil {
				t.Error(err)
			}
			m.did(t, name, c.want...)
			c.ends.Type, c.ends.Content = machine.Regular, []byte("new")
			if c.ends.Mode == 0 {
				c.ends.Mode, c.ends.UID, c.ends.GID = 0o4640, 1, 2
				c.ends.Xattrs = map[string][]byte{"user.note": []byte("keep"), acl.XattrAccess: []byte(list)}
			}
			m.is(t, name, "/etc/a", c.ends)
		})
	}
}

// A disk without room for a second copy: a file is written in place only to go back.
func TestNoRoom(t *testing.T) {
	for _, c := range []struct {
		inPlace, new bool
		want         error
	}{{false, false, syscall.ENOSPC}, {true, false, nil}, {true, true, syscall.ENOSPC}} {
		m := newMemory()
		now := machine.Image{Type: machine.Absent}
		if !c.new {
			now = m.file("/etc/a", "old")
		}
		m.fails["create /etc/.tmp"] = syscall.ENOSPC
		s := m.site(nil)
		s.InPlace = c.inPlace
		err := replaceFile(s, "/etc/a", now, []byte("new"), func(i machine.Image) machine.Image { return i })
		if !errors.Is(err, c.want) || c.want != nil && bytes.Equal(m.files["/etc/a"].Content, []byte("new")) {
			t.Errorf("%+v: %v, the file says %q", c, err, m.files["/etc/a"].Content)
		}
	}
}

// What cannot be removed after a failure is named.
func TestTemporaryFileRemains(t *testing.T) {
	m := newMemory()
	now := m.file("/etc/a", "old")
	m.fails["rename /etc/.tmp"], m.fails["unlink /etc/.tmp"] = errBroken, syscall.EIO
	err := replaceFile(m.site(nil), "/etc/a", now, []byte("new"), func(i machine.Image) machine.Image { return i })
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "the temporary file remains: input/output error") {
		t.Error(err)
	}
}

// Only what differs is changed: each act is one more that can fail, and marks the file as changed.
func TestSetMeta(t *testing.T) {
	list := []byte(accessList(t, "user::rw-,user:12:r--,group::r--,mask::r--,other::---"))
	was := machine.Image{Type: machine.Regular, Mode: 0o640, UID: 1, GID: 2,
		Xattrs: map[string][]byte{"user.a": []byte("1"), "user.b": {}, "security.ima": []byte("x")}}
	with := func(f func(*machine.Image)) machine.Image {
		i := was
		f(&i)
		return i
	}
	for name, c := range map[string]struct {
		to   machine.Image
		want []string
	}{
		"nothing":         {was, nil},
		"a user":          {with(func(i *machine.Image) { i.UID = 9 }), []string{"chown /etc/a 9:2"}},
		"a group":         {with(func(i *machine.Image) { i.GID = 9 }), []string{"chown /etc/a 1:9"}},
		"a mode":          {with(withMode(0o4600)), []string{"chmod /etc/a 4600"}},
		"one more":        {with(xattr("user.c", "")), []string{"setxattr /etc/a user.c"}},
		"another value":   {with(xattr("user.a", "2")), []string{"setxattr /etc/a user.a"}},
		"a value":         {with(xattr("user.b", "2")), []string{"setxattr /etc/a user.b"}},
		"the kernel's":    {with(xattr("security.ima", "y")), nil},
		"the kernel's, 2": {with(xattr("security.evm", "y")), nil},
		"none": {with(func(i *machine.Image) { i.Xattrs = nil }),
			[]string{"removexattr /etc/a user.a", "removexattr /etc/a user.b"}},
		"a list, which sets the mode": {with(func(i *machine.Image) { xattr(acl.XattrAccess, string(list))(i); i.Mode = 0o660 }),
			[]string{"setxattr /etc/a system.posix_acl_access", "chmod /etc/a 0660"}},
	} {
		m := newMemory()
		f := m.file("/etc/a", "", func(i *machine.Image) { i.Xattrs = was.Xattrs })
		if err := setMeta(m, machine.Ref{Path: "/etc/a", ID: f.ID}, was, c.to); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m.did(t, name, c.want...)
		if !SameMeta(m.files["/etc/a"], c.to) {
			t.Errorf("%s: %+v, not %+v", name, m.files["/etc/a"], c.to)
		}
	}
}
