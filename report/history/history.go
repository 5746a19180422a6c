// Package history stores recorded runs of fettle check without a database: a
// folder with one file per run, and no more runs than configured.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"fettle/internal/files"
	"fettle/internal/jsondoc"
	"fettle/internal/records"
	"fettle/report"
)

// DefaultKeep is how many runs are kept by default: a quarter of a
// year of daily ones, some 10 kB each.
const DefaultKeep = 90

// Store is the recorded runs of one host.
type Store struct{ dir records.Folder }

// In is the store in a state folder (accept.StateDir), which need not be there.
func In(state string) Store { return Store{records.Folder(filepath.Join(state, "history"))} }

// Names lists the recorded runs, the newest first. A store that is not there
// has none.
func (s Store) Names() ([]string, error) {
	names, err := s.dir.Names()
	if err != nil {
		return nil, fmt.Errorf("listing recorded runs: %w", err)
	}
	return names, nil
}

// ErrNoRun: no recorded run is meant by what was given.
var ErrNoRun = errors.New("no such recorded run")

// Name is the run that a user means: by its number in Names, from 1 on, "last",
// or its name, of which the beginning is enough if no other begins so.
func (s Store) Name(given string) (string, error) {
	name, err := s.dir.Name(given)
	if errors.Is(err, records.ErrNone) {
		names, _ := s.dir.Names()
		return "", fmt.Errorf("%w: %q; fettle history lists %d", ErrNoRun, given, len(names))
	}
	return name, err
}

// Read reads a run by its name.
func (s Store) Read(name string) (d *report.Document, err error) {
	if err := s.dir.Read(name, func(r io.Reader) (err error) {
		d, err = Parse(r)
		return err
	}); err != nil {
		return nil, fmt.Errorf("reading a recorded run: %w", err)
	}
	return d, nil
}

// Parse reads a report as fettle check --format json writes it.
func Parse(r io.Reader) (*report.Document, error) {
	b, err := files.AtMost(r, "the report", records.Limit)
	if err != nil {
		return nil, err
	}
	d := &report.Document{}
	if err := json.Unmarshal(b, d); err != nil {
		return nil, err
	}
	switch {
	case d.Format != report.DocumentFormat:
		return nil, fmt.Errorf("its format is %q, not %q", d.Format, report.DocumentFormat)
	case d.Schema != jsondoc.Version:
		return nil, fmt.Errorf("its schema is %d; this fettle reads %d", d.Schema, jsondoc.Version)
	}
	return d, nil
}

// Add records a run, then deletes the oldest beyond keep.
func (s Store) Add(d *report.Document, keep int) error {
	b, err := json.Marshal(d)
	if err == nil {
		_, err = s.dir.Add(d.Meta.Started, b, keep)
	}
	if err != nil {
		return fmt.Errorf("recording the run: %w", err)
	}
	return nil
}
