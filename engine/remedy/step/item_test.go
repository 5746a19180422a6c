package step

import (
	"errors"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
)

func regular(content string, more ...func(*machine.Image)) *machine.Image {
	i := machine.Image{Type: machine.Regular, Mode: 0o644, UID: 1, GID: 2, Content: []byte(content), Size: int64(len(content)),
		Sum: machine.Sum([]byte(content))}
	for _, f := range more {
		f(&i)
	}
	return &i
}

func owned(uid, gid uint32) func(*machine.Image) {
	return func(i *machine.Image) { i.UID, i.GID = uid, gid }
}

// TestItemsAreTheSame: what counts as a difference, in files, folders, values.
func TestItemsAreTheSame(t *testing.T) {
	none, folder := &machine.Image{Type: machine.Absent}, &machine.Image{Type: machine.Folder, Mode: 0o755}
	for _, c := range []struct {
		a, b   *machine.Image
		kinds  string // of items that take the two for the same
		differ string
	}{
		{regular("a"), regular("a"), "file meta folder", ""},
		{regular("a"), regular("b"), "meta folder", "file"},
		{regular("a"), regular("a", withMode(0o640)), "folder", "file meta"},
		{regular("a"), regular("a", owned(1, 3)), "folder", "file meta"},
		{regular("a"), regular("a", owned(3, 2)), "folder", "file meta"},
		{regular("a"), regular("a", xattr("user.a", "")), "folder", "file meta"},
		{regular("a", xattr("user.a", "1")), regular("a", xattr("user.a", "2")), "folder", "file meta"},
		{regular("a", xattr("user.a", "1")), regular("a", xattr("user.b", "1")), "folder", "file meta"},
		{regular("a", xattr("security.ima", "1")), regular("a", xattr("security.evm", "2")), "file meta folder", ""},
		{regular("a"), none, "", "file meta folder"}, {folder, none, "", "file meta folder"}, {none, none, "file meta folder", ""},
		{&machine.Image{Type: machine.Absent, Mode: 7}, none, "file meta folder", ""},
		{nil, none, "", "file meta folder"}, {none, nil, "", "file meta folder"}, {nil, nil, "", "file meta folder"},
		{&machine.Image{Type: machine.Regular, Mode: 0o755}, folder, "", "file meta folder"},
	} {
		for _, kinds := range []struct {
			names string
			same  bool
		}{{c.kinds, true}, {c.differ, false}} {
			for _, k := range strings.Fields(kinds.names) {
				if got := (Item{Kind: k, Image: c.a}).Same(Item{Kind: k, Image: c.b}); got != kinds.same {
					t.Errorf("a %s, %+v and %+v: the same: %v", k, c.a, c.b, got)
				}
			}
		}
	}
	for _, c := range []struct {
		a, b Item
		same bool
	}{
		{Item{Value: "1\t2"}, Item{Value: "1 2"}, true}, {Item{Value: "1"}, Item{Value: "2"}, false},
		{Item{Value: "1"}, Item{Value: "1 1"}, false},
		{Item{Value: "1", Gone: true}, Item{Value: "2"}, true}, {Item{Value: "1"}, Item{Gone: true}, true},
	} {
		if c.a.Kind, c.b.Kind = ValueItem, ValueItem; c.a.Same(c.b) != c.same {
			t.Errorf("%+v and %+v: the same: %v", c.a, c.b, !c.same)
		}
	}
}

