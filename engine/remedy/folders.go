package remedy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle/internal/shell"
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
			return "", fmt.Errorf("it lies below %s, where users other than root can rename", at)
		}
		if at == "/" {
			return real, nil
		}
	}
}

// openRoots opens a folder whose path only root can lead elsewhere.
func openRoots(dir string) (*os.Root, error) {
	real, err := rootsPath(dir)
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(real)
}

// makeRoots opens a folder, and makes it and those above it where they are not
// there.
func makeRoots(dir string) (*os.Root, error) {
	d, err := openRoots(dir)
	if !errors.Is(err, fs.ErrNotExist) || dir == "/" {
		return d, err
	}
	up, err := makeRoots(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer up.Close()
	if err := errors.Join(up.Mkdir(filepath.Base(dir), 0o755), rootDisk{up}.Sync(".")); err != nil {
		return nil, err
	}
	return openRoots(dir)
}

// ownFolder makes and opens a folder of root's in another, or looks that it is
// one and that its mode has none of these bits.
func ownFolder(up *os.Root, name string, not uint32, means string) (*os.Root, error) {
	err := up.Mkdir(name, 0o700)
	if err == nil {
		// fsync(2) of what is in it does not promise its own name.
		err = rootDisk{up}.Sync(".")
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the folder of changes: %w", err)
	}
	st, err := up.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("reading who owns the folder of changes %s: %w", filepath.Join(up.Name(), name), err)
	}
	if s := st.Sys().(*syscall.Stat_t); !st.IsDir() || s.Uid != 0 || uint32(s.Mode)&not != 0 {
		return nil, unfit(filepath.Join(up.Name(), name), st, not, means)
	}
	return up.OpenRoot(name)
}

// unfit says how a folder must be, how it is, and what sets it right.
func unfit(dir string, st fs.FileInfo, not uint32, means string) error {
	s := st.Sys().(*syscall.Stat_t)
	must := fmt.Sprintf("%s must be a folder that belongs to root and that %s", dir, means)
	if !st.IsDir() {
		return fmt.Errorf("%s; it is no folder: move it away (mv %s %[2]s.old)", must, shell.Quote(dir))
	}
	var mend []string
	if s.Uid != 0 {
		mend = append(mend, "chown root: "+shell.Quote(dir))
	}
	if uint32(s.Mode)&not != 0 {
		mend = append(mend, map[uint32]string{0o022: "chmod go-w ", 0o077: "chmod go-rwx "}[not]+shell.Quote(dir))
	}
	return fmt.Errorf("%s; it belongs to user %d and has mode %04o: %s", must, s.Uid, s.Mode&0o7777, strings.Join(mend, " && "))
}
