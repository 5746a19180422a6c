package step

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"fettle/engine/remedy/machine"
)

// shown are items by kind, path and type.
func shown(items []Item) string {
	var out []string
	for _, it := range items {
		s := it.Key()
		if it.Image != nil {
			s += " " + it.Image.Type
		} else {
			s += " " + it.Value
		}
		for _, f := range []struct {
			on   bool
			name string
		}{{it.SideEffect, "aside"}, {it.Drifts, "drifts"}, {it.Secret, "secret"}, {it.Gone, "gone"}} {
			if f.on {
				s += " " + f.name
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// TestFileItems: what steps on files may change, and on what they refuse to work.
func TestFileItems(t *testing.T) {
	was := []byte("old")
	host := func() *memory {
		m := newMemory()
		m.file("/etc/a", "old")
		m.file("/etc/two", "old", withLinks(2))
		m.folder("/etc/d")
		m.files["/etc/dev"] = machine.Image{Type: machine.Other}
		m.symlinks = map[string]string{"/etc/link": "/etc/a", "/etc/to-d": "/etc/d", "/etc/to-dev": "/etc/dev"}
		return m
	}
	for name, c := range map[string]struct {
		step Step
		want string // the items, or what the refusal says
	}{
		"a file":                    {File{Path: "/etc/a", Was: was, Content: []byte("new")}, "file:/etc/a file"},
		"a secret":                  {File{Path: "/etc/a", Was: was, Content: []byte("new"), Secret: true}, "file:/etc/a file secret"},
		"through a link":            {File{Path: "/etc/link", Was: was, Content: []byte("new")}, "file:/etc/a file"},
		"new":                       {File{Path: "/etc/n", Content: []byte("new")}, "file:/etc/n absent"},
		"new, with folders":         {File{Path: "/etc/n/m/f"}, "file:/etc/n/m/f absent, folder:/etc/n/m absent, folder:/etc/n absent"},
		"new, below /":              {File{Path: "/n"}, "file:/n absent"},
		"below a file":              {File{Path: "/etc/a/f"}, "/etc/a is not a folder"},
		"a folder":                  {File{Path: "/etc/d", Was: was}, "/etc/d is a folder; fettle changes files only"},
		"a device":                  {File{Path: "/etc/dev", Was: was}, "/etc/dev is not a regular file; fettle changes files only"},
		"a link to a folder":        {File{Path: "/etc/to-d"}, "/etc/to-d is a symlink to /etc/d, which is a folder; fettle changes files only"},
		"a link to a device":        {File{Path: "/etc/to-dev"}, "is a symlink to /etc/dev, which is not a regular file"},
		"changed":                   {File{Path: "/etc/a", Was: []byte("older"), Content: []byte("new")}, "was changed since the plan was made"},
		"deleted":                   {File{Path: "/etc/n", Was: was}, "was deleted since the plan was made"},
		"there by now":              {File{Path: "/etc/a", Content: []byte("new")}, "was not there when the plan was made, and is now"},
		"done already":              {File{Path: "/etc/a", Was: []byte("older"), Content: was}, "file:/etc/a file"},
		"empty, and not there":      {File{Path: "/etc/n", Was: was, Content: []byte{}}, "was deleted since the plan was made"},
		"a copy":                    {File{Path: "/etc/n", Content: was, Like: "/etc/a"}, "file:/etc/n absent"},
		"a copy of none":            {File{Path: "/etc/n", Content: was, Like: "/etc/m"}, "/etc/m was deleted since the plan was made"},
		"a copy of a folder":        {File{Path: "/etc/n", Content: was, Like: "/etc/d"}, "/etc/d is a folder"},
		"remove":                    {Remove{Path: "/etc/a", Was: was}, "file:/etc/a file"},
		"remove a secret":           {Remove{Path: "/etc/a", Was: was, Secret: true}, "file:/etc/a file secret"},
		"remove, by a crooked name": {Remove{Path: "/etc/../etc/a", Was: was}, "file:/etc/a file"},
		"remove what is gone":       {Remove{Path: "/etc/n", Was: was}, "file:/etc/n absent"},
		"remove what was changed":   {Remove{Path: "/etc/a", Was: []byte("older")}, "was changed since the plan was made"},
		"remove a link":             {Remove{Path: "/etc/link", Was: was}, "/etc/link is a symlink to /etc/a; fettle removes files only"},
		"remove one of two names":   {Remove{Path: "/etc/two", Was: was}, "has 2 hard links"},
		"remove a folder":           {Remove{Path: "/etc/d", Was: was}, "is a folder"},
		"mode":                      {Perm{Path: "/etc/link", Mode: 0o600, UID: -1, GID: -1}, "meta:/etc/a file"},
		"mode of a folder":          {Perm{Path: "/etc/d", Mode: 0o700, UID: -1, GID: -1}, "meta:/etc/d dir"},
		"mode of nothing":           {Perm{Path: "/etc/n"}, "/etc/n does not exist"},
		"mode of a device":          {Perm{Path: "/etc/dev"}, "/etc/dev is neither a file nor a folder"},
		"a list":                    {ACL{Path: "/etc/a", Access: "u::rw-,g::r--,o::---"}, "meta:/etc/a file"},
		"a default list":            {ACL{Path: "/etc/d", Default: "u::rw-,g::r--,o::---"}, "meta:/etc/d dir"},
		"a default list of a file":  {ACL{Path: "/etc/a", Default: "u::rw-,g::r--,o::---"}, "/etc/a is not a folder, and has no default ACL"},
		"a list that is none":       {ACL{Path: "/etc/a", Access: "u:rw"}, "ACL entry"},
		"half a list":               {ACL{Path: "/etc/a", Access: "u::rw-"}, `ACL "u::rw-" for /etc/a`},
	} {
		items, err := c.step.Items(t.Context(), host())
		if err != nil && strings.Contains(err.Error(), c.want) && items == nil {
			continue
		}
		if got := shown(items); got != c.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}

// meddled is a step that is taken although somebody changed its file after it was looked at.
func meddled(t *testing.T, s Step, prepare, meddle func(*memory)) (*memory, error) {
	t.Helper()
	m := newMemory()
	prepare(m)
	before, err := s.Items(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	meddle(m)
	return m, s.Apply(t.Context(), m.site(nil), before)
}

// TestSomebodyElse: a file that somebody changed between look and act is left alone.
func TestSomebodyElse(t *testing.T) {
	file := func(content string) func(*memory) { return func(m *memory) { m.file("/etc/a", content) } }
	gone := func(m *memory) { delete(m.files, "/etc/a") }
	change := File{Path: "/etc/a", Was: []byte("old"), Content: []byte("new")}
	for name, c := range map[string]struct {
		step            Step
		prepare, meddle func(*memory)
		acts            bool // nevertheless: it is its own doing
	}{
		"changed":                {change, file("old"), file("theirs"), false},
		"deleted":                {change, file("old"), gone, false},
		"a folder by now":        {change, file("old"), func(m *memory) { m.folder("/etc/a") }, false},
		"as it was":              {change, file("old"), func(*memory) {}, true},
		"half written":           {change, file("old"), file("ne"), true},
		"half written back":      {change, file("old"), file("ol"), true},
		"written":                {change, file("old"), file("new"), true},
		"made":                   {File{Path: "/etc/a", Content: []byte("new")}, func(*memory) {}, file("theirs"), false},
		"half made is not ours":  {File{Path: "/etc/a", Content: []byte("new")}, func(*memory) {}, file("ne"), false},
		"removed and changed":    {Remove{Path: "/etc/a", Was: []byte("old")}, file("old"), file("theirs"), false},
		"removed and removed":    {Remove{Path: "/etc/a", Was: []byte("old")}, file("old"), gone, true},
		"removed, made a folder": {Remove{Path: "/etc/a", Was: []byte("old")}, file("old"), func(m *memory) { m.folder("/etc/a") }, false},
		"mode of another file":   {Perm{Path: "/etc/a", Mode: 0o600, UID: -1, GID: -1}, file("old"), file("old"), false},
		"owner of another file":  {Perm{Path: "/etc/a", Mode: -1, UID: 7, GID: -1}, file("old"), file("old"), false},
		"list of another file":   {ACL{Path: "/etc/a", Access: "u::rw-,u:5:r--,g::r--,o::---"}, file("old"), file("old"), false},
		"no list of another":     {ACL{Path: "/etc/a", Access: "u::rwx,g::r--,o::---"}, file("old"), file("old"), false},
		"mode of nothing":        {Perm{Path: "/etc/a", Mode: 0o600, UID: -1, GID: -1}, file("old"), gone, false},
	} {
		m, err := meddled(t, c.step, c.prepare, c.meddle)
		if c.acts != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if f := m.files["/etc/a"]; !c.acts && (string(f.Content) == "new" || f.Type == machine.Regular && f.Mode != 0o640 || f.UID == 7) {
			t.Errorf("%s: it was changed nevertheless: %+v", name, f)
		}
	}
	// A busy file is a mount point.
	_, err := meddled(t, Remove{Path: "/etc/a", Was: []byte("old")}, file("old"), func(m *memory) { m.fails["unlink /etc/a"] = syscall.EBUSY })
	if !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "unmount it first") {
		t.Error(err)
	}
	_, err = meddled(t, Remove{Path: "/etc/a", Was: []byte("old")}, file("old"), func(m *memory) { m.fails["unlink /etc/a"] = syscall.EPERM })
	if !errors.Is(err, syscall.EPERM) || strings.Contains(err.Error(), "unmount") {
		t.Error(err)
	}
}

// TestFileBetween: what an act that was cut off can have left of a file.
func TestFileBetween(t *testing.T) {
	s := File{Path: "/a", Was: []byte("old"), Content: []byte("new")}
	item := func(kind, typ, content string) Item {
		return Item{Kind: kind, Image: &machine.Image{Type: typ, Content: []byte(content)}}
	}
	file, none := item(FileItem, machine.Regular, "old"), item(FileItem, machine.Absent, "")
	for _, c := range []struct {
		step        Step
		before, now Item
		want        bool
	}{
		{s, file, item(FileItem, machine.Regular, "new"), true}, {s, file, item(FileItem, machine.Regular, "n"), true},
		{s, file, item(FileItem, machine.Regular, ""), true}, {s, file, item(FileItem, machine.Regular, "ol"), true},
		{s, file, item(FileItem, machine.Regular, "newer"), false}, {s, file, item(FileItem, machine.Regular, "w"), false},
		{s, file, none, false}, {s, file, item(FileItem, machine.Folder, ""), false}, {s, none, item(FileItem, machine.Regular, "new"), true},
		{s, none, item(FileItem, machine.Regular, "ne"), false},
		{s, item(FolderItem, machine.Absent, ""), item(FolderItem, machine.Folder, ""), true},
		{s, item(FolderItem, machine.Absent, ""), item(FolderItem, machine.Absent, ""), true},
		{s, item(FolderItem, machine.Absent, ""), item(FolderItem, machine.Regular, ""), false},
		{Remove{}, file, none, true}, {Remove{}, file, file, false},
	} {
		if got := c.step.(Keeper).Between(c.before, c.now); got != c.want {
			t.Errorf("%s: %s, then %s: %v", c.step.Kind(), shown([]Item{c.before}), shown([]Item{c.now}), got)
		}
	}
}

// TestFileDone: a file is done when its content and what goes with it are in place.
func TestFileDone(t *testing.T) {
	sum := machine.Sum([]byte("new"))
	img := func(typ string, mode, uid uint32, sum string, ns int64) *machine.Image {
		return &machine.Image{Type: typ, Mode: mode, UID: uid, Sum: sum, ModNS: ns}
	}
	none, was := img(machine.Absent, 0, 0, "", 0), img(machine.Regular, 0o640, 5, "other", 1)
	s := File{Path: "/etc/n", Content: []byte("new"), Mode: 0o600}
	like := File{Path: "/etc/n", Content: []byte("new"), Like: "/etc/a"}
	for _, c := range []struct {
		step        File
		before, now *machine.Image
		want        bool
	}{
		{s, none, img(machine.Regular, 0o600, 0, sum, 0), true}, {s, none, img(machine.Regular, 0o640, 0, sum, 0), false},
		{s, none, img(machine.Regular, 0o600, 0, "other", 0), false}, {s, none, img(machine.Folder, 0o600, 0, sum, 0), false},
		{s, was, img(machine.Regular, 0o640, 5, sum, 0), true}, {s, was, img(machine.Regular, 0o600, 5, sum, 0), false},
		{s, was, img(machine.Regular, 0o640, 6, sum, 0), false}, {s, was, none, false},
		{like, none, &machine.Image{Type: machine.Regular, Mode: 0o640, UID: 1, GID: 2, Sum: sum, ModNS: 77}, true},
		{like, none, &machine.Image{Type: machine.Regular, Mode: 0o640, UID: 1, GID: 2, Sum: sum, ModNS: 78}, false},
		{like, none, &machine.Image{Type: machine.Regular, Mode: 0o640, UID: 1, GID: 3, Sum: sum, ModNS: 77}, false},
		{File{Path: "/etc/n", Content: []byte("new"), Like: "/etc/gone"}, none, img(machine.Regular, 0, 0, sum, 0), true},
	} {
		m := newMemory()
		m.file("/etc/a", "new")
		got, err := c.step.Done(context.Background(), m, []Item{{Image: c.before}}, []Item{{Image: c.now}})
		if got != c.want || err != nil {
			t.Errorf("%+v, from %+v to %+v: %v, %v", c.step, c.before, c.now, got, err)
		}
	}
	for _, typ := range []string{machine.Absent, machine.Regular} {
		got, err := Remove{}.Done(t.Context(), nil, nil, []Item{{Image: img(typ, 0, 0, "", 0)}})
		if got != (typ == machine.Absent) || err != nil {
			t.Error(fmt.Sprint(typ, " is removed: ", got, err))
		}
	}
}

// TestRemoveActs: a file that is removed stays so after a power cut, and one that is gone already is left.
func TestRemoveActs(t *testing.T) {
	m := newMemory()
	m.file("/etc/a", "old\n")
	s := Remove{Path: "/etc/a", Was: []byte("old\n")}
	for _, want := range [][]string{{"unlink /etc/a", "sync /etc"}, nil} {
		items, err := s.Items(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), m.site(nil), items); err != nil {
			t.Error(err)
		}
		m.did(t, "removing", want...)
	}
}
