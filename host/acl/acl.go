// Package acl reads, writes and evaluates POSIX access control lists, as
// acl(5) describes them: the form the kernel keeps in the extended attributes
// system.posix_acl_access and system.posix_acl_default, and the text forms of
// getfacl(1) and setfacl(1). It touches no files.
package acl

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"fettle/internal/sorted"
)

// The extended attributes that hold a file's lists.
const (
	XattrAccess  = "system.posix_acl_access"
	XattrDefault = "system.posix_acl_default"
)

// Tag is the type of an entry, with the kernel's values
// (include/uapi/linux/posix_acl.h).
type Tag uint16

const (
	UserObj  Tag = 0x01 // the file's owner
	User     Tag = 0x02 // the user ID
	GroupObj Tag = 0x04 // the file's group
	Group    Tag = 0x08 // the group ID
	Mask     Tag = 0x10 // the most that User, GroupObj and Group entries grant
	Other    Tag = 0x20 // everybody else
)

// named reports whether entries of this tag carry an ID.
func (t Tag) named() bool { return t == User || t == Group }

func (t Tag) String() string {
	switch t {
	case UserObj, User:
		return "user"
	case GroupObj, Group:
		return "group"
	case Mask:
		return "mask"
	case Other:
		return "other"
	}
	return fmt.Sprintf("tag %#x", uint16(t))
}

// Perm is a set of permissions.
type Perm uint16

const (
	Exec  Perm = 1
	Write Perm = 2
	Read  Perm = 4
)

// String is Perm as getfacl prints it: "r-x".
func (p Perm) String() string {
	b := []byte("---")
	for i, c := range "rwx" {
		if p&(4>>i) != 0 {
			b[i] = byte(c)
		}
	}
	return string(b)
}

// Entry is one line of a list.
type Entry struct {
	Tag  Tag
	ID   uint32 // of User and Group entries; 0 in the others
	Perm Perm
}

// ACL is a list of entries. A complete one satisfies Valid; a partial one
// (what setfacl -m is given) may be merged into another.
type ACL []Entry

// FromMode is the minimal list that means the same as permission bits.
func FromMode(mode fs.FileMode) ACL {
	return ACL{
		{Tag: UserObj, Perm: Perm(mode >> 6 & 7)},
		{Tag: GroupObj, Perm: Perm(mode >> 3 & 7)},
		{Tag: Other, Perm: Perm(mode & 7)},
	}
}

// Mode is the permission bits (at most 0777) that stat(2) shows of a file
// with this access list: with a mask, the group bits are the mask.
func (a ACL) Mode() fs.FileMode {
	group := a.perm(GroupObj)
	if m, ok := a.Find(Mask, 0); ok {
		group = m.Perm
	}
	return fs.FileMode(a.perm(UserObj)<<6 | group<<3 | a.perm(Other))
}

// Minimal reports whether permission bits say all that the list does.
func (a ACL) Minimal() bool {
	return !slices.ContainsFunc(a, func(e Entry) bool { return e.Tag.named() || e.Tag == Mask })
}

// Find returns the entry of a tag (and of an ID, for User and Group).
func (a ACL) Find(t Tag, id uint32) (Entry, bool) {
	for _, e := range a {
		if e.Tag == t && (!t.named() || e.ID == id) {
			return e, true
		}
	}
	return Entry{}, false
}

func (a ACL) perm(t Tag) Perm {
	e, _ := a.Find(t, 0)
	return e.Perm
}

// Sorted returns a copy in the order that the kernel demands: by tag, then by ID.
func (a ACL) Sorted() ACL {
	s := slices.Clone(a)
	sorted.By(s, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Tag, y.Tag), cmp.Compare(x.ID, y.ID))
	})
	return s
}

// Equal reports whether two lists hold the same entries, in any order.
func (a ACL) Equal(b ACL) bool { return slices.Equal(a.Sorted(), b.Sorted()) }

