package journalaccess

import (
	"io/fs"
	"slices"

	"fettle/host/acl"
	"fettle/host/format/tmpfiles"
)

// layout is the journal of one machine ID as far as reading it goes: as it
// is now, or as the next boot will leave it.
type layout struct {
	above       []tmpfiles.State
	top         tmpfiles.State
	dir         *tmpfiles.State // nil: not made yet
	active, old []tmpfiles.State
}

// verdict is what members of one group can read.
type verdict struct {
	way    bool // get as far as the folder of the journal
	active bool // the files that are written now
	future bool // files that journald makes from now on
	old    bool // archived files
}

// now is the layout of s as it was found. A nil s stands for a store that
// journald has still to make.
func (f *facts) now(s *store) layout {
	return f.lay(s, func(n node) tmpfiles.State { return n.State })
}

// afterBoot is the layout once systemd-tmpfiles-setup.service has run. It
// runs after journald has moved its journal to /var
// (systemd-journal-flush.service is ordered before it), so it finds the files.
func (f *facts) afterBoot(s *store) layout { return f.lay(s, f.settled) }

// lay builds a layout of what as makes of each node; what could not be looked
// at is left out, and reported apart (store.unseen).
func (f *facts) lay(s *store, as func(node) tmpfiles.State) layout {
	l := layout{top: as(f.top)}
	for _, n := range f.above {
		l.above = append(l.above, n.State)
	}
	if s == nil {
		return l
	}
	dir := as(s.Dir)
	l.dir = &dir
	for _, n := range s.Active {
		if n.Err == nil {
			l.active = append(l.active, as(n))
		}
	}
	for _, n := range s.Old {
		if n.Err == nil {
			l.old = append(l.old, as(n))
		}
	}
	return l
}

func (f *facts) settled(n node) tmpfiles.State {
	if n.Link {
		return n.State // systemd-tmpfiles leaves a symlink's target alone
	}
	s, _ := tmpfiles.Settle(f.tmp.For(n.Path), n.State, f.db.Names(), true)
	return s
}

// judge tells what a process with the group r, and no other right, can read.
func (l layout) judge(r reader) verdict {
	v := verdict{way: true, active: true, old: true}
	for _, s := range l.above {
		v.way = v.way && allows(s, r, acl.Exec)
	}
	// journalctl lists the folders and opens the files in them.
	v.way = v.way && allows(l.top, r, acl.Read|acl.Exec)
	dir := l.dir
	if dir == nil {
		made := create(l.top, 0o755, true)
		dir = &made
	}
	enter := allows(*dir, r, acl.Read|acl.Exec)
	for _, s := range l.active {
		v.active = v.active && enter && allows(s, r, acl.Read)
	}
	for _, s := range l.old {
		v.old = v.old && enter && allows(s, r, acl.Read)
	}
	v.future = enter && allows(create(*dir, 0o640, false), r, acl.Read)
	return v
}

// allows asks for a member of the group who is nobody else: not the owner,
// and in no other group.
func allows(s tmpfiles.State, r reader, want acl.Perm) bool {
	const stranger = 1<<32 - 2
	return s.Access.Allows(stranger, []uint32{r.GID}, s.UID, s.GID, want)
}

// create is what journald, root with umask 0022, makes in a folder
// (src/libsystemd/sd-journal/journal-file.c opens with 0640,
// src/journal/journald-server.c makes folders with 0755).
func create(parent tmpfiles.State, mode uint32, dir bool) tmpfiles.State {
	s := tmpfiles.State{Dir: dir, Mode: mode &^ 0o022}
	if parent.Mode&0o2000 != 0 {
		s.GID = parent.GID
	}
	s.Access = acl.FromMode(perm(s.Mode))
	if len(parent.Default) > 0 {
		s.Access = parent.Default.Inherit(perm(mode)) // the umask does not count then
		s.Mode = uint32(s.Access.Mode())
		if dir {
			s.Default = parent.Default
		}
	}
	if dir && parent.Mode&0o2000 != 0 {
		s.Mode |= 0o2000
	}
	return s
}

// kind is what is wrong for a group, the worst first.
type kind int

const (
	fine kind = iota
	oldOnly
	atBoot
	toCome
	present
)

func (v verdict) kind(boot verdict) kind {
	switch {
	case !v.way || !v.active:
		return present
	case !v.future:
		return toCome
	case !boot.way || !boot.active || !boot.future:
		return atBoot
	case !v.old:
		return oldOnly
	}
	return fine
}

// worst groups the readers by what is wrong for them, and returns the worst
// kind with the readers it holds for.
func worst(readers []reader, now, boot layout) (kind, []reader) {
	k, out := fine, []reader(nil)
	for _, r := range readers {
		this := now.judge(r).kind(boot.judge(r))
		if this > k {
			k, out = this, nil
		}
		if this == k && k != fine {
			out = append(out, r)
		}
	}
	return k, out
}

// mendedByBoot tells whether after the next boot everybody of readers reads
// what is written now and later.
func mendedByBoot(readers []reader, boot layout) bool {
	return !slices.ContainsFunc(readers, func(r reader) bool {
		v := boot.judge(r)
		return !v.way || !v.active || !v.future
	})
}

// ownStore is the store of this machine's ID, or nil.
func (f *facts) ownStore() *store {
	for i := range f.stores {
		if f.stores[i].Own {
			return &f.stores[i]
		}
	}
	return nil
}

func perm(bits uint32) fs.FileMode { return fs.FileMode(bits & 0o777) }