func TestSelected(t *testing.T) {
	for in, want := range map[string]string{
		"always [madvise] never": "madvise", "[a] b": "a", "[a]": "[a]", "1 2": "1 2", "": "", "a [] b": "a [] b", "a [b c] d": "a [b c] d",
		"[x [y] z": "y", "a b]": "a b]", "none [n]": "n",
	} {
		if got := selected(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

// TestBecomes: what an admin is shown of an item that is put back.
func TestBecomes(t *testing.T) {
	list := accessList(t, "user::rw-,user:12:r--,group::r--,mask::r--,other::---")
	none := &machine.Image{Type: machine.Absent}
	private := withMode(0o640)
	for name, c := range map[string]struct {
		kind     string
		now, was *machine.Image
		secret   bool
		want     string
	}{
		"nothing":      {FileItem, regular("a\n"), regular("a\n"), false, ""},
		"content":      {FileItem, regular("a\n"), regular("b\n"), false, "--- /f\n+++ /f\n@@ -1 +1 @@\n-a\n+b\n"},
		"made":         {FileItem, none, regular("b\n"), false, "--- /dev/null\n+++ /f\n@@ -1 +1 @@\n+b\n"},
		"made, empty":  {FileItem, none, regular(""), false, "--- /dev/null\n+++ /f\n"},
		"deleted":      {FileItem, regular("a\n"), none, false, "--- /f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n"},
		"not text":     {FileItem, regular("a\n"), regular("\x00"), false, "--- /f\n+++ /f\nnot text: 2 bytes become 1 bytes\n"},
		"was not text": {FileItem, regular("\xff"), regular("ab"), false, "--- /f\n+++ /f\nnot text: 1 bytes become 2 bytes\n"},
		"secret": {FileItem, regular("a\n"), regular("bb\n"), true,
			"--- /f\n+++ /f\nnot shown, because it is secret: 2 bytes become 3 bytes\n"},
		"private": {FileItem, regular("a\n", private), regular("bb\n"), false,
			"--- /f\n+++ /f\nnot shown, because it is secret: 2 bytes become 3 bytes\n"},
		"was private": {FileItem, none, regular("bb\n", private), false,
			"--- /dev/null\n+++ /f\nnot shown, because it is secret: 0 bytes become 3 bytes\n"},
		"a private mode": {FileItem, regular("a\n", private), regular("a\n"), false,
			"/f: mode 0640, owner 1:2, 2 bytes → mode 0644, owner 1:2, 2 bytes\n"},
		"attributes": {FileItem, regular("a\n", xattr("user.a", ""), xattr(acl.XattrAccess, list)), regular("a\n"), false,
			"/f: mode 0644, owner 1:2, system.posix_acl_access=user::rw-,user:12:r--,group::r--,mask::r--,other::---, user.a, 2 bytes" +
				" → mode 0644, owner 1:2, 2 bytes\n"},
		"mode":  {MetaItem, regular("", withMode(0o4711)), regular(""), false, "/f: mode 4711 → 0644\n"},
		"user":  {MetaItem, regular("", owned(7, 2)), regular(""), false, "/f: owner 7:2 → 1:2\n"},
		"group": {MetaItem, regular("", owned(1, 7)), regular(""), false, "/f: owner 1:7 → 1:2\n"},
		"xattrs": {MetaItem, regular("", xattr("user.a", "1"), xattr("user.b", "1"), xattr("security.ima", "1")),
			regular("", withMode(0o600), xattr("user.a", "1"), xattr("user.c", "2"), xattr("security.evm", "1")), false,
			"/f: mode 0644 → 0600, sets user.c, removes user.b\n"},
		"a list": {MetaItem, regular(""), regular("", xattr(acl.XattrDefault, list)), false,
			"/f: sets system.posix_acl_default to user::rw-,user:12:r--,group::r--,mask::r--,other::---\n"},
		"no list": {MetaItem, regular("", xattr(acl.XattrAccess, list)), regular(""), false, "/f: removes system.posix_acl_access\n"},
		"gone":    {MetaItem, none, regular(""), false, "/f: absent → mode 0644, owner 1:2\n"},
		"a folder": {FolderItem, &machine.Image{Type: machine.Folder, Mode: 0o755}, none, false,
			"/f: mode 0755, owner 0:0 → absent\n"},
	} {
		now := Item{Kind: c.kind, Path: "/f", Image: c.now, Secret: c.secret}
		if got := now.Becomes(Item{Kind: c.kind, Path: "/f", Image: c.was}); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, c.want)
		}
	}
	value := Item{Kind: ValueItem, Path: "/proc/a", Value: "1"}
	if got := value.Becomes(Item{Kind: ValueItem, Path: "/proc/a"}); got != "/proc/a: 1 → absent\n" {
		t.Error(got)
	}
	if value.Content() != nil || (Item{Image: none}).Content() != nil || string((Item{Image: regular("a")}).Content()) != "a" {
		t.Error("content")
	}
	if got := (Item{Image: &machine.Image{Type: machine.Regular}}).Content(); got == nil || len(got) > 0 {
		t.Errorf("the content of an empty file: %v", got)
	}
	if value.Private() || (Item{Image: none}).Private() || (Item{Image: &machine.Image{Type: machine.Folder}}).Private() {
		t.Error("what is no file is private")
	}
}

// TestPutBack: what is put back of each kind of item, and what is not.
func TestPutBack(t *testing.T) {
	was := *regular("old", withMode(0o640))
	was.ModNS = 77
	none := machine.Image{Type: machine.Absent}
	item := func(kind string, i machine.Image) Item { return Item{Kind: kind, Path: "/etc/a", Image: &i} }
	value := Item{Kind: ValueItem, Path: "/proc/a", Value: "1"}
	known := machine.Image{ID: machine.ID{Inode: 99}}
	for name, c := range map[string]struct {
		was     Item
		content string
		prepare func(*memory)
		seen    bool   // fettle saw the file last with another inode
		want    string // of the error; empty: none
		did     []string
		notes   int
	}{
		"a file that is deleted": {item(FileItem, was), "old", func(*memory) {}, false, "", []string{"create /etc/.tmp",
			"chown /etc/.tmp 1:2", "chmod /etc/.tmp 0640", "utime /etc/.tmp 77", "sync /etc/.tmp", "rename /etc/.tmp /etc/a", "sync /etc"}, 0},
		"a file with its content": {item(FileItem, was), "old", func(m *memory) { m.file("/etc/a", "old", withMode(0o600)) }, false, "",
			[]string{"chmod /etc/a 0640", "sync /etc/a"}, 0},
		"only its time": {item(FileItem, was), "old", func(m *memory) {
			m.file("/etc/a", "old", withMode(0o600), func(i *machine.Image) { i.ModNS = 5 })
		}, false, "", []string{"chmod /etc/a 0640", "utime /etc/a 77", "sync /etc/a"}, 0},
		"a damaged copy": {item(FileItem, was), "ol", func(m *memory) { m.file("/etc/a", "new") }, false, "damaged", nil, 0},
		"a new file": {item(FileItem, none), "", func(m *memory) { m.file("/etc/a", "new") }, false, "",
			[]string{"unlink /etc/a", "sync /etc"}, 0},
		"a folder by now": {item(FileItem, was), "old", func(m *memory) { m.folder("/etc/a") }, false,
			"/etc/a is no longer a file", nil, 0},
		"a new file, a folder by now": {item(FileItem, none), "", func(m *memory) { m.folder("/etc/a") }, false, "no longer a file", nil, 0},
		"a device by now": {item(FileItem, was), "old", func(m *memory) { m.files["/etc/a"] = machine.Image{Type: machine.Other} }, false,
			"no longer a file", nil, 0},
		"a mode": {item(MetaItem, was), "", func(m *memory) { m.file("/etc/a", "x", withMode(0o600)) }, false, "",
			[]string{"chmod /etc/a 0640", "sync /etc/a"}, 0},
		"the mode of a folder by now": {item(MetaItem, was), "", func(m *memory) { m.folder("/etc/a") }, false,
			"/etc/a is no longer a file", nil, 0},
		"the mode of another file, below root's": {item(MetaItem, was), "", func(m *memory) { m.file("/etc/a", "x", withMode(0o600)) }, true,
			"", []string{"chmod /etc/a 0640", "sync /etc/a"}, 0},
		"the mode of another file, below a user's": {item(MetaItem, was), "", func(m *memory) {
			m.file("/etc/a", "x", withMode(0o600), func(i *machine.Image) { i.Foreign = true })
		}, true, "has since been replaced by another file", nil, 0},
		"the mode of the same file, below a user's": {item(MetaItem, was), "", func(m *memory) {
			m.file("/etc/a", "x", withMode(0o600), func(i *machine.Image) { i.Foreign, i.ID = true, known.ID })
		}, true, "", []string{"chmod /etc/a 0640", "sync /etc/a"}, 0},
		"the mode of a file that nobody saw": {item(MetaItem, was), "", func(m *memory) {
			m.file("/etc/a", "x", withMode(0o600), func(i *machine.Image) { i.Foreign = true })
		}, false, "", []string{"chmod /etc/a 0640", "sync /etc/a"}, 0},
		"a new folder": {item(FolderItem, none), "", func(m *memory) { m.folder("/etc/a") }, false, "", []string{"rmdir /etc/a", "sync /etc"}, 0},
		"a new folder with something in it": {item(FolderItem, none), "", func(m *memory) { m.folder("/etc/a"); m.file("/etc/a/b", "") }, false,
			"", nil, 1},
		"a new folder, a file by now": {item(FolderItem, none), "", func(m *memory) { m.file("/etc/a", "") }, false, "", nil, 0},
		"a folder that was there":     {item(FolderItem, machine.Image{Type: machine.Folder}), "", func(m *memory) {}, false, "", nil, 0},
		"a new folder that cannot be listed": {item(FolderItem, none), "",
			func(m *memory) { m.folder("/etc/a"); m.fails["list /etc/a"] = errBroken }, false, "broken", nil, 1},
		"a value":           {value, "", func(m *memory) { m.values["/proc/a"] = "2" }, false, "", []string{"write /proc/a 1"}, 0},
		"a value as it was": {value, "", func(m *memory) { m.values["/proc/a"] = "1" }, false, "", nil, 0},
		"a value that went": {value, "", func(m *memory) {}, false, "", nil, 0},
		"an MTU that is no number": {Item{Kind: MTUItem, Path: "d0", Index: 3, Value: "x"}, "",
			func(m *memory) { m.net = []machine.Link{{Name: "d0", Index: 3, MTU: 9}} }, false, `journaled MTU "x" of d0`, nil, 0},
		"an MTU of a link made again": {Item{Kind: MTUItem, Path: "d0", Index: 3, Value: "7"}, "",
			func(m *memory) {
				m.net = []machine.Link{{Name: "d0", Index: 4, MTU: 9}, {Name: "d1", Index: 3, MTU: 9}}
			}, false, "", nil, 0},
		"an unknown kind": {Item{Kind: "x", Value: "1"}, "", func(m *memory) {}, false, `unknown kind of item "x"`, nil, 0},
	} {
		m := newMemory()
		c.prepare(m)
		var notes []string
		s := m.site(&notes)
		s.Seen = nil
		if c.seen {
			s.Seen = func(string) (machine.Image, bool) { return known, true }
		}
		err := PutBack(t.Context(), s, c.was, []byte(c.content))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) || len(notes) != c.notes {
			t.Errorf("%s: %v, notes %q", name, err, notes)
		}
		m.did(t, name, c.did...)
	}
}

