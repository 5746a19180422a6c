package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tree reads files below a root with descriptors only. The live host is the
// tree at "/"; any other root is resolved with openat2(2) RESOLVE_IN_ROOT
// (Linux 5.6), so that neither ".." nor a symlink leads out of it.
type tree struct {
	root   string // "/" or the folder
	fd     int    // of the root folder; AT_FDCWD for "/"
	mounts mountTable
	euid   int      // who reads
	owner  uint32   // of the root folder, who is its root
	rooted sync.Map // folders that are root's alone to change, to their real paths
	// members are asked for once, when somebody's rights are needed.
	members sync.Once
	whose   members
}

// open opens a name with the rights of whoever decides where it leads.
func (t *tree) open(ctx context.Context, name string, flags int) (fd int, err error) {
	flags |= unix.O_CLOEXEC
	if flags&unix.O_PATH == 0 { // with which openat2(2) takes no others
		flags |= openForReading
	}
	fd = -1
	err = t.under(ctx, name, flags&unix.O_NOFOLLOW != 0, func(pl place) (err error) {
		fd, err = t.openat(pl.path, flags)
		return err
	})
	return fd, err
}

// openForReading are the flags that keep an open from waiting or acting.
const openForReading = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK

// openat opens what was found touchable.
func (t *tree) openat(name string, flags int) (int, error) {
	if t.fd == unix.AT_FDCWD {
		return retry(func() (int, error) { return unix.Open(name, flags, 0) })
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return retry(func() (int, error) { return unix.Openat2(t.fd, name, &how) })
}

// link reads a symlink whose folders are resolved.
func (t *tree) link(name string) (string, error) {
	if t.fd == unix.AT_FDCWD {
		var buf [unix.PathMax]byte
		n, err := retry(func() (int, error) { return unix.Readlinkat(unix.AT_FDCWD, name, buf[:]) })
		return string(buf[:max(n, 0)]), err
	}
	fd, err := t.openat(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return readlinkFD(fd)
}

func readlinkFD(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err == unix.ENOENT { // readlinkat(2): what an empty path says of a descriptor that is no symlink
		err = unix.EINVAL
	}
	return string(buf[:max(n, 0)]), err
}

// retry repeats what was interrupted, and a few times what met a change:
// openat2(2) says EAGAIN when it saw a rename or mount while it walked. A file
// under a lease (F_SETLEASE, fcntl(2)) says so for up to a minute.
func retry(f func() (int, error)) (int, error) {
	for again := 0; ; {
		fd, err := f()
		if err == unix.EAGAIN && again < 16 {
			again++
			continue
		}
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openRegular opens a regular file for reading, and nothing else: opening a
// device can act on it (a watchdog starts, a tape rewinds). A secret is told
// by what was opened, whatever names led there.
// users says that it was read with a user's rights.
func (t *tree) openRegular(ctx context.Context, name string) (fd int, st unix.Stat_t, users bool, err error) {
	fd = -1
	err = t.under(ctx, name, false, func(pl place) error {
		users = pl.uid != 0
		if t.attribute(pl.path) {
			if fd, err = t.reopen(pl.path, &st); err == nil && secretBehind(name, t.opened(fd, pl.path)) {
				unix.Close(fd)
				fd, err = -1, ErrSecret
			}
			return err
		}
		at, err := t.openat(pl.path, unix.O_PATH|unix.O_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(at)
		if err := unix.Fstat(at, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return ErrNotRegular
		}
		if secretBehind(name, t.opened(at, pl.path)) {
			return ErrSecret
		}
		// What was looked at, and not what its name may lead to by now.
		fd, err = retry(func() (int, error) { return unix.Open(procFD(at), openForReading, 0) })
		if err == unix.ENOENT { // no /proc: by name then, and looked at again
			fd, err = t.reopen(pl.path, &st)
		}
		return err
	})
	if err != nil {
		return -1, st, users, pathError("open", name, err)
	}
	return fd, st, users, nil
}

// reopen opens for reading what is looked at only then.
func (t *tree) reopen(real string, st *unix.Stat_t) (int, error) {
	fd, err := t.openat(real, openForReading)
	if err != nil {
		return -1, err
	}
	if err = unix.Fstat(fd, st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// opened is the path of what a descriptor holds, as seen from the tree's root;
// without /proc it is what was asked for.
func (t *tree) opened(fd int, asked string) string {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink(procFD(fd), buf[:])
	if err != nil {
		return asked
	}
	real := string(buf[:n])
	if t.mounts.base != "" {
		real = "/" + strings.TrimPrefix(strings.TrimPrefix(real, t.mounts.base), "/")
	}
	return real
}

// procFD is a path to what a descriptor holds. It opens, and its extended
// attributes are read, where an O_PATH descriptor itself is refused (open(2)).
func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (t *tree) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	fd, st, users, err := t.openRegular(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, min(max(st.Size, 512), limit)+1)
	for {
		if err := ctx.Err(); err != nil { // a file that grows as fast as it is read
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+max(n, 0)]
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EINVAL && strings.HasPrefix(name, "/sys/"):
			// An attribute without a value now: the duplex of a link that is down
			// (net/core/net-sysfs.c, Linux 6.1).
			return nil, pathError("read", name, ErrAbsent)
		case err != nil:
			return nil, pathError("read", name, err)
		case int64(len(buf)) > limit:
			return nil, pathError("read", name, ErrTooBig)
		case n == 0 && users && holdsKey(buf):
			return nil, pathError("read", name, ErrSecret)
		case n == 0:
			return buf, nil
		}
	}
}

// Extract hands a regular file to of as a stream that ends with ctx. What only a
// user's rights could read is handed to nobody: it may be a key.
func (t *tree) Extract(ctx context.Context, _, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	fd, _, users, err := t.openRegular(ctx, name)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if users {
		return nil, pathError("read", name, ErrDenied)
	}
	b, err := of(untilDone{ctx, f})
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return b, nil
}

// untilDone is a reader that fails when its context ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// EntryLimit is how many entries of a folder are listed.
const EntryLimit = 1 << 18

func (t *tree) ReadDir(ctx context.Context, name string) ([]Entry, error) {
	fd, err := t.open(ctx, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var out []Entry
	for {
		des, err := f.ReadDir(1024)
		for _, de := range des {
			out = append(out, Entry{Name: de.Name(), Type: de.Type()})
		}
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return out, pathError("readdir", name, err)
		case len(out) > EntryLimit:
			return nil, pathError("readdir", name, ErrTooBig)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

func (t *tree) Stat(ctx context.Context, name string, follow bool) (Info, error) {
	var st unix.Stat_t
	err := t.under(ctx, name, !follow, func(pl place) error { return t.stat(pl.path, &st, follow) })
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return infoOf(&st), nil
}

// stat looks at what was found touchable, and mounts nothing.
func (t *tree) stat(name string, st *unix.Stat_t, follow bool) error {
	if t.fd == unix.AT_FDCWD {
		flags := unix.AT_NO_AUTOMOUNT
		if !follow {
			flags |= unix.AT_SYMLINK_NOFOLLOW
		}
		_, err := retry(func() (int, error) { return 0, unix.Fstatat(unix.AT_FDCWD, name, st, flags) })
		return err
	}
	flags := unix.O_PATH | unix.O_CLOEXEC
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := t.openat(name, flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fstat(fd, st)
}

func infoOf(st *unix.Stat_t) Info {
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if st.Mode&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return Info{Mode: mode, UID: st.Uid, GID: st.Gid, Size: st.Size, Nlink: uint64(st.Nlink),
		Dev: uint64(st.Dev), Ino: st.Ino, ModTime: time.Unix(st.Mtim.Unix()).UTC()}
}

func (t *tree) Readlink(ctx context.Context, name string) (target string, err error) {
	err = t.under(ctx, name, true, func(pl place) (err error) {
		target, err = t.link(pl.path)
		return err
	})
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	return target, nil
}

func (t *tree) Xattr(ctx context.Context, name, attr string) ([]byte, error) {
	fd, err := t.open(ctx, name, unix.O_PATH)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 64<<10) // XATTR_SIZE_MAX, include/uapi/linux/limits.h
	n, err := unix.Getxattr(procFD(fd), attr, buf)
	if err == unix.ENODATA || err == unix.EOPNOTSUPP {
		err = ErrAbsent
	}
	if err == unix.ENOENT { // the file is there: what is missing is the way to it
		return nil, pathError("getxattr "+attr, name, fmt.Errorf("/proc: %w", ErrNotMounted))
	}
	if err != nil {
		return nil, pathError("getxattr "+attr, name, err)
	}
	return buf[:n:n], nil
}

// pathError names the path and turns what the kernel says of a vanished
// /proc entry (ESRCH) into absence.
func pathError(op, name string, err error) error {
	if err == unix.ESRCH {
		err = ErrAbsent
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
