package totp

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle/internal/asuser"
)

// Place is where a user's file is, and whose it is.
type Place struct {
	Path     string // absolute
	UID, GID uint32
}

// Exists is the error of Write where there is a file already.
type Exists struct{ Path string }

func (e *Exists) Error() string {
	return e.Path + " already exists: its user could no longer log in with it (--replace replaces it)"
}

// as runs f with the file system rights of the owner, as
// pam_google_authenticator does.
func (p Place) as(f func() error) error {
	return asuser.Do(p.UID, p.GID, nil, f)
}

// folder opens the file's folder. Everything else is named relative to it.
func (p Place) folder() (int, error) {
	fd, err := unix.Open(path.Dir(p.Path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "opening folder", Path: path.Dir(p.Path), Err: err}
	}
	return fd, nil
}

// Read reads the file. One that is a link, or not the owner's, is refused.
func (p Place) Read() (b []byte, err error) {
	err = p.as(func() error {
		dir, err := p.folder()
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		fd, err := unix.Openat(dir, path.Base(p.Path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ELOOP) {
			return fmt.Errorf("%s is a symbolic link, which fettle does not follow", p.Path)
		}
		if err != nil {
			return &fs.PathError{Op: "opening", Path: p.Path, Err: err}
		}
		f := os.NewFile(uintptr(fd), p.Path)
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		if !st.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", p.Path)
		}
		if o := st.Sys().(*syscall.Stat_t).Uid; o != p.UID {
			return fmt.Errorf("%s belongs to user ID %d and must belong to %d", p.Path, o, p.UID)
		}
		if st.Size() > MaxFile {
			return fmt.Errorf("%s has %d bytes; the module reads up to %d", p.Path, st.Size(), MaxFile)
		}
		b = make([]byte, st.Size())
		n, err := f.ReadAt(b, 0)
		if n < len(b) {
			return fmt.Errorf("reading %s: %w", p.Path, err)
		}
		return nil
	})
	return b, err
}

// Write puts the file there with mode 0400, whole or not at all, and on disk
// when it returns. An existing one stays unless replace is set.
func (p Place) Write(b []byte, replace bool) error {
	return p.as(func() error {
		dir, err := p.folder()
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		name := path.Base(p.Path)
		var st unix.Stat_t
		switch err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case errors.Is(err, unix.ENOENT):
		case err != nil:
			return &fs.PathError{Op: "looking at", Path: p.Path, Err: err}
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return fmt.Errorf("%s is not a regular file: fettle leaves it alone; remove it first", p.Path)
		case !replace:
			return &Exists{p.Path}
		}
		tmp, err := temporary(dir, name, b)
		if err != nil {
			return fmt.Errorf("writing %s: %w", p.Path, err)
		}
		if replace {
			err = unix.Renameat(dir, tmp, dir, name)
		} else {
			err = noReplace(dir, tmp, name)
		}
		if err != nil {
			unix.Unlinkat(dir, tmp, 0)
			if errors.Is(err, unix.EEXIST) {
				return &Exists{p.Path}
			}
			return fmt.Errorf("putting %s in place: %w", p.Path, err)
		}
		return syncFolder(p.Path)
	})
}

// noReplace renames where nothing may be lost. File systems without
// renameat2(2)'s flag have link(2).
func noReplace(dir int, tmp, name string) error {
	err := unix.Renameat2(dir, tmp, dir, name, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if err := unix.Linkat(dir, tmp, dir, name, 0); err != nil {
		return err
	}
	return unix.Unlinkat(dir, tmp, 0)
}

// temporary writes a new file of mode 0400 beside the other.
func temporary(dir int, name string, b []byte) (string, error) {
	var r [6]byte
	rand.Read(r[:])
	tmp := name + "~" + hex.EncodeToString(r[:])
	fd, err := unix.Openat(dir, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o400)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), tmp)
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o400) // a umask of 0700 or an ACL must not change it
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		unix.Unlinkat(dir, tmp, 0)
	}
	return tmp, err
}

func syncFolder(name string) error {
	d, err := os.Open(path.Dir(name))
	if err != nil {
		return nil // a folder that can be written to and not read: nothing more can be done
	}
	defer d.Close()
	return d.Sync()
}

// Disabled is the name that Disable gives to a file.
func (p Place) Disabled() string { return p.Path + ".disabled" }

// Disable takes the file out of use: it is renamed, so that it can come back.
func (p Place) Disable() error {
	return p.as(func() error {
		dir, err := p.folder()
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		err = noReplace(dir, path.Base(p.Path), path.Base(p.Disabled()))
		if errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s is there already: remove it first", p.Disabled())
		}
		if err != nil {
			return &fs.PathError{Op: "renaming", Path: p.Path, Err: err}
		}
		return syncFolder(p.Path)
	})
}
