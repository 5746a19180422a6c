package files

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Private makes a folder for this process alone where temporary files go. Others
// must not be able to rename it: programs open what is in it by path.
func Private(prefix string) (string, error) {
	dir := os.TempDir()
	root, err := Folder(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return "", err
	}
	defer d.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &st); err != nil {
		return "", err
	}
	if foreign(st) {
		return "", fmt.Errorf(
			"others can rename what is in %s: set TMPDIR to a folder that only you can write to, or that has the sticky bit",
			dir,
		)
	}
	return os.MkdirTemp(dir, prefix)
}

// Made tells whether an open folder was made by this user, for this user alone.
func Made(root *os.Root) (bool, error) {
	d, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer d.Close()
	var st unix.Stat_t
	err = unix.Fstat(int(d.Fd()), &st)
	return int(st.Uid) == os.Geteuid() && st.Mode&0o077 == 0, err
}
