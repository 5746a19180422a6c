// Package records keeps documents about one host without a database: a folder of packed
// files named by time, and no more of them than configured.
package records

import (
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
	"fettle/internal/sorted"
)

// Limit bounds one record, unpacked, in bytes.
const Limit = 64 << 20

// Folder is where records are kept. It need not be there.
type Folder string

// suffix is that of a file that holds a record: JSON, packed by zstd.
const suffix = ".json.zst"

// Layout is the name of a record: its time in UTC, to the millisecond.
const Layout = "20060102T150405.000Z"

// ErrNone: no record is meant by what was given.
var ErrNone = errors.New("no such record")

// Names lists the records, the newest first.
func (f Folder) Names() ([]string, error) {
	es, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range es {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if _, err := time.Parse(Layout, name); ok && err == nil && e.Type().IsRegular() {
			out = append(out, name)
		}
	}
	sorted.By(out, func(a, b string) int { return strings.Compare(b, a) })
	return out, nil
}

// Name is the record that a user means: by its number in Names, from 1 on, "last", or its
// name, of which the beginning is enough if no other begins so. Else the error is ErrNone.
func (f Folder) Name(given string) (string, error) {
	names, err := f.Names()
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
	return "", ErrNone
}

// File is where a record is, or will be.
func (f Folder) File(name string) string { return filepath.Join(string(f), name+suffix) }

// Read gives a record, unpacked, to parse.
func (f Folder) Read(name string, parse func(io.Reader) error) error {
	file, err := os.Open(f.File(name))
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(Limit))
	if err != nil {
		return fmt.Errorf("%s: %w", f.File(name), err)
	}
	defer z.Close()
	if err := parse(z); err != nil {
		return fmt.Errorf("%s: damaged (%w); delete it", f.File(name), err)
	}
	return nil
}

// Add stores a record, for its owner alone, then deletes the oldest beyond keep. It tells the name.
func (f Folder) Add(at time.Time, b []byte, keep int) (string, error) {
	dir, err := files.MakeFolder(string(f), 0o700)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return "", err
	}
	defer z.Close()
	name := at.UTC().Format(Layout)
	if err := files.WriteFile(f.File(name), z.EncodeAll(b, nil), 0o600); err != nil {
		return "", err
	}
	return name, f.prune(dir, keep)
}

func (f Folder) prune(dir *os.Root, keep int) error {
	names, err := f.Names()
	if err != nil {
		return err
	}
	for i := max(keep, 1); i < len(names); i++ {
		if err := dir.Remove(names[i] + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting an old one: %w", err)
		}
	}
	return nil
}
