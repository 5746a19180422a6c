package bisect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// makeFolder makes a folder of the hunt's, or finds the one of an earlier hunt.
// A repository that came as an archive may hold anything under its name.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = ownFolder(dir)
	}
	if err != nil {
		return fmt.Errorf("the hunt's folder %s: %w", dir, err)
	}
	return nil
}

// ownFolder wants a folder, not a link to one, that belongs to this user.
func ownFolder(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return errors.New("it is not a folder")
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, not to you", sys.Uid)
	}
	return nil
}
