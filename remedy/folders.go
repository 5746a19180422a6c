package remedy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// rootsPath resolves a folder's path, and refuses one below a folder in which
// others can rename: they would put a folder of theirs in the place of root's.
// Journals say what to write where.
func rootsPath(dir string) (real string, err error) {
	if real, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for at := real; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return "", &fs.PathError{Op: "lstat", Path: at, Err: err}
		}
		if st.Uid != 0 || st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
			return "", fmt.Errorf("it lies below %s, where others than root may rename", at)
		}
		if at == "/" {
			return real, nil
		}
	}
}

// ownFolder makes a folder of root's, or looks that it is one and that its
// mode has none of these bits.
func ownFolder(dir string, not uint32, means string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		// fsync(2) of what is in it does not promise its own name.
		err = syncDir(filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the folder of changes: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != 0 || uint32(st.Mode)&not != 0 {
		return fmt.Errorf("%s must be a folder that belongs to root and that %s", dir, means)
	}
	return nil
}
