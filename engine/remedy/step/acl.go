package step

import (
	"context"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/host/acl"
	"fettle/internal/shell"
)

// ACL replaces the POSIX ACLs of a file or folder, in the text form of
// acl(5) ("user::rwx,group::r-x,group:adm:r-x,mask::r-x,other::r-x"), with
// numeric ids or names. Empty leaves that ACL as it is; "none" removes it.
type ACL struct {
	Path    string `json:"path"`
	Access  string `json:"access,omitempty"`
	Default string `json:"default,omitempty"`
}

func (ACL) Kind() string { return "acl" }

func (s ACL) Describe() string {
	var parts []string
	for _, p := range [...]struct{ name, text string }{{"ACL", s.Access}, {"default ACL", s.Default}} {
		switch p.text {
		case "":
		case "none":
			parts = append(parts, "remove the "+p.name)
		default:
			parts = append(parts, "set the "+p.name+" "+p.text)
		}
	}
	if len(parts) == 0 {
		return "leave the ACLs of " + s.Path + " as they are"
	}
	return strings.Join(parts, " and ") + " of " + s.Path
}

func (s ACL) Reversal() Reversal { return Reversal{Class: Restorable} }

func (s ACL) Target() string { return s.Path }

func (ACL) Running() bool { return false }

func (s ACL) Commands() (out [][]string) {
	for _, p := range [...]struct{ remove, text string }{{"-b", s.Access}, {"-k", s.Default}} {
		var argv []string
		switch {
		case p.text == "":
			continue
		case p.text == "none" && p.remove == "-b":
			// -b would drop the default ACL too; without named entries and mask only the mode is left.
			argv = []string{"setfattr", "-x", "system.posix_acl_access"}
		case p.text == "none":
			argv = []string{"setfacl", "-k"}
		case p.remove == "-k":
			argv = []string{"setfacl", "-d", "--set", p.text}
		default:
			argv = []string{"setfacl", "--set", p.text}
		}
		out = append(out, append(argv, "--", s.Path))
	}
	return out
}

func (s ACL) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	its, err := metaItem(m, s.Path)
	if err != nil {
		return nil, err
	}
	if _, err := s.lists(*its[0].Image); err != nil {
		return nil, err
	}
	if s.Default != "" && its[0].Image.Type != machine.Folder {
		return nil, &machine.Changed{Path: s.Path, Why: "is not a folder, and has no default ACL"}
	}
	return its, nil
}

func (s ACL) Apply(_ context.Context, st *Site, before []Item) error {
	f := machine.Ref{Path: before[0].Path, ID: before[0].Image.ID}
	lists, err := s.lists(*before[0].Image)
	if err != nil {
		return err
	}
	now, err := st.Machine.Look(f.Path, false)
	if err != nil {
		return err
	}
	for _, attr := range sortedKeys(lists) {
		v := lists[attr]
		switch {
		case v != nil && !slices.Equal(v, now.Xattrs[attr]):
			err = st.Machine.SetXattr(f, attr, v)
		case v == nil && now.Xattrs[attr] != nil:
			err = st.Machine.RemoveXattr(f, attr)
		}
		if err != nil {
			return err
		}
	}
	if mode := s.mode(lists, *before[0].Image); mode != now.Mode {
		if err := st.Machine.Chmod(f, mode); err != nil {
			return err
		}
	}
	return st.Machine.Sync(f)
}

func (s ACL) Done(_ context.Context, _ machine.Machine, before, now []Item) (bool, error) {
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

func (s ACL) Between(before, now Item) bool {
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

// lists is the text made into attribute values: nil removes, absent keeps.
func (s ACL) lists(img machine.Image) (map[string][]byte, error) {
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

// mode is the mode that goes with the access list. Removing a list leaves its
// mask as the group's bits, which would give the owning group more than its
// entry did; setfacl -b fixes that too.
func (s ACL) mode(lists map[string][]byte, before machine.Image) uint32 {
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

// parseACL is the text form of an attribute that holds an ACL.
func parseACL(attr string, value []byte) (string, error) {
	if attr != acl.XattrAccess && attr != acl.XattrDefault {
		return "", fmt.Errorf("%s is no ACL", attr)
	}
	a, err := acl.ParseXattr(value)
	return a.String(), err
}

func (ACL) Keeps() (first, rest string) { return MetaItem, MetaItem }

func (s ACL) Shell(name string) (string, error) {
	q := shell.Quote(s.Path)
	out := fmt.Sprintf("getfacl -p -- %s > \"$backup/%s.acl\"\nundo setfacl --restore=./%s.acl\n", q, name, name)
	if s.Access == "none" {
		// setfacl -b would drop the default list too.
		out += fmt.Sprintf(
			"mode=$(getfacl -cp -- %s | sed -n 's/^group::\\([rwx-]*\\).*/\\1/p' | tr -d -)\nsetfattr -x system.posix_acl_access -- %s || "+
				":\nchmod \"g=$mode\" -- %s\n",
			q,
			q,
			q,
		)
		s.Access = ""
	}
	return out + ShellCommands(s), nil
}

func (s ACL) Ansible(b *Tasks) error { return b.Commands(s) }

// Effect is the lists that it sets.
func (s ACL) Effect(*machine.Image) string {
	var parts []string
	for _, p := range [...]struct{ name, text string }{{"ACL", s.Access}, {"default ACL", s.Default}} {
		if p.text != "" {
			parts = append(parts, p.name+" "+p.text)
		}
	}
	return strings.Join(parts, ", ")
}
