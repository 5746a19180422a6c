// Package files reads and writes files that users name.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace replaces a regular file in one step. A device or pipe is written
// to, and never replaced: --svg /dev/null must leave that what it is.
func Replace(name string, write func(io.Writer) error) error {
	f, err := Device(name)
	if err != nil {
		return err
	}
	if f != nil {
		return errors.Join(write(f), f.Close())
	}
	return replace(name, 0o644, write)
}

// ErrSpecial: a device, socket or pipe stands where a file is expected.
var ErrSpecial = errors.New("not a regular file")

// Special tells whether something other than a regular file is there.
func Special(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.Mode().IsRegular()
}

// Makeable tries whether a file can be made in a folder, and leaves none: what
// takes long asks before it begins.
func Makeable(dir string) error {
	f, err := Create(filepath.Join(dir, "x"), 0o600)
	if err != nil {
		return fmt.Errorf("making a file there: %w", WithoutPath(err))
	}
	f.Cleanup()
	return nil
}

// WithoutPath is err without the path it names, which is that of a passing file beside
// the one meant.
func WithoutPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Make makes a folder, and those above it, where they are missing, as MakeFolder does.
func Make(dir string, mode fs.FileMode) error {
	root, err := MakeFolder(dir, mode)
	if err != nil {
		return err
	}
	return root.Close()
}
