package netboot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func resolved(name string) (string, error) { return filepath.EvalSymlinks(name) }

// keepOwner gives a new file the owner of the old one; whoever may not do that
// owns the new one.
func keepOwner(f *os.File, was fs.FileInfo) error {
	s, ok := was.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	err := f.Chown(int(s.Uid), int(s.Gid))
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
