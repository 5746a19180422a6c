package step

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"

	"fettle/engine/remedy/machine"
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
func replaceFile(s *Site, name string, now machine.Image, content []byte, meta func(made machine.Image) machine.Image) error {
	if now.Type == machine.Regular && (now.Links > 1 || now.Mount) {
		return overwrite(s, name, now, content, meta)
	}
	dir := path.Dir(name)
	tmp := path.Join(dir, s.Temp)
	if err := DropTemp(s.Machine, tmp); err != nil {
		return err
	}
	err := func() error {
		id, err := s.Machine.Create(tmp, content)
		if err != nil {
			return err
		}
		made := machine.Ref{Path: tmp, ID: id}
		if err := settle(s.Machine, made, meta); err != nil {
			return err
		}
		return s.Machine.Rename(made, name)
	}()
	if err == nil {
		return s.Machine.Sync(machine.At(dir))
	}
	if derr := DropTemp(s.Machine, tmp); derr != nil {
		err = fmt.Errorf("%w (and the temporary file remains: %v)", err, derr)
	}
	if now.Type == machine.Regular &&
		(errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EPERM) || s.InPlace && errors.Is(err, syscall.ENOSPC)) {
		return overwrite(s, name, now, content, meta)
	}
	return err
}

// overwrite writes in place: hard links and bind mounts keep showing the file.
func overwrite(s *Site, name string, now machine.Image, content []byte, meta func(machine.Image) machine.Image) error {
	ref := machine.Ref{Path: name, ID: now.ID}
	if err := s.Machine.Overwrite(ref, content); err != nil {
		return err
	}
	return settle(s.Machine, ref, meta)
}

// settle gives a file that was just written its attributes, and makes it
// durable: a write drops security.capability and set-id bits
// (file_remove_privs(), fs/inode.c), so they are looked at after it.
func settle(m machine.Machine, f machine.Ref, meta func(machine.Image) machine.Image) error {
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

// DropTemp removes a temporary file that a killed run left, if there is one.
func DropTemp(m machine.Machine, tmp string) error {
	img, err := m.Look(tmp, false)
	if err != nil || img.Type == machine.Absent {
		return err
	}
	return m.Unlink(machine.Ref{Path: tmp, ID: img.ID})
}

// setMeta changes what differs. Order matters: chown(2) clears set-id bits
// and capabilities; an access ACL sets the group bits, chmod sets its mask.
func setMeta(m machine.Machine, f machine.Ref, now, want machine.Image) error {
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

func putBackFile(s *Site, name string, was, now machine.Image, content []byte) error {
	switch {
	case now.Type == machine.Folder || now.Type == machine.Other:
		return fmt.Errorf("%s is no longer a file", name)
	case was.Type == machine.Absent:
		if err := s.Machine.Unlink(machine.Ref{Path: name, ID: now.ID}); err != nil {
			return err
		}
		return s.Machine.Sync(machine.At(path.Dir(name)))
	case machine.Sum(content) != was.Sum:
		return fmt.Errorf("the kept copy of %s is damaged (its SHA-256 is not the journaled one); not written", name)
	}
	asWas := func(machine.Image) machine.Image { return was }
	if now.Type == machine.Absent || now.Sum != was.Sum {
		return replaceFile(s, name, now, content, asWas)
	}
	return settle(s.Machine, machine.Ref{Path: name, ID: now.ID}, asWas)
}

func removeDir(m machine.Machine, name string) error {
	if err := m.Rmdir(name); err != nil {
		return err
	}
	return m.Sync(machine.At(path.Dir(name)))
}
