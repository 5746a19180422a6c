package journalaccess

import (
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
)

// evidence shows what decides: the folders, a file of each sort, who is meant.
func (f *facts) evidence(s *store, shut []reader) []trap.Evidence {
	ev := []trap.Evidence{f.show(f.top)}
	for _, n := range f.above {
		for _, r := range shut {
			if !allows(n.State, r, 1) {
				ev = append(ev, f.show(n))
				break
			}
		}
	}
	if s != nil {
		ev = append(ev, f.show(s.Dir))
		for _, ns := range [][]node{s.Active, s.Old} {
			if n, more := example(ns, shut); n.Path != "" {
				e := f.show(n)
				if more > 0 {
					e.Value += fmt.Sprintf(" (and %d more like it)", more)
				}
				ev = append(ev, e)
			}
		}
	}
	if len(shut) > 0 {
		ev = append(ev, f.members()...)
	}
	return ev
}

// example picks the first file that is shut to one of the readers, or the
// first of all, and counts the others of the same fate.
func example(ns []node, shut []reader) (node, int) {
	var of []node
	for _, n := range ns {
		if slices.ContainsFunc(shut, func(r reader) bool { return n.Err == nil && !allows(n.State, r, 4) }) {
			of = append(of, n)
		}
	}
	if len(of) == 0 {
		of = ns
	}
	if len(of) == 0 {
		return node{}, 0
	}
	return of[0], len(of) - 1
}

// show is a node as ls and getfacl would tell it, in one line.
func (f *facts) show(n node) trap.Evidence {
	if n.Err != nil {
		return trap.Ev(n.Path, "%v", n.Err)
	}
	s := fmt.Sprintf("%04o %s:%s", n.Mode, f.db.UserName(n.UID), f.db.GroupName(n.GID))
	if n.Extra {
		s += ", ACL " + n.Access.Named(f.db.UserName, f.db.GroupName)
	} else {
		s += ", no ACL"
	}
	if n.Dir && len(n.Default) > 0 {
		s += "; default ACL " + n.Default.Named(f.db.UserName, f.db.GroupName)
	} else if n.Dir {
		s += ", no default ACL"
	}
	return trap.Evidence{Source: n.Path, Value: s}
}

// members tells who is in the groups that are to read, and which users of
// sudo and wheel are in none of them.
func (f *facts) members() []trap.Evidence {
	var ev []trap.Evidence
	reads := map[string]bool{}
	for _, r := range f.readers {
		users, missing := f.db.MembersOf(r.Name)
		var list []string
		for _, u := range users {
			reads[u.Name] = true
			list = append(list, u.Name)
		}
		list = append(list, missing...)
		if len(list) == 0 {
			list = []string{"no members"}
		}
		ev = append(ev, trap.Ev("group "+r.Name, "%s", strings.Join(list, ", ")))
	}
	for _, name := range []string{"sudo", "wheel"} {
		users, _ := f.db.MembersOf(name)
		var list []string
		for _, u := range users {
			if !reads[u.Name] && u.UID != 0 {
				list = append(list, u.Name)
			}
		}
		if len(list) > 0 {
			ev = append(ev, trap.Ev("group "+name, "%s: in no group that reads the journal", strings.Join(list, ", ")))
		}
	}
	if len(f.db.GroupsElsewhere) > 0 {
		ev = append(ev, trap.Ev("/etc/nsswitch.conf", "further members may be known to %s", strings.Join(f.db.GroupsElsewhere, ", ")))
	}
	return ev
}

// anyMember tells whether somebody but root is in one of the groups, or may be.
func (f *facts) anyMember(readers []reader) bool {
	if len(f.db.GroupsElsewhere) > 0 {
		return true
	}
	for _, r := range readers {
		users, missing := f.db.MembersOf(r.Name)
		if len(missing) > 0 {
			return true
		}
		for _, u := range users {
			if u.UID != 0 {
				return true
			}
		}
	}
	return false
}

func names(rs []reader) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Name)
	}
	slices.Sort(s)
	if len(s) > 1 {
		return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
	}
	return strings.Join(s, "")
}
