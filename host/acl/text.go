package acl

import (
	"fmt"
	"strconv"
	"strings"
)

// Names turns the names of users and groups into their numbers. A nil
// function knows none.
type Names struct {
	User, Group func(name string) (uint32, error)
}

// ParseText reads a list in the long or short text form of acl(5): entries
// "tag:qualifier:permissions" separated by commas or newlines, "#" begins a
// comment. Tags may be shortened to their first letter; qualifiers are names
// or numbers; permissions are letters of "rwx-" or one octal digit. The list
// may be partial: call Valid where a complete one is needed.
func ParseText(text string, names Names) (ACL, error) {
	var a ACL
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			e, err := parseEntry(part, names)
			if err != nil {
				return nil, fmt.Errorf("ACL entry %q: %w", part, err)
			}
			a = append(a, e)
		}
	}
	return a, nil
}

// ParseBoth reads text in which entries of the default list begin with "d:"
// or "default:", as setfacl(1) and tmpfiles.d(5) take it.
func ParseBoth(text string, names Names) (access, dflt ACL, err error) {
	var texts [2][]string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimSpace(part)
			tag, rest, _ := strings.Cut(part, ":")
			if tag = strings.TrimSpace(tag); tag == "d" || tag == "default" {
				texts[1] = append(texts[1], rest)
			} else {
				texts[0] = append(texts[0], part)
			}
		}
	}
	if access, err = ParseText(strings.Join(texts[0], ","), names); err != nil {
		return nil, nil, err
	}
	dflt, err = ParseText(strings.Join(texts[1], ","), names)
	return access, dflt, err
}

func parseEntry(s string, names Names) (Entry, error) {
	f := strings.Split(s, ":")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	if len(f) == 2 && (strings.HasPrefix(f[0], "m") || strings.HasPrefix(f[0], "o")) {
		f = []string{f[0], "", f[1]} // "mask:r-x", as acl_from_text(3) takes it
	}
	if len(f) != 3 {
		return Entry{}, fmt.Errorf("is not of the form tag:qualifier:permissions")
	}
	var e Entry
	var lookup func(string) (uint32, error)
	switch f[0] {
	case "u", "user":
		e.Tag, lookup = UserObj, names.User
	case "g", "group":
		e.Tag, lookup = GroupObj, names.Group
	case "m", "mask":
		e.Tag = Mask
	case "o", "other":
		e.Tag = Other
	default:
		return e, fmt.Errorf("unknown tag %q; tags are user, group, mask and other", f[0])
	}
	if f[1] != "" {
		if e.Tag == Mask || e.Tag == Other {
			return e, fmt.Errorf("a %s entry takes no qualifier", e.Tag)
		}
		id, err := resolve(f[1], e.Tag, lookup)
		if err != nil {
			return e, err
		}
		e.Tag, e.ID = e.Tag<<1, id // UserObj to User, GroupObj to Group
	}
	var err error
	e.Perm, err = parsePerm(f[2])
	return e, err
}

func resolve(name string, tag Tag, lookup func(string) (uint32, error)) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		if n == noID {
			return 0, fmt.Errorf("%s ID %s means no user or group", tag, name)
		}
		return uint32(n), nil
	}
	if lookup == nil {
		return 0, fmt.Errorf("%s %q is not a number", tag, name)
	}
	id, err := lookup(name)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", tag, name, err)
	}
	return id, nil
}

func parsePerm(s string) (Perm, error) {
	if len(s) == 1 && s[0] >= '0' && s[0] <= '7' {
		return Perm(s[0] - '0'), nil
	}
	var p Perm
	for _, c := range s {
		var bit Perm
		switch c {
		case 'r':
			bit = Read
		case 'w':
			bit = Write
		case 'x':
			bit = Exec
		case '-':
			continue
		}
		if bit == 0 || p&bit != 0 {
			return 0, fmt.Errorf("permissions %q are not of the form rwx", s)
		}
		p |= bit
	}
	if s == "" {
		return 0, fmt.Errorf("permissions are missing")
	}
	return p, nil
}

// String is the short text form with full tags and numeric IDs, sorted:
// "user::rwx,group::r-x,group:4:r-x,mask::r-x,other::r-x".
func (a ACL) String() string { return a.Named(nil, nil) }

// Named is String with names for IDs; a function that is nil or returns ""
// leaves the number.
func (a ACL) Named(user, group func(id uint32) string) string {
	var b strings.Builder
	for i, e := range a.Sorted() {
		if i > 0 {
			b.WriteByte(',')
		}
		name := ""
		switch {
		case e.Tag == User && user != nil:
			name = user(e.ID)
		case e.Tag == Group && group != nil:
			name = group(e.ID)
		}
		if name == "" && e.Tag.named() {
			name = strconv.FormatUint(uint64(e.ID), 10)
		}
		fmt.Fprintf(&b, "%s:%s:%s", e.Tag, name, e.Perm)
	}
	return b.String()
}

// who is the entry without its permissions.
func (e Entry) who() string {
	if e.Tag.named() {
		return fmt.Sprintf("%s:%d", e.Tag, e.ID)
	}
	return e.Tag.String() + "::"
}
