package app

import (
	"errors"
	"io"
	"syscall"
)

// stickyWriter remembers the first error of writing: a full disk under a plan
// or a list must not look like success.
type stickyWriter struct {
	io.Writer
	err error
}

func (w *stickyWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// stickyFile is one that may be a terminal, for package ui to see.
type stickyFile struct {
	*stickyWriter
	fd interface{ Fd() uintptr }
}

func (w stickyFile) Fd() uintptr { return w.fd.Fd() }

// Sticky returns a writer to w, and what went wrong with it. A reader that has
// read enough (fettle list | head) is nothing wrong.
func Sticky(w io.Writer) (io.Writer, func() error) {
	s := &stickyWriter{Writer: w}
	failed := func() error {
		if errors.Is(s.err, syscall.EPIPE) {
			return nil
		}
		return s.err
	}
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		return stickyFile{s, f}, failed
	}
	return s, failed
}
