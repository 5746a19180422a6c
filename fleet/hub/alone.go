package hub

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockFile is locked while a hub runs with the state folder.
const lockFile = "lock"

// alone keeps a second hub out of a state folder, until the file is closed or the
// process ends, however it ends (flock(2)).
func alone(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if err == unix.EWOULDBLOCK {
			return nil, fmt.Errorf("another fettle-hub runs with the state folder %s: stop it first, "+
				"or give this one a folder of its own (--dir)", dir)
		}
		return nil, fmt.Errorf("locking %s: %w", filepath.Join(dir, lockFile), err)
	}
	return f, nil
}
