//go:build !linux

package totp

import "errors"

// Place is where a user's file is, and whose it is.
type Place struct {
	Path     string
	UID, GID uint32
}

// Exists is the error of Write where there is a file already.
type Exists struct{ Path string }

func (e *Exists) Error() string { return e.Path + " is there already" }

var errOnlyLinux = errors.New("fettle writes these files on Linux only")

func (Place) Read() ([]byte, error)    { return nil, errOnlyLinux }
func (Place) Write([]byte, bool) error { return errOnlyLinux }
func (Place) Disable() error           { return errOnlyLinux }
func (p Place) Disabled() string       { return p.Path + ".disabled" }
