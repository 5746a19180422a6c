package step

import (
	"os/user"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
	"fettle/internal/means"
)

// TestPermActs: mode and owner are set only where they differ, the mode after the owner.
func TestPermActs(t *testing.T) {
	for name, c := range map[string]struct {
		step Perm
		want []string
	}{
		"nothing":         {Perm{Mode: -1, UID: -1, GID: -1}, []string{"sync /etc/a"}},
		"as it is":        {Perm{Mode: 0o4640, UID: 1, GID: 2}, []string{"sync /etc/a"}},
		"mode 0":          {Perm{Mode: 0, UID: -1, GID: -1}, []string{"chmod /etc/a 0000", "sync /etc/a"}},
		"beyond the bits": {Perm{Mode: 0o107777, UID: -1, GID: -1}, []string{"chmod /etc/a 7777", "sync /etc/a"}},
		"root's":          {Perm{Mode: -1, UID: 0, GID: -1}, []string{"chown /etc/a 0:2", "chmod /etc/a 4640", "sync /etc/a"}},
		"group root's":    {Perm{Mode: -1, UID: -1, GID: 0}, []string{"chown /etc/a 1:0", "chmod /etc/a 4640", "sync /etc/a"}},
		"what chown made": {Perm{Mode: 0o640, UID: 7, GID: 8}, []string{"chown /etc/a 7:8", "sync /etc/a"}},
	} {
		m := newMemory()
		m.file("/etc/a", "", withMode(0o4640))
		c.step.Path = "/etc/a"
		if _, err := m.taken(t.Context(), c.step); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m.did(t, name, c.want...)
	}
}

// TestPermBetween: what an act that was cut off can have left of mode and owner, and when it is done.
func TestPermBetween(t *testing.T) {
	was := machine.Image{Type: machine.Regular, Mode: 0o4640, UID: 1, GID: 2}
	s := Perm{Mode: 0o2755, UID: 7, GID: 8}
	for _, c := range []struct {
		now           machine.Image
		between, done bool
	}{
		{was, true, false},
		{machine.Image{Type: machine.Regular, Mode: 0o2755, UID: 7, GID: 8}, true, true},
		{machine.Image{Type: machine.Regular, Mode: 0o640, UID: 7, GID: 8}, true, false}, // chown cleared the set-id bit
		{machine.Image{Type: machine.Regular, Mode: 0o2755, UID: 1, GID: 8}, true, false},
		{machine.Image{Type: machine.Regular, Mode: 0o2755, UID: 7, GID: 2}, true, false},
		{machine.Image{Type: machine.Regular, Mode: 0o755, UID: 7, GID: 8}, true, false},
		{machine.Image{Type: machine.Regular, Mode: 0o2750, UID: 7, GID: 8}, false, false},
		{machine.Image{Type: machine.Regular, Mode: 0o2755, UID: 9, GID: 8}, false, false},
		{machine.Image{Type: machine.Regular, Mode: 0o2755, UID: 7, GID: 9}, false, false},
		{machine.Image{Type: machine.Folder, Mode: 0o640, UID: 1, GID: 2}, false, false},
	} {
		before, now := Item{Kind: MetaItem, Image: &was}, Item{Kind: MetaItem, Image: &c.now}
		if got := s.Between(before, now); got != c.between {
			t.Errorf("%+v is between: %v", c.now, got)
		}
		if got, err := s.Done(t.Context(), nil, []Item{before}, []Item{now}); got != c.done || err != nil {
			t.Errorf("%+v is done: %v, %v", c.now, got, err)
		}
	}
}

// TestACLActs: which lists are set and removed, and the mode that goes with them.
func TestACLActs(t *testing.T) {
	const named, minimal = "user::rw-,user:12:r--,group::r--,mask::rw-,other::---", "u::rwx,g::r-x,o::--x"
	list := accessList(t, named)
	const access, dflt = " /etc/a system.posix_acl_access", " /etc/a system.posix_acl_default"
	listed := func(mode uint32) func(*machine.Image) {
		return func(i *machine.Image) { xattr(acl.XattrAccess, list)(i); i.Mode = mode }
	}
	for name, c := range map[string]struct {
		step    ACL
		folder  bool
		prepare func(*machine.Image)
		want    []string // and a sync
		mode    uint32
	}{
		"nothing":       {ACL{}, false, withMode(0o4640), nil, 0o4640},
		"a list":        {ACL{Access: named}, false, withMode(0o4640), []string{"setxattr" + access, "chmod /etc/a 4660"}, 0o4660},
		"as it is":      {ACL{Access: named}, false, listed(0o660), nil, 0o660},
		"a mode alone":  {ACL{Access: minimal}, false, withMode(0o1640), []string{"setxattr" + access, "chmod /etc/a 1751"}, 0o1751},
		"none":          {ACL{Access: "none"}, false, listed(0o2660), []string{"removexattr" + access, "chmod /etc/a 2640"}, 0o2640},
		"none of none":  {ACL{Access: "none"}, false, withMode(0o2660), nil, 0o2660},
		"none, damaged": {ACL{Access: "none"}, false, xattr(acl.XattrAccess, "x"), []string{"removexattr" + access}, 0o640},
		"default list":  {ACL{Default: named}, true, withMode(0o2750), []string{"setxattr" + dflt}, 0o2750},
		"both": {ACL{Access: named, Default: named}, true, withMode(0o2750),
			[]string{"setxattr" + access, "setxattr" + dflt, "chmod /etc/a 2660"}, 0o2660},
		"no default list": {ACL{Default: "none"}, true, xattr(acl.XattrDefault, list), []string{"removexattr" + dflt}, 0o755},
	} {
		m := newMemory()
		if c.folder {
			m.folder("/etc/a")
			i := m.files["/etc/a"]
			c.prepare(&i)
			m.files["/etc/a"] = i
		} else {
			m.file("/etc/a", "", c.prepare)
		}
		c.step.Path = "/etc/a"
		if _, err := m.taken(t.Context(), c.step); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m.did(t, name, append(c.want, "sync /etc/a")...)
		if got := m.files["/etc/a"].Mode; got != c.mode {
			t.Errorf("%s: mode %04o, not %04o", name, got, c.mode)
		}
	}
}

