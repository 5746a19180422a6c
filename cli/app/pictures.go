package app

import (
	"io"
	"os"
	"path/filepath"

	"fettle/internal/files"
)

// Pictures are the files that flags name for drawings, by format.
type Pictures map[string]string

// Writable refuses, before anything is measured, files that cannot be made.
func (p Pictures) Writable() error {
	for format, name := range p {
		if name == "" || files.Special(name) {
			continue
		}
		f, err := os.CreateTemp(filepath.Dir(name), ".fettle-*")
		if err != nil {
			return Usagef("--%s %s: making a file there: %w", format, name, files.WithoutPath(err))
		}
		f.Close()
		os.Remove(f.Name())
	}
	return nil
}

// Write draws each of them, whole or not at all.
func (p Pictures) Write(draw func(w io.Writer, format string) error) error {
	for format, name := range p {
		if name == "" {
			continue
		}
		if err := files.Replace(name, func(w io.Writer) error { return draw(w, format) }); err != nil {
			return Failf("--%s %s: %w", format, name, files.WithoutPath(err))
		}
	}
	return nil
}
