//go:build !linux

package files

import (
	"os"
	"path/filepath"
)

func open(name string) (root *os.Root, base string, f *os.File, err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return nil, "", nil, err
	}
	if root, err = Folder(filepath.Dir(name)); err != nil {
		return nil, "", nil, err
	}
	base = filepath.Base(name)
	if f, err = root.Open(base); err != nil {
		root.Close()
	}
	return root, base, f, err
}

// Device opens what is written to as it is, and never replaced. A regular file, or
// none: nil.
func Device(name string) (*os.File, error) {
	if !Special(name) {
		return nil, nil
	}
	return os.OpenFile(name, os.O_WRONLY, 0)
}
