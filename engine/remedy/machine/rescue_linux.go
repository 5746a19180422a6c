package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// openPath is the kernel's link to what a descriptor of a process has open;
// opening it opens the very file, also one without a name (proc(5)).
func (f OpenFile) openPath() string {
	return "/proc/" + strconv.Itoa(f.PID) + "/fd/" + strconv.Itoa(f.FD)
}

func (f OpenFile) is(st unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Ino == f.Inode && uint64(st.Dev) == f.Dev
}

func (f OpenFile) open() (*os.File, error) {
	gone := func(why string) error {
		return &Changed{Path: f.openPath(), Why: "is no longer the file that the plan was made for: " + why}
	}
	var st unix.Stat_t
	if err := unix.Stat(f.openPath(), &st); err != nil {
		return nil, gone(err.Error())
	}
	// Asked before it is opened: a FIFO of another process would block, a device act.
	if !f.is(st) {
		return nil, gone("the process has another file open there")
	}
	fd, err := unix.Open(f.openPath(), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.openPath(), Err: err}
	}
	file := os.NewFile(uintptr(fd), f.openPath())
	if err := unix.Fstat(fd, &st); err != nil || !f.is(st) {
		file.Close()
		return nil, gone("the process has just opened another one")
	}
	return file, nil
}

func (Linux) HeldOpen(f OpenFile) (int64, error) {
	file, err := f.open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return 0, err
	}
	return st.Blocks * 512, nil
}

func (Linux) Room(dir string) (int64, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if err == unix.ENOENT && dir != "/" {
			dir = path.Dir(dir)
			continue
		}
		if err != nil {
			return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
		}
		return int64(st.Bavail) * st.Bsize, nil
	}
}

func (Linux) CopyOpen(ctx context.Context, f OpenFile, to string) error {
	from, err := f.open()
	if err != nil {
		return err
	}
	defer from.Close()
	return at("create", to, func(s spot, dir int, base string) error {
		if s.foreign {
			return fmt.Errorf("others than root may write to %s: copies of other users' data do not go there", s.at)
		}
		fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		out := os.NewFile(uintptr(fd), to)
		err = copySparse(ctx, out, from)
		if err == nil {
			err = out.Sync()
		}
		if err = errors.Join(err, out.Close()); err != nil {
			unix.Unlinkat(dir, base, 0) // half a copy is none
		}
		return err
	})
}

// copySparse copies data and leaves holes out (lseek(2), SEEK_DATA).
func copySparse(ctx context.Context, to, from *os.File) error {
	st, err := from.Stat()
	if err != nil {
		return err
	}
	for at := int64(0); at < st.Size(); {
		data, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if err == unix.ENXIO { // only a hole is left
			break
		}
		hole := st.Size()
		if err != nil { // the file system cannot tell
			data = at
		} else if hole, err = unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE); err != nil {
			return err
		}
		if _, err := from.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := to.Seek(data, io.SeekStart); err != nil {
			return err
		}
		for hole > data { // in pieces, so that Ctrl-C is heeded
			if err := context.Cause(ctx); err != nil {
				return err
			}
			n, err := io.CopyN(to, from, min(hole-data, 16<<20))
			if data += n; err == io.EOF { // it was cut shorter meanwhile
				return to.Truncate(data)
			}
			if err != nil {
				return err
			}
		}
		at = hole
	}
	return to.Truncate(st.Size())
}