// TestACLBetween: lists and the mode's permissions may differ after an act that was cut off, nothing else; and
// it is done when both are in place.
func TestACLBetween(t *testing.T) {
	const named = "user::rw-,user:12:r--,group::r--,mask::rw-,other::---"
	list := accessList(t, named)
	img := func(mode uint32, more ...func(*machine.Image)) *machine.Image {
		i := &machine.Image{Type: machine.Regular, Mode: mode, UID: 1, GID: 2}
		xattr("user.a", "1")(i)
		for _, f := range more {
			f(i)
		}
		return i
	}
	was := Item{Kind: MetaItem, Image: img(0o4640)}
	s := ACL{Path: "/a", Access: named}
	for name, c := range map[string]struct {
		now           *machine.Image
		between, done bool
	}{
		"nothing done":        {img(0o4640), true, false},
		"done":                {img(0o4660, xattr(acl.XattrAccess, list)), true, true},
		"without the mode":    {img(0o4640, xattr(acl.XattrAccess, list)), true, false},
		"the mode alone":      {img(0o4660), true, false},
		"lists":               {img(0o4601, xattr(acl.XattrDefault, "x"), xattr(acl.XattrAccess, "x")), true, false},
		"the kernel's":        {img(0o4640, xattr("security.ima", "x")), true, false},
		"another attribute":   {img(0o4640, xattr("user.b", "x")), false, false},
		"another value":       {img(0o4640, xattr("user.a", "x")), false, false},
		"another user":        {img(0o4640, owned(9, 2)), false, false},
		"another group":       {img(0o4640, owned(1, 9)), false, false},
		"without set-id":      {img(0o640), false, false},
		"a folder":            {img(0o4640, func(i *machine.Image) { i.Type = machine.Folder }), false, false},
		"nothing is left":     {&machine.Image{Type: machine.Absent}, false, false},
		"another's list, 660": {img(0o4660, xattr(acl.XattrAccess, "x")), true, false},
	} {
		now := Item{Kind: MetaItem, Image: c.now}
		if got := s.Between(was, now); got != c.between {
			t.Errorf("%s is between: %v", name, got)
		}
		if got, err := s.Done(t.Context(), nil, []Item{was}, []Item{now}); got != c.done || err != nil {
			t.Errorf("%s is done: %v, %v", name, got, err)
		}
	}
	for text, want := range map[string]bool{"none": false, "u::rw-,g::rw-,o::---": true} { // the kernel keeps a minimal list as the mode
		now := Item{Kind: MetaItem, Image: img(0o4660)}
		if got, err := (ACL{Access: text}).Done(t.Context(), nil, []Item{was}, []Item{now}); got != want || err != nil {
			t.Errorf("%s is done: %v, %v", text, got, err)
		}
	}
	if _, err := (ACL{Access: "x"}).Done(t.Context(), nil, []Item{was}, []Item{was}); err == nil {
		t.Error("a list that is none is done")
	}
	if err := (ACL{Access: "x"}).Apply(t.Context(), newMemory().site(nil), []Item{was}); err == nil {
		t.Error("a list that is none is set")
	}
}

// Lists may name users and groups.
func TestACLNames(t *testing.T) {
	u, err := user.LookupId("0")
	if err != nil {
		means.Missing(t, "needs a name of user 0: "+err.Error())
	}
	g, err := user.LookupGroupId("0")
	if err != nil {
		means.Missing(t, "needs a name of group 0: "+err.Error())
	}
	s := ACL{Path: "/a", Access: "u::rw-,u:" + u.Username + ":r--,g::r--,g:" + g.Name + ":r--,m::r--,o::---"}
	lists, err := s.lists(machine.Image{})
	if text, err2 := parseACL(acl.XattrAccess, lists[acl.XattrAccess]); err != nil || err2 != nil ||
		text != "user::rw-,user:0:r--,group::r--,group:0:r--,mask::r--,other::---" {
		t.Error(text, err, err2)
	}
	for _, who := range []string{"u:no-such-user", "g:no-such-group"} {
		if _, err := (ACL{Access: "u::rw-,g::r--,o::---," + who + ":r--"}).lists(machine.Image{}); err == nil {
			t.Errorf("%s is somebody", who)
		}
	}
	if _, err := parseACL("user.a", []byte(accessList(t, "u::rw-,g::r--,o::---"))); err == nil {
		t.Error("user.a is an ACL")
	}
}
