// Package history stores recorded runs of fettle check without a database: a
// folder with one file per run, and no more runs than configured.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"fettle/internal/files"
	"fettle/internal/jsondoc"
	"fettle/internal/sorted"
	"fettle/report"
)

// DefaultKeep is how many runs are kept unless told otherwise: a quarter of a
// year of daily ones, some 10 kB each.
const DefaultKeep = 90

// reportLimit bounds one run, unpacked, in bytes.
const reportLimit = 64 << 20

// Store is the recorded runs of one host.
type Store struct{ dir string }

// In is the store in a state folder (accept.StateDir), which need not be there.
func In(state string) Store { return Store{filepath.Join(state, "history")} }

// suffix is that of a file that holds a run: the JSON report, packed by zstd.
const suffix = ".json.zst"

// layout is the name of a run: when it began, in UTC, to the millisecond.
const layout = "20060102T150405.000Z"

// Names lists the recorded runs, the newest first. A store that is not there
// has none.
func (s Store) Names() ([]string, error) {
	es, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing recorded runs: %w", err)
	}
	var out []string
	for _, e := range es {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if _, err := time.Parse(layout, name); ok && err == nil && e.Type().IsRegular() {
			out = append(out, name)
		}
	}
	sorted.By(out, func(a, b string) int { return strings.Compare(b, a) })
	return out, nil
}

// ErrNoRun: no recorded run is meant by what was given.
var ErrNoRun = errors.New("no such recorded run")

// Name is the run that a user means: by its number in Names, from 1 on, "last",
// or its name, of which the beginning is enough if no other begins so.
func (s Store) Name(given string) (string, error) {
	names, err := s.Names()
	if err != nil {
		return "", err
	}
	number := given
	if given == "last" {
		number = "1"
	}
	if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= len(names) {
		return names[n-1], nil
	}
	var fit []string
	for _, n := range names {
		if len(given) >= len("20060102") && strings.HasPrefix(n, given) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 1 {
		return fit[0], nil
	}
	return "", fmt.Errorf("%w: %q; fettle history lists %d", ErrNoRun, given, len(names))
}

// Read reads a run by its name.
func (s Store) Read(name string) (*report.Document, error) {
	file := filepath.Join(s.dir, name+suffix)
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading a recorded run: %w", err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(reportLimit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer z.Close()
	d, err := Parse(z)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged (%w); delete it", file, err)
	}
	return d, nil
}

// Parse reads a report as fettle check --format json writes it.
func Parse(r io.Reader) (*report.Document, error) {
	b, err := io.ReadAll(io.LimitReader(r, reportLimit+1))
	if err != nil {
		return nil, err
	}
	if len(b) > reportLimit {
		return nil, fmt.Errorf("larger than %d MiB", reportLimit>>20)
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
	dir, err := files.MakeFolder(s.dir, 0o700)
	if err != nil {
		return fmt.Errorf("recording the run: %w", err)
	}
	defer dir.Close()
	b, err := packed(d)
	if err != nil {
		return fmt.Errorf("recording the run: %w", err)
	}
	file := filepath.Join(s.dir, d.Meta.Started.UTC().Format(layout)+suffix)
	if err := files.WriteFile(file, b, 0o600); err != nil {
		return fmt.Errorf("recording the run: %w", err)
	}
	return s.prune(dir, keep)
}

func packed(d *report.Document) ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.EncodeAll(b, nil), nil
}

func (s Store) prune(dir *os.Root, keep int) error {
	names, err := s.Names()
	if err != nil {
		return err
	}
	for i := max(keep, 1); i < len(names); i++ {
		if err := dir.Remove(names[i] + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting an old recorded run: %w", err)
		}
	}
	return nil
}
