//go:build !linux

package files

import (
	"io/fs"
	"os"
)

// Folder opens a folder to make files in. What is made there is named relative
// to what was opened, so that nobody leads it elsewhere afterwards.
func Folder(dir string) (*os.Root, error) { return os.OpenRoot(dir) }

// MakeFolder opens a folder as Folder does, and makes it and those above it where they
// are missing, with this mode.
func MakeFolder(dir string, mode fs.FileMode) (*os.Root, error) {
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, err
	}
	return Folder(dir)
}

const nonblock = 0
