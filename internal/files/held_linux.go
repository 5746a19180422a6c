package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// named is what a name led to: its folder, its last part there, and what it is.
type named struct {
	root  *os.Root
	base  string
	fd    int // O_PATH
	kind  uint32
	magic bool // a link of proc(5) to an open file: only the kernel can follow it
}

func (n *named) close() {
	unix.Close(n.fd)
	n.root.Close()
}

// folder is the descriptor of the folder, while f runs.
func (n *named) folder(f func(dir int) error) error {
	d, err := n.root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return f(int(d.Fd()))
}

// follow finds what a name leads to. Links are followed as on the way to a folder.
func follow(name string) (n *named, err error) {
	fail := func(err error) (*named, error) {
		if n != nil {
			n.root.Close()
		}
		return nil, &fs.PathError{Op: "opening", Path: name, Err: err}
	}
	at := name
	for range maxLinks {
		i := strings.LastIndexByte(at, '/') + 1
		dir, base := at[:i], at[i:]
		if dir == "" {
			dir = "."
		}
		if base == "" || base == "." || base == ".." {
			return fail(unix.EISDIR)
		}
		root, err := Folder(dir)
		if err != nil {
			return nil, err
		}
		n = &named{root: root, base: base}
		var target string
		if err := n.folder(func(d int) error {
			if n.fd, n.kind, target, err = enter(d, dir, base); err != nil || target == "" {
				return err
			}
			var in unix.Statfs_t
			if err := unix.Fstatfs(d, &in); err != nil || in.Type != unix.PROC_SUPER_MAGIC || filepath.Base(dir) != "fd" {
				return err
			}
			n.magic = true
			n.fd, err = unix.Openat(d, base, unix.O_PATH|unix.O_CLOEXEC, 0)
			var st unix.Stat_t
			if err == nil {
				err = unix.Fstat(n.fd, &st)
			}
			n.kind = st.Mode & unix.S_IFMT
			return err
		}); err != nil {
			return fail(err)
		}
		if target == "" || n.magic {
			return n, nil
		}
		root.Close()
		n = nil
		if at = target; !filepath.IsAbs(target) {
			at = dir + "/" + target
		}
	}
	return fail(unix.ELOOP)
}

// open opens a regular file and its folder. Nothing waits for the other end of a pipe.
func open(name string) (root *os.Root, base string, f *os.File, err error) {
	n, err := follow(name)
	if err != nil {
		return nil, "", nil, err
	}
	unix.Close(n.fd) // opened for reading it may be another by now, which is as good
	fd := -1
	switch n.kind {
	case unix.S_IFREG:
		err = n.folder(func(d int) (err error) {
			fd, err = unix.Openat(d, n.base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			return err
		})
	case unix.S_IFDIR:
		err = unix.EISDIR
	default:
		err = ErrSpecial
	}
	if err != nil {
		n.root.Close()
		return nil, "", nil, &fs.PathError{Op: "opening", Path: name, Err: err}
	}
	return n.root, n.base, os.NewFile(uintptr(fd), name), nil
}

// Device opens what is written to as it is, and never replaced: a device, a pipe, or
// whatever /dev/stdout is. A regular file, or none: nil.
func Device(name string) (*os.File, error) {
	n, err := follow(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && n.kind == unix.S_IFREG && !n.magic {
		if err == nil {
			n.close()
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer n.close()
	var want, got unix.Stat_t
	if err := unix.Fstat(n.fd, &want); err != nil {
		return nil, err
	}
	flags := unix.O_WRONLY | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	if n.magic {
		// /dev/stdout and its like: the descriptor itself, which knows how far it has written.
		if own, err := strconv.Atoi(n.base); err == nil && unix.Fstat(own, &got) == nil && want.Dev == got.Dev && want.Ino == got.Ino {
			fd, err := unix.FcntlInt(uintptr(own), unix.F_DUPFD_CLOEXEC, 3)
			if err != nil {
				return nil, &fs.PathError{Op: "opening", Path: name, Err: err}
			}
			return os.NewFile(uintptr(fd), name), nil
		}
		flags = flags&^unix.O_NOFOLLOW | unix.O_APPEND // beside what its owner writes
	}
	fd := -1
	err = n.folder(func(d int) error {
		if fd, err = unix.Openat(d, n.base, flags, 0); err != nil {
			return err
		}
		if err := unix.Fstat(fd, &got); err != nil {
			return err
		}
		if want.Dev != got.Dev || want.Ino != got.Ino {
			return errors.New("somebody exchanged it at that moment: look who can write to the folder")
		}
		return nil
	})
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return nil, &fs.PathError{Op: "opening", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
