package tmpfiles

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"fettle/host/acl"
)

// State is what systemd-tmpfiles may change of a file or folder that exists.
type State struct {
	Dir      bool
	Mode     uint32 // permission bits with setuid, setgid and sticky, as in chmod(2)
	UID, GID uint32
	Access   acl.ACL // complete; without an extended list the one that the mode means
	Default  acl.ACL // of folders; empty: none
}

// Settle tells what `systemd-tmpfiles --create` makes of a file or folder
// that is there, when these lines act on it (Config.For). Lines of types that
// change other things, or that act at boot only when boot is not set, change
// nothing. systemd-tmpfiles refuses to act below a folder that somebody other
// than root or the file's owner owns; that is not modelled. Errors are lines that would fail, such as ones that name a group
// that does not exist; the others act nevertheless.
func Settle(lines []Line, s State, names acl.Names, boot bool) (State, []error) {
	var errs []error
	for _, l := range lines {
		if !l.Supported || l.Boot && !boot {
			continue
		}
		var err error
		switch l.Type {
		case 'a', 'A':
			s, err = s.withACL(l, names)
		case 'f':
			if !s.Dir {
				s, err = s.withPerm(l, names)
			}
		case 'd', 'D', 'e', 'v', 'q', 'Q':
			if s.Dir {
				s, err = s.withPerm(l, names)
			}
		default: // z, Z
			s, err = s.withPerm(l, names)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", l.File, l.Num, err))
		}
	}
	return s, errs
}

func (s State) withPerm(l Line, names acl.Names) (State, error) {
	uid, err := ownerID(l.User, names.User, s.UID)
	if err != nil {
		return s, fmt.Errorf("user: %w", err)
	}
	gid, err := ownerID(l.Group, names.Group, s.GID)
	if err != nil {
		return s, fmt.Errorf("group: %w", err)
	}
	s.UID, s.GID = uid, gid
	if l.Mode.Set && !l.Mode.New {
		bits := l.Mode.Bits
		if l.Mode.Masked {
			bits = s.masked(bits)
		}
		s.chmod(bits)
	}
	return s, nil
}

// masked takes from bits what "~" does: kinds of access that nobody has now,
// and of files setuid, setgid and sticky.
func (s State) masked(bits uint32) uint32 {
	if !s.Dir {
		bits &^= 0o7000
	}
	if s.Mode&0o111 == 0 {
		bits &^= 0o111
	}
	if s.Mode&0o222 == 0 {
		bits &^= 0o222
	}
	if s.Mode&0o444 == 0 {
		bits &^= 0o444
	}
	return bits
}

// chmod changes the mode as chmod(2) does: of an access list with a mask, the
// group's bits are the mask (acl(5), "correspondence").
func (s *State) chmod(bits uint32) {
	s.Mode = bits
	group := acl.GroupObj
	if _, ok := s.Access.Find(acl.Mask, 0); ok {
		group = acl.Mask
	}
	list := append(acl.ACL(nil), s.Access...)
	for i, e := range list {
		switch e.Tag {
		case acl.UserObj:
			list[i].Perm = acl.Perm(bits >> 6 & 7)
		case group:
			list[i].Perm = acl.Perm(bits >> 3 & 7)
		case acl.Other:
			list[i].Perm = acl.Perm(bits & 7)
		}
	}
	s.Access = list
}

// withACL sets or amends the lists: src/tmpfiles/tmpfiles.c, path_set_acl.
func (s State) withACL(l Line, names acl.Names) (State, error) {
	access, dflt, err := acl.ParseBoth(s.conditional(l.Argument), names)
	if err != nil {
		return s, err
	}
	if len(access) > 0 {
		s.Access = s.amend(s.Access, access, l.Append)
		s.Mode = s.Mode&0o7000 | uint32(s.Access.Mode())
	}
	if len(dflt) > 0 && s.Dir {
		s.Default = s.amend(s.Default, dflt, l.Append)
	}
	return s, nil
}

// amend puts entries into a list (or in the place of one). A mask that is
// there stays; one that is needed is computed; entries of owner, group and
// others that are missing are taken from the mode.
func (s State) amend(list, entries acl.ACL, add bool) acl.ACL {
	out := entries
	if add {
		out = append(acl.ACL(nil), list...)
		for _, e := range entries {
			out = put(out, e)
		}
	}
	if _, ok := out.Find(acl.Mask, 0); !ok {
		out = out.WithMask()
	}
	for _, e := range acl.FromMode(fs.FileMode(s.Mode & 0o777)) {
		if _, ok := out.Find(e.Tag, 0); !ok {
			out = append(out, e)
		}
	}
	return out.Sorted()
}

func put(list acl.ACL, e acl.Entry) acl.ACL {
	for i, o := range list {
		if o.Tag == e.Tag && o.ID == e.ID {
			list[i] = e
			return list
		}
	}
	return append(list, e)
}

// conditional resolves the permission X (systemd 254): x for folders and for
// files that somebody may execute.
func (s State) conditional(arg string) string {
	if !strings.Contains(arg, "X") {
		return arg
	}
	parts := strings.Split(arg, ",")
	for i, p := range parts {
		head, perm, ok := cutLast(p, ":")
		if !ok {
			continue
		}
		to := ""
		if s.Dir || s.Mode&0o111 != 0 {
			to = "x"
		}
		if perm = strings.ReplaceAll(perm, "X", to); perm == "" {
			perm = "-"
		}
		parts[i] = head + ":" + perm
	}
	return strings.Join(parts, ",")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func ownerID(o Owner, lookup func(string) (uint32, error), now uint32) (uint32, error) {
	if o.Name == "" || o.New {
		return now, nil
	}
	if n, err := strconv.ParseUint(o.Name, 10, 32); err == nil {
		return uint32(n), nil
	}
	if lookup == nil {
		return 0, fmt.Errorf("%q is not a number", o.Name)
	}
	id, err := lookup(o.Name)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", o.Name, err)
	}
	return id, nil
}
