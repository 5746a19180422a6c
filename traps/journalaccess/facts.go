package journalaccess

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/acl"
	"fettle/host/format/accounts"
	"fettle/host/format/osrelease"
	"fettle/host/format/tmpfiles"
	"fettle/internal/sorted"
)

const top = "/var/log/journal"

// node is one file or folder of the journal.
type node struct {
	Path string
	tmpfiles.State
	Link    bool // the path itself is a symlink
	Extra   bool // has an extended access list
	Changed time.Time
	Err     error
}

// store is the folder of one machine ID.
type store struct {
	ID     string
	Own    bool // of this machine
	Dir    node
	Active []node // system.journal, user-1000.journal: written now
	Old    []node // archived and damaged ones
	New    bool   // made a moment ago
}

// justMade is how long a container may take, from when its journald makes the folder to
// when its systemd-tmpfiles has given access to it.
const justMade = time.Minute

// facts is all that the judgement needs.
type facts struct {
	db      *accounts.DB
	tmp     *tmpfiles.Config
	above   []node // the folders on the way to it
	top     node
	own     string // this machine's ID; "" when it has none yet
	stores  []store
	readers []reader
	noACL   string // the file system keeps no ACLs: its description
}

// reader is a group whose members are to read the journal.
type reader struct {
	Name string
	GID  uint32
	By   string // "its files' group", "/usr/lib/tmpfiles.d/systemd.conf:36"
}

func gather(ctx context.Context, h *host.Host) (*facts, error) {
	f := &facts{tmp: tmpfiles.Read(ctx, h)}
	var err error
	if f.db, err = accounts.Read(ctx, h); err != nil {
		return nil, err
	}
	for _, p := range []string{"/var", "/var/log"} {
		f.above = append(f.above, look(ctx, h, p))
	}
	f.top = look(ctx, h, top)
	for _, n := range append(f.above, f.top) {
		if n.Err != nil {
			return nil, n.Err
		}
	}
	switch id, err := h.ReadString(ctx, "/etc/machine-id"); {
	case err == nil && tmpfiles.MachineID(id):
		f.own = id
	case err != nil && !host.IsAbsent(err):
		return nil, err
	}
	if err := f.findStores(ctx, h); err != nil {
		return nil, err
	}
	if err := f.findReaders(ctx, h); err != nil {
		return nil, err
	}
	f.noACL = withoutACL(ctx, h)
	return f, nil
}

// look reads owner, mode and ACLs of a path, following symlinks.
func look(ctx context.Context, h *host.Host, name string) node {
	n := node{Path: name}
	i, err := h.Stat(ctx, name)
	if err != nil {
		n.Err = err
		return n
	}
	n.Dir, n.UID, n.GID, n.Mode, n.Changed = i.Mode.IsDir(), i.UID, i.GID, chmodBits(i.Mode), i.ModTime
	n.Access = acl.FromMode(i.Mode)
	for _, x := range []struct {
		attr string
		to   *acl.ACL
	}{{acl.XattrAccess, &n.Access}, {acl.XattrDefault, &n.Default}} {
		if x.attr == acl.XattrDefault && !n.Dir {
			continue
		}
		b, err := h.Xattr(ctx, name, x.attr)
		if host.IsAbsent(err) {
			continue
		}
		var list acl.ACL
		if err == nil {
			if list, err = acl.ParseXattr(b); err != nil {
				err = fmt.Errorf("%s of %s: %w", x.attr, name, err)
			}
		}
		if err != nil {
			n.Err = err
			return n
		}
		if len(list) > 0 {
			*x.to = list
			n.Extra = n.Extra || x.attr == acl.XattrAccess
		}
	}
	if l, err := h.Lstat(ctx, name); err == nil {
		n.Link = l.Mode&fs.ModeSymlink != 0
	}
	return n
}

func chmodBits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for flag, bit := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

