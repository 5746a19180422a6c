//go:build !linux

// Package asuser does something to files with a user's rights instead of
// root's.
package asuser

import "errors"

// Do needs Linux.
func Do(uid, gid uint32, groups []uint32, f func() error) error {
	return errors.New("acting with a user's rights needs Linux")
}
