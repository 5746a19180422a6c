package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder opens a folder to make files in. What is made there is named relative
// to what was opened, so that nobody leads it elsewhere afterwards. A link on
// the way is followed only if nobody but root and the caller can have made it.
func Folder(dir string) (*os.Root, error) {
	fd, err := walk(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	var want, got unix.Stat_t
	d, err := root.Open(".")
	if err == nil {
		err = errors.Join(unix.Fstat(fd, &want), unix.Fstat(int(d.Fd()), &got))
		d.Close()
	}
	if err == nil && (want.Dev != got.Dev || want.Ino != got.Ino) {
		err = &fs.PathError{
			Op:   "opening",
			Path: dir,
			Err:  errors.New("somebody exchanged a folder on the way at that moment: look who can write there"),
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// MakeFolder opens a folder as Folder does, and makes it and those above it where they
// are missing, with this mode.
func MakeFolder(dir string, mode fs.FileMode) (*os.Root, error) {
	root, err := Folder(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	above, err := MakeFolder(filepath.Dir(dir), mode)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := above.Mkdir(filepath.Base(dir), mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Folder(dir)
}

// maxLinks is the kernel's own bound (MAXSYMLINKS, include/linux/namei.h).
const maxLinks = 40

// walk opens a path folder by folder (O_PATH).
func walk(dir string) (int, error) {
	at, todo := start(dir)
	fd, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for links := 0; err == nil && len(todo) > 0; {
		var next int
		var kind uint32
		var target string
		if next, kind, target, err = enter(fd, at, todo[0]); err != nil {
			break
		}
		if target == "" && kind != unix.S_IFDIR {
			unix.Close(next)
			err = unix.ENOTDIR
			break
		}
		at, todo = filepath.Join(at, todo[0]), todo[1:]
		if target == "" {
			unix.Close(fd)
			fd = next
			continue
		}
		if links++; links > maxLinks {
			err = unix.ELOOP
			break
		}
		to, parts := start(target)
		todo = append(parts, todo...)
		at = filepath.Dir(at)
		if filepath.IsAbs(target) {
			unix.Close(fd)
			at = to
			fd, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
	}
	var led *Led
	if err == nil || errors.As(err, &led) {
		if err != nil {
			unix.Close(fd)
		}
		return fd, err
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	return -1, &fs.PathError{Op: "opening", Path: dir, Err: err}
}

func start(name string) (at string, parts []string) {
	if at = "."; filepath.IsAbs(name) {
		at = "/"
	}
	for _, p := range strings.Split(name, "/") {
		if p != "" && p != "." {
			parts = append(parts, p)
		}
	}
	return at, parts
}

// enter opens one name in an open folder (O_PATH) and tells what it is (stat(2),
// S_IFMT), or where a link leads.
func enter(dir int, at, name string) (fd int, kind uint32, target string, err error) {
	if fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return -1, 0, "", err
	}
	var st, in unix.Stat_t
	if err = errors.Join(unix.Fstat(fd, &st), unix.Fstat(dir, &in)); err == nil {
		if kind = st.Mode & unix.S_IFMT; kind != unix.S_IFLNK {
			return fd, kind, "", nil
		}
		b := make([]byte, unix.PathMax)
		var n int
		n, err = unix.Readlinkat(fd, "", b)
		target = string(b[:max(n, 0)])
		if err == nil && (!mine(st.Uid) || foreign(in)) {
			err = &Led{filepath.Join(at, name), target}
		}
	}
	unix.Close(fd)
	return -1, kind, target, err
}

// mine: what belongs to root or to the caller is nobody else's to change.
func mine(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// foreign: somebody else could have put a name into the folder in place of one
// of ours. Names in a folder with the sticky bit are their owners' (unlink(2)). A
// user's own group counts as the user.
func foreign(dir unix.Stat_t) bool {
	bits := uint32(0o022)
	if os.Geteuid() != 0 && int(dir.Gid) == os.Getegid() {
		bits = 0o002
	}
	return !mine(dir.Uid) || dir.Mode&bits != 0 && dir.Mode&unix.S_ISVTX == 0
}

// Led is the refusal to follow a link that somebody else can have made.
type Led struct{ Path, Target string }

func (e *Led) Error() string {
	return fmt.Sprintf(
		"%s is a link to %s that another user can have made: fettle does not follow it; name the folder itself",
		e.Path,
		e.Target,
	)
}

// nonblock: nothing waits for the other end of a pipe.
const nonblock = unix.O_NONBLOCK