// findStores lists the folders of machine IDs, this machine's first.
func (f *facts) findStores(ctx context.Context, h *host.Host) error {
	es, err := h.ReadDir(ctx, top)
	if err != nil {
		return err
	}
	for _, e := range es {
		// "ID.NAMESPACE" is the journal of a log namespace (systemd 245); "remote" is none of journald's.
		id, _, _ := strings.Cut(e.Name, ".")
		if !tmpfiles.MachineID(id) {
			continue
		}
		s := store{ID: e.Name, Own: e.Name == f.own, Dir: look(ctx, h, path.Join(top, e.Name))}
		if s.Dir.Err == nil && !s.Dir.Dir {
			continue
		}
		s.list(ctx, h)
		s.New = len(s.Old) == 0 && s.Dir.Err == nil && h.Now().Sub(s.Dir.Changed) < justMade
		f.stores = append(f.stores, s)
	}
	sorted.By(f.stores, func(a, b store) int {
		if a.Own != b.Own && a.Own {
			return -1
		} else if a.Own != b.Own {
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return nil
}

func (s *store) list(ctx context.Context, h *host.Host) {
	if s.Dir.Err != nil {
		return
	}
	es, err := h.ReadDir(ctx, s.Dir.Path)
	if err != nil {
		s.Dir.Err = err
		return
	}
	for _, e := range es {
		name := path.Join(s.Dir.Path, e.Name)
		switch {
		case strings.HasSuffix(e.Name, ".journal") && !strings.Contains(e.Name, "@"):
			if n := look(ctx, h, name); !host.IsAbsent(n.Err) {
				s.Active = append(s.Active, n)
			}
		case strings.HasSuffix(e.Name, ".journal"), strings.HasSuffix(e.Name, ".journal~"):
			// They vanish when journald makes room: that is no fault.
			if n := look(ctx, h, name); !host.IsAbsent(n.Err) {
				s.Old = append(s.Old, n)
			}
		}
	}
}

// findReaders finds the groups that are to read: the one that journal files
// belong to, and those that the distribution's tmpfiles.d lines let in.
func (f *facts) findReaders(ctx context.Context, h *host.Host) error {
	missing := func(name string) error {
		return fmt.Errorf("group %s is not in /etc/group; %s may have it, but was not queried", name, strings.Join(f.db.GroupsElsewhere, ", "))
	}
	add := func(name, by string) error {
		if slices.ContainsFunc(f.readers, func(r reader) bool { return r.Name == name }) {
			return nil
		}
		g, ok := f.db.Group(name)
		switch {
		case ok:
			f.readers = append(f.readers, reader{g.Name, g.GID, by})
		case len(f.db.GroupsElsewhere) > 0:
			return missing(name)
		}
		return nil
	}
	if err := add("systemd-journal", "the group of journal files"); err != nil {
		return err
	}
	declared := false
	for _, l := range f.tmp.For(top) {
		for _, name := range groupsOf(l) {
			declared = true
			if err := add(name, fmt.Sprintf("%s:%d", l.File, l.Num)); err != nil {
				return err
			}
		}
	}
	if declared {
		return nil
	}
	// No line says so (masked, removed, or systemd before 229): what the
	// distribution's journald was built for.
	def := []string{"adm", "wheel"}
	if debian, err := isDebian(ctx, h); err != nil {
		return err
	} else if debian {
		def = []string{"adm"} // Debian builds systemd without the wheel group
	}
	for _, name := range def {
		if _, ok := f.db.Group(name); ok {
			if err := add(name, "systemd's own default"); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupsOf lists the groups that a line of type a gives read access by name.
func groupsOf(l tmpfiles.Line) []string {
	if l.Type != 'a' && l.Type != 'A' {
		return nil
	}
	var out []string
	for entry := range strings.SplitSeq(l.Argument, ",") {
		f := strings.Split(strings.TrimSpace(entry), ":")
		if len(f) == 3 && (f[0] == "group" || f[0] == "g") && f[1] != "" && strings.Contains(f[2], "r") {
			out = append(out, f[1])
		}
	}
	return out
}

func isDebian(ctx context.Context, h *host.Host) (bool, error) {
	release, err := osrelease.Read(ctx, h)
	return release.Is("debian"), err
}

// withoutACL describes the file system below the journal when its mount
// options say that it keeps no ACLs; "" when it does, or nobody knows.
func withoutACL(ctx context.Context, h *host.Host) string {
	fss, err := h.Filesystems(ctx)
	if err != nil {
		return ""
	}
	var best host.Filesystem
	for _, fs := range fss {
		if (fs.Mount == "/" || top == fs.Mount || strings.HasPrefix(top, fs.Mount+"/")) && len(fs.Mount) >= len(best.Mount) {
			best = fs
		}
	}
	if slices.Contains(strings.Split(best.Options, ","), "noacl") {
		return fmt.Sprintf("%s on %s, mounted noacl", best.Type, best.Mount)
	}
	return ""
}
