package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"fettle/internal/files"
	"fettle/internal/jsondoc"
	"fettle/internal/records"
)

// Keep is how many snapshots are kept, of some 10 kB each.
const Keep = 10

// document is a snapshot as it is stored.
type document struct {
	jsondoc.Envelope
	State *State `json:"state"`
}

// Store is the snapshots of this host.
type Store struct{ dir records.Folder }

// In is the store in a state folder (accept.StateDir), which need not be there.
func In(state string) Store { return Store{records.Folder(filepath.Join(state, "snapshots"))} }

// Save stores a state, and deletes the oldest beyond Keep. It tells the snapshot's name.
func (s Store) Save(st *State) (string, error) {
	b, err := json.Marshal(document{jsondoc.New("snapshot"), st})
	if err != nil {
		return "", err
	}
	name, err := s.dir.Add(st.Time, b, Keep)
	if err != nil {
		return "", fmt.Errorf("saving the snapshot: %w", err)
	}
	return name, nil
}

// Names lists the snapshots, the newest first.
func (s Store) Names() ([]string, error) { return s.dir.Names() }

// ErrNone: no snapshot is meant by what was given.
var ErrNone = errors.New("no such snapshot")

// Load reads the snapshot that a user means: by its number in Names, "last", or its name.
func (s Store) Load(given string) (*State, error) {
	name, err := s.dir.Name(given)
	if errors.Is(err, records.ErrNone) {
		names, _ := s.dir.Names()
		return nil, fmt.Errorf("%w: %q; fettle snapshot --list names %d", ErrNone, given, len(names))
	}
	if err != nil {
		return nil, err
	}
	var st *State
	err = s.dir.Read(name, func(r io.Reader) (err error) {
		st, err = Parse(r)
		return err
	})
	return st, err
}

// Before is the newest snapshot of another start than this one, or else the newest.
func (s Store) Before(bootID string) (*State, error) {
	names, err := s.dir.Names()
	if err != nil {
		return nil, err
	}
	var newest *State
	for _, name := range names {
		st, err := s.Load(name)
		if err != nil {
			return nil, err
		}
		if newest == nil {
			newest = st
		}
		if st.BootID != bootID {
			return st, nil
		}
	}
	if newest == nil {
		return nil, fmt.Errorf("%w: none was saved before the restart; fettle before reboot and fettle snapshot do", ErrNone)
	}
	return newest, nil
}

// Parse reads a snapshot.
func Parse(r io.Reader) (*State, error) {
	b, err := files.AtMost(r, "the snapshot", records.Limit)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, err
	}
	switch want := jsondoc.New("snapshot"); {
	case d.Format != want.Format:
		return nil, fmt.Errorf("its format is %q, not %q", d.Format, want.Format)
	case d.Schema != want.Schema:
		return nil, fmt.Errorf("its schema is %d; this fettle reads %d", d.Schema, want.Schema)
	case d.State == nil:
		return nil, errors.New("it holds no state")
	}
	return d.State, nil
}
