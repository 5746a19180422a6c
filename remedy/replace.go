package remedy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"

	"fettle/remedy/machine"
)

// Files are replaced by our own sequence and not by google/renameio/v2: the
// temporary file's name has to be known to the journal, so that resume and
// undo remove what a kill left behind; each act has to pass through Machine,
// where tests kill; and owner, ACL and extended attributes are kept.

// replaceFile gives the file at a real path new content. now is how it
// stands; meta says from a file's attributes what they shall become, a ModNS
// of 0 leaving the time of the write. A file that cannot be replaced is written in
// place: one with other links, one that is a mount point (EBUSY), and one in a
// user's folder whose group that user may not give to a new file (EPERM).
func replaceFile(s *site, name string, now Image, content []byte, meta func(made Image) Image) error {
	if now.Type == Regular && (now.Links > 1 || now.Mount) {
		return overwrite(s, name, now, content, meta)
	}
	dir := path.Dir(name)
	tmp := path.Join(dir, s.temp)
	if err := dropTemp(s.m, tmp); err != nil {
		return err
	}
	err := func() error {
		id, err := s.m.Create(tmp, content)
		if err != nil {
			return err
		}
		made := machine.Ref{Path: tmp, ID: id}
		if err := settle(s.m, made, meta); err != nil {
			return err
		}
		return s.m.Rename(made, name)
	}()
	if err == nil {
		return s.m.Sync(machine.At(dir))
	}
	if derr := dropTemp(s.m, tmp); derr != nil {
		err = fmt.Errorf("%w (and the temporary file stays: %v)", err, derr)
	}
	if now.Type == Regular && (errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EPERM) || s.inPlace && errors.Is(err, syscall.ENOSPC)) {
		return overwrite(s, name, now, content, meta)
	}
	return err
}

// overwrite writes in place: hard links and bind mounts keep showing the file.
func overwrite(s *site, name string, now Image, content []byte, meta func(Image) Image) error {
	ref := machine.Ref{Path: name, ID: now.ID}
	if err := s.m.Overwrite(ref, content); err != nil {
		return err
	}
	return settle(s.m, ref, meta)
}

// settle gives a file that was just written its attributes, and makes it
// durable: a write drops security.capability and set-id bits
// (file_remove_privs(), fs/inode.c), so they are looked at after it.
func settle(m Machine, f machine.Ref, meta func(Image) Image) error {
	made, err := m.Look(f.Path, false)
	if err != nil {
		return err
	}
	want := meta(made)
	if err := setMeta(m, f, made, want); err != nil {
		return err
	}
	if want.ModNS != 0 && want.ModNS != made.ModNS {
		if err := m.SetModTime(f, want.ModNS); err != nil {
			return err
		}
	}
	return m.Sync(f)
}

func dropTemp(m Machine, tmp string) error {
	img, err := m.Look(tmp, false)
	if err != nil || img.Type == Absent {
		return err
	}
	return m.Unlink(machine.Ref{Path: tmp, ID: img.ID})
}

// setMeta changes what differs. Order matters: chown(2) clears set-id bits
// and capabilities; an access ACL sets the group bits, chmod sets its mask.
func setMeta(m Machine, f machine.Ref, now, want Image) error {
	if now.UID != want.UID || now.GID != want.GID {
		if err := m.Chown(f, want.UID, want.GID); err != nil {
			return err
		}
	}
	img, err := m.Look(f.Path, false)
	if err != nil {
		return err
	}
	for _, attr := range sortedKeys(img.Xattrs) {
		if _, keep := want.Xattrs[attr]; !keep && lasting(img.Xattrs)[attr] != nil {
			if err := m.RemoveXattr(f, attr); err != nil {
				return err
			}
		}
	}
	for _, attr := range sortedKeys(lasting(want.Xattrs)) {
		if v := want.Xattrs[attr]; img.Xattrs[attr] == nil || !slices.Equal(img.Xattrs[attr], v) {
			if err := m.SetXattr(f, attr, v); err != nil {
				return err
			}
		}
	}
	if img, err = m.Look(f.Path, false); err != nil {
		return err
	}
	if img.Mode != want.Mode {
		return m.Chmod(f, want.Mode)
	}
	return nil
}

func sortedKeys(x map[string][]byte) []string {
	keys := make([]string, 0, len(x))
	for k := range x {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func putBackFile(s *site, name string, was, now Image, content []byte) error {
	switch {
	case now.Type == Folder || now.Type == Other:
		return fmt.Errorf("%s is no longer a file", name)
	case was.Type == Absent:
		if err := s.m.Unlink(machine.Ref{Path: name, ID: now.ID}); err != nil {
			return err
		}
		return s.m.Sync(machine.At(path.Dir(name)))
	case machine.Sum(content) != was.Sum:
		return fmt.Errorf("the kept copy of %s is damaged (its SHA-256 is not the journaled one); not written", name)
	}
	asWas := func(Image) Image { return was }
	if now.Type == Absent || now.Sum != was.Sum {
		return replaceFile(s, name, now, content, asWas)
	}
	return settle(s.m, machine.Ref{Path: name, ID: now.ID}, asWas)
}

func removeDir(m Machine, name string) error {
	if err := m.Rmdir(name); err != nil {
		return err
	}
	return m.Sync(machine.At(path.Dir(name)))
}
