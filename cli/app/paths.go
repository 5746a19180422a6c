package app

import (
	"errors"
	"io/fs"

	"fettle/internal/ui"
)

// Unread is the usage error of a path that somebody gave and that cannot be read:
// what it is, and what was expected there.
func Unread(err error, expected string) error {
	var pe *fs.PathError
	switch {
	case !errors.As(err, &pe):
		return Usagef("%w", err)
	case errors.Is(err, fs.ErrNotExist):
		return Usagef("%s does not exist: expected %s", ui.Visible(pe.Path), expected)
	case errors.Is(err, fs.ErrPermission):
		return Usagef("%s may not be read by this user: expected %s", ui.Visible(pe.Path), expected)
	}
	return Usagef("reading %s: %w; expected %s", ui.Visible(pe.Path), pe.Err, expected)
}
