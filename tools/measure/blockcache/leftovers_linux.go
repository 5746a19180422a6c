package blockcache

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// own makes a file that this process alone holds locked until unlock, or until
// it is gone. fio does not inherit it.
func own(name, text string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	// Locked before anything is in it: a file without the mark is nobody's leftover.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "flock", Path: name, Err: err}
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// lock tells whether nobody holds the file locked; it is locked until closed.
func lock(f *os.File) (free bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// mine tells whether a file is this user's.
func mine(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
