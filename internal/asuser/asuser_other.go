//go:build !linux

// Package asuser works on files with a user's rights instead of root's.
package asuser

import "errors"

// ErrRefused says that the rights are not given.
var ErrRefused = errors.New("acting with a user's rights needs Linux")

// Do needs Linux.
func Do(uid, gid uint32, groups []uint32, f func() error) error {
	return ErrRefused
}
