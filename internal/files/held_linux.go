package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// open opens a regular file and its folder. Links that lead to it are followed as
// on the way to a folder, and nothing waits for the other end of a pipe.
func open(name string) (root *os.Root, base string, f *os.File, err error) {
	fail := func(err error) (*os.Root, string, *os.File, error) {
		if root != nil {
			root.Close()
		}
		return nil, "", nil, &fs.PathError{Op: "opening", Path: name, Err: err}
	}
	at := name
	for range maxLinks {
		i := strings.LastIndexByte(at, '/') + 1
		dir := at[:i]
		if base = at[i:]; dir == "" {
			dir = "."
		}
		if base == "" || base == "." || base == ".." {
			return fail(unix.EISDIR)
		}
		if root, err = Folder(dir); err != nil {
			return nil, "", nil, err
		}
		d, err := root.Open(".")
		if err != nil {
			return fail(err)
		}
		fd, target, err := enter(int(d.Fd()), dir, base, unix.S_IFREG)
		if err == nil && target == "" {
			unix.Close(fd) // O_PATH; opened for reading it may be another by now, which is as good
			fd, err = unix.Openat(int(d.Fd()), base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
		d.Close()
		switch {
		case err != nil:
			return fail(err)
		case target == "":
			return root, base, os.NewFile(uintptr(fd), name), nil
		}
		root.Close()
		root = nil
		if at = target; !filepath.IsAbs(target) {
			at = dir + "/" + target
		}
	}
	return fail(unix.ELOOP)
}
