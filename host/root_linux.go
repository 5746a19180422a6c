package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Root is a root folder that is not running here: an installation target, a
// mounted disk, a container's file system. It has configuration, no running state.
type Root struct {
	tree
	id Identity
}

// NewRoot opens dir as a host.
func NewRoot(dir string) (*Root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening root folder: %w", &os.PathError{Op: "open", Path: dir, Err: err})
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("opening root folder: %w", &os.PathError{Op: "fstat", Path: dir, Err: err})
	}
	r := &Root{tree: tree{root: dir, fd: fd, euid: os.Geteuid(), owner: st.Uid},
		id: Identity{Sysname: "Linux", Time: time.Now().UTC(), EUID: os.Geteuid()}}
	if real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
		r.mounts.base = real // as the mount table names it
	}
	if b, err := r.tree.ReadFile(context.Background(), "/etc/hostname", 4096); err == nil {
		r.id.Hostname = strings.TrimSpace(string(b))
	}
	return r, nil
}

func (r *Root) Kind() Kind         { return KindRoot }
func (r *Root) Name() string       { return r.root }
func (r *Root) Identity() Identity { return r.id }
func (r *Root) Close() error       { return unix.Close(r.fd) }

// running reports whether a path shows running state, which a root folder
// cannot have even when something is mounted there.
func running(name string) bool {
	for _, top := range []string{"/proc", "/sys", "/run", "/dev"} {
		if name == top || strings.HasPrefix(name, top+"/") {
			return true
		}
	}
	return false
}

// absent turns "not there" into "not running" when a symlink leads to running
// state, as /etc/resolv.conf often does to /run.
func (r *Root) absent(op, name string, err error) error {
	if !IsAbsent(err) {
		return err
	}
	real, werr := r.mounts.walk(name, false, r.link)
	switch {
	case werr == nil && real == "/dev/null" && op != "stat": // a masked unit: as on the running host
		return pathError(op, name, ErrNotRegular)
	case werr == nil && running(real):
		return pathError(op, name, ErrNotRunning)
	}
	return err
}

func (r *Root) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if running(name) {
		return nil, pathError("read", name, ErrNotRunning)
	}
	b, err := r.tree.ReadFile(ctx, name, limit)
	return b, r.absent("read", name, err)
}

func (r *Root) ReadDir(ctx context.Context, name string) ([]Entry, error) {
	if running(name) {
		return nil, pathError("readdir", name, ErrNotRunning)
	}
	es, err := r.tree.ReadDir(ctx, name)
	return es, r.absent("readdir", name, err)
}

func (r *Root) Stat(ctx context.Context, name string, follow bool) (Info, error) {
	if running(name) {
		return Info{}, pathError("stat", name, ErrNotRunning)
	}
	i, err := r.tree.Stat(ctx, name, follow)
	if follow {
		err = r.absent("stat", name, err)
	}
	return i, err
}

func (r *Root) Readlink(ctx context.Context, name string) (string, error) {
	if running(name) {
		return "", pathError("readlink", name, ErrNotRunning)
	}
	return r.tree.Readlink(ctx, name)
}

func (r *Root) Command(context.Context, Command) (Output, error) { return Output{}, ErrNotRunning }
func (r *Root) Table(context.Context, Table) ([]byte, error)     { return nil, ErrNotRunning }
