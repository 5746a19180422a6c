package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/engine/rule"
	"fettle/internal/files"
)

// Store is where a host keeps packs: NAME.pack is in use, NAME.previous the one before
// it, and NAME.highest the highest version that ever was installed.
type Store struct {
	Dir  string // root's alone to write
	Keys string // the file of pinned keys
	Now  func() time.Time
}

// Host is this host's store.
func Host() Store {
	return Store{Dir: "/var/lib/fettle/packs", Keys: "/etc/fettle/pack-keys", Now: time.Now}
}

// Pinned are the keys that root pinned.
func (s Store) Pinned() ([]Key, error) {
	b, err := rule.ReadTrusted(s.Keys, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no key is pinned: as root, write NAME TYPE KEY of the signer to %s", s.Keys)
	}
	if err != nil {
		return nil, err
	}
	return ParseKeys(s.Keys, b)
}

func (s Store) file(name, kind string) string { return filepath.Join(s.Dir, name+"."+kind) }

// open reads a pack of the store. That it was verified when it was installed does not
// count: its key may have been unpinned since.
func (s Store) open(name, kind string) (*Pack, []byte, error) {
	b, err := rule.ReadTrusted(s.file(name, kind), Limit)
	if err != nil {
		return nil, nil, err
	}
	keys, err := s.Pinned()
	if err != nil {
		return nil, nil, fmt.Errorf("the pack %s: %w", name, err)
	}
	p, err := Open(b, keys)
	if err == nil && p.Name != name {
		err = fmt.Errorf("the pack %s under another name", p.Name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.file(name, kind), err)
	}
	return p, b, nil
}

// highest is the highest version that ever was installed; 0: none was.
func (s Store) highest(name string) (int, error) {
	b, err := rule.ReadTrusted(s.file(name, "highest"), 100)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("%s: not a version; write the version below which no pack is installed", s.file(name, "highest"))
	}
	return n, nil
}

// Verify tells whether a pack could be installed here.
func (s Store) Verify(b []byte) (*Pack, error) {
	keys, err := s.Pinned()
	if err != nil {
		return nil, err
	}
	p, err := Open(b, keys)
	if err != nil {
		return nil, err
	}
	if p.Expired(s.Now()) {
		return nil, fmt.Errorf("%s expired on %s: ask for a newer one", p.Title(), p.Expires)
	}
	_, err = p.Rules()
	return p, err
}

// Install puts a pack into use. Installing the very file that is in use changes nothing, so
// that configuration management can repeat it.
func (s Store) Install(b []byte) (*Pack, error) {
	p, err := s.Verify(b)
	if err != nil {
		return nil, err
	}
	switch have, err := s.Admit(p, b); {
	case err != nil:
		return nil, err
	case have == InUse: // a power cut may have come before its version was noted
		return p, s.note(p)
	case have == Kept:
		return nil, fmt.Errorf("%s is kept here for a rollback: fettle pack rollback %s puts it into use", p.Title(), p.Name)
	}
	if err := files.Make(s.Dir, 0o700); err != nil {
		return nil, err
	}
	old, err := rule.ReadTrusted(s.file(p.Name, "pack"), Limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := s.write(p.Name, "previous", old); err != nil {
			return nil, err
		}
	}
	if err := s.write(p.Name, "pack", b); err != nil {
		return nil, err
	}
	return p, s.note(p)
}

// note keeps the version as the highest that ever was installed, if it is.
func (s Store) note(p *Pack) error {
	if high, err := s.highest(p.Name); err != nil || high >= p.Version {
		return err
	}
	return s.write(p.Name, "highest", []byte(strconv.Itoa(p.Version)+"\n"))
}

// write replaces one file of the store. A link in its place is replaced, not followed.
func (s Store) write(name, kind string, b []byte) error {
	return files.WriteFile(s.file(name, kind), b, 0o444)
}

// Rollback puts the version before the one in use back into use, and keeps that one
// as the one before. No install brings it back, only another rollback.
func (s Store) Rollback(name string) (*Pack, error) {
	if !nameForm().MatchString(name) {
		return nil, fmt.Errorf("no pack %q", name)
	}
	_, now, err := s.open(name, "pack")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no pack %s is installed", name)
	}
	if err != nil {
		return nil, err
	}
	p, before, err := s.open(name, "previous")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("of %s no earlier version is kept", name)
	}
	if err != nil {
		return nil, err
	}
	if err := s.write(name, "pack", before); err != nil {
		return nil, err
	}
	return p, s.write(name, "previous", now)
}

// Remove takes a pack out of use. Which version was installed last is kept: an older one
// is refused later too.
func (s Store) Remove(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("no pack %q", name)
	}
	if err := os.Remove(s.file(name, "pack")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no pack %s is installed", name)
	} else if err != nil {
		return err
	}
	err := os.Remove(s.file(name, "previous"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Names are the packs in use.
func (s Store) Names() ([]string, error) {
	es, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range es {
		if name, ok := strings.CutSuffix(e.Name(), ".pack"); ok && nameForm().MatchString(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, err
}

// Installed reads a pack in use.
func (s Store) Installed(name string) (*Pack, error) {
	if !nameForm().MatchString(name) {
		return nil, fmt.Errorf("no pack %q", name)
	}
	p, _, err := s.open(name, "pack")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no pack %s is installed", name)
	}
	return p, err
}
