package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// pictures are the files that flags name for drawings, by format.
type pictures map[string]string

// writable refuses, before anything is measured, files that cannot be made.
func (p pictures) writable() error {
	for format, name := range p {
		if name == "" || special(name) {
			continue
		}
		f, err := os.CreateTemp(filepath.Dir(name), ".fettle-*")
		if err != nil {
			return usagef("--%s %s: making a file there: %w", format, name, bare(err))
		}
		f.Close()
		os.Remove(f.Name())
	}
	return nil
}

// write draws each of them, whole or not at all.
func (p pictures) write(draw func(w io.Writer, format string) error) error {
	for format, name := range p {
		if name == "" {
			continue
		}
		if err := writeWhole(name, func(w io.Writer) error { return draw(w, format) }); err != nil {
			return failf("--%s %s: %w", format, name, bare(err))
		}
	}
	return nil
}

// writeWhole replaces a regular file in one step. A device or pipe is written
// to, and never replaced: --svg /dev/null must leave that what it is.
func writeWhole(name string, write func(io.Writer) error) error {
	if special(name) {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = write(f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	}
	f, err := renameio.NewPendingFile(name, renameio.WithStaticPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// special tells whether something other than a regular file is there.
func special(name string) bool {
	st, err := os.Stat(name)
	return err == nil && !st.Mode().IsRegular()
}

// bare is err without the path it names, which is that of a passing file beside
// the one meant.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
