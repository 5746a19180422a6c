package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/shell"
)

func (Linux) Mkdir(name string, mode uint32) error {
	return at("mkdir", name, func(_ spot, dir int, base string) error { return unix.Mkdirat(dir, base, mode) })
}

func (Linux) Rmdir(name string) error {
	return at("rmdir", name, func(_ spot, dir int, base string) error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) })
}

func (Linux) Unlink(ref Ref) error {
	return held("unlink", ref, func(_, dir int, base string) error { return unix.Unlinkat(dir, base, 0) })
}

func (Linux) Create(name string, content []byte) (id ID, err error) {
	err = at("create", name, func(_ spot, dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		if id, err = identify(fd); err != nil {
			unix.Close(fd)
			return err
		}
		return write(fd, name, content)
	})
	return id, err
}

func (Linux) Overwrite(ref Ref, content []byte) error {
	return held("write", ref, func(fd, _ int, _ string) error {
		w, err := unix.Open(procFD(fd), unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		return write(w, ref.Path, content)
	})
}

// write writes and closes. Durable it becomes by Sync, which comes with the
// attributes.
func write(fd int, name string, content []byte) error {
	f := os.NewFile(uintptr(fd), name)
	_, err := f.Write(content)
	return errors.Join(err, f.Close())
}

// Rename looks afterwards at what has the name now: on ground of somebody
// else's the temporary file may have been another by then.
func (Linux) Rename(from Ref, to string) error {
	if path.Dir(from.Path) != path.Dir(to) {
		return &fs.PathError{Op: "rename", Path: from.Path, Err: unix.EXDEV}
	}
	return at("rename", from.Path, func(s spot, dir int, base string) error {
		if err := unix.Renameat(dir, base, dir, path.Base(to)); err != nil {
			return err
		}
		fd, err := unix.Openat(dir, path.Base(to), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return s.check(fd, Ref{to, from.ID})
	})
}

// held runs f on an open descriptor of the very file that is meant, never of
// a symlink; dir and base are its folder and name.
func held(op string, ref Ref, f func(fd, dir int, base string) error) error {
	return at(op, ref.Path, func(s spot, dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := s.check(fd, ref); err != nil {
			return err
		}
		return f(fd, dir, base)
	})
}

// check refuses what is not the file that is meant: a symlink anywhere and,
// where others can put files, another file.
func (s spot) check(fd int, ref Ref) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	if !s.foreign {
		return nil
	}
	id, err := identify(fd)
	if err == nil && !ref.ID.zero() && id != ref.ID {
		err = &Changed{ref.Path, "was replaced by another file a moment ago"}
	}
	return err
}

func (Linux) Chown(ref Ref, uid, gid uint32) error {
	return held("chown", ref, func(fd, _ int, _ string) error {
		return unix.Fchownat(fd, "", int(uid), int(gid), unix.AT_EMPTY_PATH)
	})
}

func (Linux) Chmod(ref Ref, mode uint32) error {
	return held("chmod", ref, func(fd, _ int, _ string) error { return unix.Chmod(procFD(fd), mode) })
}

func (Linux) SetXattr(ref Ref, attr string, value []byte) error {
	return held("setxattr "+attr, ref, func(fd, _ int, _ string) error { return unix.Setxattr(procFD(fd), attr, value, 0) })
}

func (Linux) RemoveXattr(ref Ref, attr string) error {
	return held("removexattr "+attr, ref, func(fd, _ int, _ string) error { return unix.Removexattr(procFD(fd), attr) })
}

func (Linux) SetModTime(ref Ref, ns int64) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(ns)}
	return held("utimensat", ref, func(fd, _ int, _ string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, procFD(fd), ts, 0) })
}

func (Linux) Sync(ref Ref) error {
	return held("fsync", ref, func(fd, _ int, _ string) error {
		r, err := unix.Open(procFD(fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(r)
		return unix.Fsync(r)
	})
}

// WriteValue writes with one write(2), as the kernel's parsers of /proc/sys
// and /sys want it, and never creates a file.
func (Linux) WriteValue(name, value string) error {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Write(fd, []byte(value+"\n"))
		switch {
		case err == unix.EINTR:
			// nothing was taken; again
		case err != nil:
			return fmt.Errorf("writing %q to %s: %w", value, name, err)
		case n < len(value):
			return fmt.Errorf("writing %q to %s: the kernel took only %d bytes", value, name, n)
		default:
			return nil
		}
	}
}

func (m Linux) Systemctl() (string, bool) {
	if m.SystemctlPath != "" {
		return m.SystemctlPath, true
	}
	st, err := os.Lstat("/run/systemd/system") // sd_booted(3)
	booted := err == nil && st.IsDir()
	for _, p := range []string{"/usr/bin/systemctl", "/bin/systemctl"} {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			return p, booted
		}
	}
	return "", booted
}

func (m Linux) Ask(ctx context.Context, argv []string, limit time.Duration) (Output, error) {
	return m.Run(ctx, argv, limit)
}

func (Linux) Run(ctx context.Context, argv []string, limit time.Duration) (Output, error) {
	if len(argv) == 0 || !path.IsAbs(argv[0]) {
		return Output{}, fmt.Errorf("%s: a command needs an absolute path", shell.Join(argv))
	}
	out, err := host.Exec(ctx, host.CommandSpec{Limit: limit, MaxOutput: 16 << 20}, argv)
	if err != nil {
		err = fmt.Errorf("running %s: %w", shell.Join(argv), err)
	}
	return Output{out.Stdout, out.Stderr, out.Exit}, err
}