// TestReadItem: how each kind stands now, and that of a link only the same one counts.
func TestReadItem(t *testing.T) {
	m := newMemory()
	m.file("/etc/a", "abc")
	m.values["/proc/a"] = "one [two]"
	m.net = []machine.Link{{Name: "d0", Index: 3, MTU: 1400}, {Name: "d1", Index: 4, MTU: 1500}}
	for _, it := range []Item{{Kind: FileItem, Path: "/etc/a"}, {Kind: MetaItem, Path: "/etc/a"}, {Kind: FolderItem, Path: "/etc"},
		{Kind: ValueItem, Path: "/proc/a"}, {Kind: ValueItem, Path: "/proc/b", Value: "1"}, {Kind: MTUItem, Path: "d0", Index: 3},
		{Kind: MTUItem, Path: "d0", Index: 4}, {Kind: MTUItem, Path: "d2", Index: 3}} {
		now, err := ReadItem(t.Context(), m, it)
		want := map[string]string{"value:/proc/a": "value:/proc/a two", "value:/proc/b": "value:/proc/b  gone", "mtu:d2": "mtu:d2  gone",
			"file:/etc/a": "file:/etc/a file", "meta:/etc/a": "meta:/etc/a file", "folder:/etc": "folder:/etc dir",
			"mtu:d0": "mtu:d0 1400"}[it.Key()]
		if it.Index == 4 {
			want = "mtu:d0  gone"
		}
		if got := shown([]Item{now}); got != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		if now.Image != nil && (now.Image.Sum != "") != (it.Kind == FileItem) {
			t.Errorf("%s: sum %q", it.Key(), now.Image.Sum)
		}
	}
	if _, err := ReadItems(t.Context(), m, []Item{{Kind: "x", Path: "/y"}}); err == nil || !strings.Contains(err.Error(), "/y") {
		t.Error(err)
	}
	m.fails["read /proc/a"] = errBroken
	if _, err := ReadItem(t.Context(), m, Item{Kind: ValueItem, Path: "/proc/a"}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