// Valid says what keeps the list from being a complete one, by the rules of
// acl_valid(3) and the kernel's posix_acl_valid: one entry each of owner,
// group and others; no ID twice; a mask exactly once when there are User or
// Group entries, and at most once.
func (a ACL) Valid() error {
	seen := map[Entry]bool{}
	for _, e := range a {
		switch e.Tag {
		case UserObj, User, GroupObj, Group, Mask, Other:
		default:
			return fmt.Errorf("entry of unknown %s", e.Tag)
		}
		if e.Perm&^(Read|Write|Exec) != 0 {
			return fmt.Errorf("%s entry has unknown permission bits %#x", e.Tag, uint16(e.Perm))
		}
		if e.Tag.named() && e.ID == noID {
			return fmt.Errorf("%s entry has the ID %d, which means no user or group", e.Tag, uint32(noID))
		}
		key := Entry{Tag: e.Tag, ID: e.ID}
		if !e.Tag.named() {
			key.ID = 0
		}
		if seen[key] {
			return fmt.Errorf("two entries of %s", e.who())
		}
		seen[key] = true
	}
	for _, t := range []Tag{UserObj, GroupObj, Other} {
		if !seen[Entry{Tag: t}] {
			return fmt.Errorf("the %s:: entry is missing", t)
		}
	}
	if !seen[Entry{Tag: Mask}] && !a.Minimal() {
		return fmt.Errorf("entries of named users or groups need a mask:: entry")
	}
	return nil
}

// Effective is what an entry of this list grants once the mask has been applied.
func (a ACL) Effective(e Entry) Perm {
	if m, ok := a.Find(Mask, 0); ok && (e.Tag == User || e.Tag == GroupObj || e.Tag == Group) {
		return e.Perm & m.Perm
	}
	return e.Perm
}

// Allows reports whether a process with this user and these groups (primary and
// supplementary) is granted all of want on a file of this owner and group:
// the access check algorithm of acl(5). Capabilities are not considered: root
// passes where this says no.
func (a ACL) Allows(uid uint32, gids []uint32, owner, group uint32, want Perm) bool {
	if uid == owner {
		return a.perm(UserObj)&want == want
	}
	if e, ok := a.Find(User, uid); ok {
		return a.Effective(e)&want == want
	}
	matched := false
	for _, e := range a {
		if e.Tag == GroupObj && slices.Contains(gids, group) || e.Tag == Group && slices.Contains(gids, e.ID) {
			// One entry must grant all of want: two halves do not add up.
			if a.Effective(e)&want == want {
				return true
			}
			matched = true
		}
	}
	return !matched && a.perm(Other)&want == want
}

// WithMask returns the list with its mask computed again: the union of what
// User, GroupObj and Group entries grant (acl_calc_mask(3)). A minimal list
// without a mask gets none.
func (a ACL) WithMask() ACL {
	if a.Minimal() {
		return slices.Clone(a)
	}
	var union Perm
	out := make(ACL, 0, len(a)+1)
	for _, e := range a {
		if e.Tag == User || e.Tag == GroupObj || e.Tag == Group {
			union |= e.Perm
		}
		if e.Tag != Mask {
			out = append(out, e)
		}
	}
	return append(out, Entry{Tag: Mask, Perm: union}).Sorted()
}

// Merge does what setfacl -m does: each entry replaces the one of the same
// tag and ID or is added. Unless one of them is the mask, the mask is
// computed again. The receiver is not changed.
func (a ACL) Merge(entries ...Entry) ACL {
	out := slices.Clone(a)
	mask := false
	for _, e := range entries {
		mask = mask || e.Tag == Mask
		i := slices.IndexFunc(out, func(o Entry) bool { return o.Tag == e.Tag && (!e.Tag.named() || o.ID == e.ID) })
		if i < 0 {
			out = append(out, e)
		} else {
			out[i] = e
		}
	}
	if mask {
		return out.Sorted()
	}
	return out.WithMask().Sorted()
}

// Inherit is the access list of a file or folder that is created with mode
// (without the umask, which then does not count) in a folder whose default
// list is a: the kernel's posix_acl_create. An empty a gives nothing to
// inherit; the result is then empty too. A new folder gets a as its own
// default list besides.
func (a ACL) Inherit(mode fs.FileMode) ACL {
	_, masked := a.Find(Mask, 0)
	out := slices.Clone(a)
	for i, e := range out {
		switch {
		case e.Tag == UserObj:
			out[i].Perm &= Perm(mode >> 6 & 7)
		case e.Tag == Mask, e.Tag == GroupObj && !masked:
			out[i].Perm &= Perm(mode >> 3 & 7)
		case e.Tag == Other:
			out[i].Perm &= Perm(mode & 7)
		}
	}
	return out
}
