package remedy

import (
	"context"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"

	"fettle/host/acl"
	"fettle/remedy/machine"
)

func (s Perm) target() string { return s.Path }
func (s ACL) target() string  { return s.Path }

func (Perm) running() bool { return false }
func (ACL) running() bool  { return false }

// metaItem is the one item of steps that leave content alone.
func metaItem(m Machine, name string) ([]Item, error) {
	real, err := m.Resolve(name)
	if err != nil {
		return nil, err
	}
	img, err := m.Look(real, false)
	if err != nil {
		return nil, err
	}
	switch img.Type {
	case Absent:
		return nil, &Changed{Path: name, Why: "does not exist"}
	case Other:
		return nil, &Changed{Path: name, Why: "is neither a file nor a folder"}
	}
	return []Item{{Kind: itemMeta, Path: real, Image: &img}}, nil
}

func (s Perm) items(_ context.Context, m Machine) ([]Item, error) { return metaItem(m, s.Path) }

func (s Perm) want(img Image) Image {
	if s.UID >= 0 {
		img.UID = uint32(s.UID)
	}
	if s.GID >= 0 {
		img.GID = uint32(s.GID)
	}
	if s.Mode >= 0 {
		img.Mode = uint32(s.Mode) & 0o7777
	}
	return img
}

func (s Perm) act(_ context.Context, st *site, before []Item) error {
	f := machine.Ref{Path: before[0].Path, ID: before[0].Image.ID}
	now, err := st.m.Look(f.Path, false)
	if err != nil {
		return err
	}
	// Not by setMeta: its ACL would put the mask of before over the new mode.
	want := s.want(*before[0].Image)
	if now.UID != want.UID || now.GID != want.GID {
		if err := st.m.Chown(f, want.UID, want.GID); err != nil {
			return err
		}
		if now, err = st.m.Look(f.Path, false); err != nil {
			return err
		}
	}
	if now.Mode != want.Mode {
		if err := st.m.Chmod(f, want.Mode); err != nil {
			return err
		}
	}
	return st.m.Sync(f)
}

func (s Perm) done(_ context.Context, _ Machine, before, now []Item) (bool, error) {
	want, n := s.want(*before[0].Image), now[0].Image
	return n.Mode == want.Mode && n.UID == want.UID && n.GID == want.GID, nil
}

func (s Perm) between(before, now Item) bool {
	b, w, n := before.Image, s.want(*before.Image), now.Image
	return n.Type == b.Type && (n.UID == b.UID || n.UID == w.UID) && (n.GID == b.GID || n.GID == w.GID) &&
		(n.Mode&0o777 == b.Mode&0o777 || n.Mode&0o777 == w.Mode&0o777) // chown(2) clears set-id bits
}

func (s ACL) items(_ context.Context, m Machine) ([]Item, error) {
	its, err := metaItem(m, s.Path)
	if err != nil {
		return nil, err
	}
	if _, err := s.lists(*its[0].Image); err != nil {
		return nil, err
	}
	if s.Default != "" && its[0].Image.Type != Folder {
		return nil, &Changed{Path: s.Path, Why: "is not a folder, and has no default ACL"}
	}
	return its, nil
}

// lists is the text made into attribute values: nil removes, absent keeps.
func (s ACL) lists(img Image) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, p := range [...]struct{ attr, text string }{{acl.XattrAccess, s.Access}, {acl.XattrDefault, s.Default}} {
		switch p.text {
		case "":
		case "none":
			out[p.attr] = nil
		default:
			a, err := acl.ParseText(p.text, acl.Names{User: userID, Group: groupID})
			if err != nil {
				return nil, err
			}
			if err := a.WithMask().Valid(); err != nil {
				return nil, fmt.Errorf("ACL %q for %s: %w", p.text, s.Path, err)
			}
			out[p.attr] = a.Xattr()
		}
	}
	return out, nil
}

func userID(name string) (uint32, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(n), err
}

func groupID(name string) (uint32, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(g.Gid, 10, 32)
	return uint32(n), err
}

func (s ACL) act(_ context.Context, st *site, before []Item) error {
	f := machine.Ref{Path: before[0].Path, ID: before[0].Image.ID}
	lists, err := s.lists(*before[0].Image)
	if err != nil {
		return err
	}
	now, err := st.m.Look(f.Path, false)
	if err != nil {
		return err
	}
	for _, attr := range sortedKeys(lists) {
		v := lists[attr]
		switch {
		case v != nil && !slices.Equal(v, now.Xattrs[attr]):
			err = st.m.SetXattr(f, attr, v)
		case v == nil && now.Xattrs[attr] != nil:
			err = st.m.RemoveXattr(f, attr)
		}
		if err != nil {
			return err
		}
	}
	if mode := s.mode(lists, *before[0].Image); mode != now.Mode {
		if err := st.m.Chmod(f, mode); err != nil {
			return err
		}
	}
	return st.m.Sync(f)
}

// mode is the mode that goes with the access list. Removing a list leaves its
// mask as the group's bits, which would give the owning group more than its
// entry did; setfacl -b mends that too.
func (s ACL) mode(lists map[string][]byte, before Image) uint32 {
	v, named := lists[acl.XattrAccess]
	if !named {
		return before.Mode
	}
	if v == nil {
		v = before.Xattrs[acl.XattrAccess]
		a, err := acl.ParseXattr(v)
		g, ok := a.Find(acl.GroupObj, 0)
		if err != nil || !ok {
			return before.Mode
		}
		return before.Mode&^0o070 | uint32(g.Perm)<<3
	}
	a, err := acl.ParseXattr(v)
	if err != nil {
		return before.Mode
	}
	return before.Mode&^0o777 | uint32(a.Mode())
}

func (s ACL) done(_ context.Context, _ Machine, before, now []Item) (bool, error) {
	lists, err := s.lists(*before[0].Image)
	if err != nil {
		return false, err
	}
	n := now[0].Image
	for attr, v := range lists {
		if a, _ := acl.ParseXattr(v); v != nil && attr == acl.XattrAccess && a.Minimal() {
			v = nil // the kernel keeps such a list as the mode alone (posix_acl_equiv_mode)
		}
		if !slices.Equal(v, n.Xattrs[attr]) {
			return false, nil
		}
	}
	return n.Mode == s.mode(lists, *before[0].Image), nil
}

func (s ACL) between(before, now Item) bool {
	without := func(x map[string][]byte) map[string][]byte {
		x = lasting(x)
		delete(x, acl.XattrAccess)
		delete(x, acl.XattrDefault)
		return x
	}
	b, n := before.Image, now.Image
	return n.Type == b.Type && n.UID == b.UID && n.GID == b.GID && n.Mode&^0o777 == b.Mode&^0o777 &&
		maps.EqualFunc(without(b.Xattrs), without(n.Xattrs), slices.Equal)
}

// parseACL is the text form of an attribute that holds an ACL.
func parseACL(attr string, value []byte) (string, error) {
	if attr != acl.XattrAccess && attr != acl.XattrDefault {
		return "", fmt.Errorf("%s is no ACL", attr)
	}
	a, err := acl.ParseXattr(value)
	return a.String(), err
}
