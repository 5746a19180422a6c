package remedy

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
)

func (Linux) Mkdir(name string, mode uint32) error {
	return at("mkdir", name, func(fd int, base string) error { return unix.Mkdirat(fd, base, mode) })
}

func (Linux) Rmdir(name string) error {
	return at("rmdir", name, func(fd int, base string) error { return unix.Unlinkat(fd, base, unix.AT_REMOVEDIR) })
}

func (Linux) Unlink(name string) error {
	return at("unlink", name, func(fd int, base string) error { return unix.Unlinkat(fd, base, 0) })
}

func (Linux) Create(name string, content []byte) error {
	return write("create", name, unix.O_CREAT|unix.O_EXCL, content)
}

func (Linux) Overwrite(name string, content []byte) error {
	return write("write", name, unix.O_TRUNC, content)
}

func write(op, name string, flags int, content []byte) error {
	return at(op, name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|flags, 0o600)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), name)
		_, err = f.Write(content)
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	})
}

func (Linux) Rename(from, to string) error {
	return at("rename", from, func(ffd int, fbase string) error {
		return at("rename", to, func(tfd int, tbase string) error { return unix.Renameat(ffd, fbase, tfd, tbase) })
	})
}

func (Linux) Chown(name string, uid, gid uint32) error {
	return at("chown", name, func(fd int, base string) error {
		return unix.Fchownat(fd, base, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW)
	})
}

// held runs f on a /proc path of the file itself, never of a symlink.
func held(op, name string, f func(proc string) error) error {
	return at(op, name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return unix.ELOOP
		}
		return f(procFD(fd))
	})
}

func (Linux) Chmod(name string, mode uint32) error {
	return held("chmod", name, func(p string) error { return unix.Chmod(p, mode) })
}

func (Linux) SetXattr(name, attr string, value []byte) error {
	return held("setxattr "+attr, name, func(p string) error { return unix.Setxattr(p, attr, value, 0) })
}

func (Linux) RemoveXattr(name, attr string) error {
	return held("removexattr "+attr, name, func(p string) error { return unix.Removexattr(p, attr) })
}

func (Linux) SetModTime(name string, ns int64) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(ns)}
	return at("utimensat", name, func(fd int, base string) error {
		return unix.UtimesNanoAt(fd, base, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func (Linux) Sync(name string) error {
	return at("fsync", name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Fsync(fd)
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
		return Output{}, fmt.Errorf("%s: a command needs an absolute path", quoteArgs(argv))
	}
	out, err := host.Exec(ctx, host.CommandSpec{Limit: limit, MaxOutput: 16 << 20}, argv)
	if err != nil {
		err = fmt.Errorf("running %s: %w", quoteArgs(argv), err)
	}
	return Output{out.Stdout, out.Stderr, out.Exit}, err
}
