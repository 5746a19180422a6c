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

// Install puts a pack into use. One that is not newer than all that ever were
// installed is refused: it was rolled back, or somebody offers an old one.
func (s Store) Install(b []byte) (*Pack, error) {
	p, err := s.Verify(b)
	if err != nil {
		return nil, err
	}
	high, err := s.highest(p.Name)
	if err != nil {
		return nil, err
	}
	now, err := s.Installed(p.Name)
	if err == nil { // a power cut may have come before its version was noted
		high = max(high, now.Version)
	}
	if p.Version <= high {
		advice := "rollback goes back"
		if now == nil {
			advice = "to install it again, remove " + s.file(p.Name, "highest") + " first"
		}
		return nil, fmt.Errorf("%s is not newer than version %d, which was installed here; %s", p.Title(), high, advice)
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
	return p, s.write(p.Name, "highest", []byte(strconv.Itoa(p.Version)+"\n"))
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

// Rules are those of all packs in use, without the traps that are there already. What
// the cache has of a pack is not read again, as long as neither it nor the keys changed.
func (s Store) Rules(taken map[string]bool, remedies func(pack string) bool, c *rule.Cache) ([]*rule.Frozen, []rule.Refused) {
	names, err := s.Names()
	if err != nil {
		return nil, []rule.Refused{{Path: s.Dir, Err: err}}
	}
	var out []*rule.Frozen
	var refused []rule.Refused
	for _, name := range names {
		file := s.file(name, "pack")
		rules, err := s.rules(name, c)
		if err != nil {
			refused = append(refused, rule.Refused{Path: file, Err: err})
		}
		for _, r := range rules {
			if taken[r.ID] {
				refused = append(refused, rule.Refused{Path: file, Err: fmt.Errorf("%s: %s is there already", file, r.ID)})
				continue
			}
			taken[r.ID] = true
			if r.Remedy && !remedies(name) {
				off := *r // the cache keeps what the pack says
				off.Remedy, off.Off = false, name
				r = &off
			}
			out = append(out, r)
		}
	}
	return out, refused
}

// rules are those of one pack; an error beside them says that it is old.
func (s Store) rules(name string, c *rule.Cache) ([]*rule.Frozen, error) {
	file := s.file(name, "pack")
	stamp := ""
	if f, k := rule.Stamp(file), rule.Stamp(s.Keys); f != "" && k != "" {
		stamp = f + " " + k
	}
	rules, expires, ok := c.Find(file, stamp)
	if !ok {
		p, err := s.Installed(name)
		if err != nil {
			return nil, err
		}
		read, err := p.Rules()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, r := range read {
			rules = append(rules, r.Freeze())
		}
		expires = p.Expires
		c.Add(file, stamp, expires, rules)
	}
	if m := (Manifest{Expires: expires}); m.Expired(s.Now()) {
		return rules, fmt.Errorf("the pack %s expired on %s: is a newer one kept from this host?", name, expires)
	}
	return rules, nil
}
