package host

import (
	"context"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a name as far as it leads through what only root decides, and
// whose rights it takes from there on.
type place struct {
	path string
	// uid owns the first folder or symlink on the way that is not root's. Where
	// it leads is his decision, so he must be allowed to read it himself: else
	// he could have root read, and print, what he may not see.
	uid uint32
}

// guards reports whether there are rights to lose: without root everything is
// read with the caller's own.
func (t *tree) guards() bool { return t.euid == 0 }

// under calls act with where a name leads, with the rights of whoever decides
// that. The path may still have symlinks in it: the kernel follows them with
// these rights.
func (t *tree) under(ctx context.Context, name string, nofollow bool, act func(place) error) error {
	if !path.IsAbs(name) {
		return unix.EINVAL
	}
	pl, err := t.decided(ctx, name, nofollow)
	if err != nil {
		return err
	}
	look := func() error {
		real, err := t.mounts.resolve(pl.path, nofollow, t.link)
		if err != nil {
			return err
		}
		return act(place{real, pl.uid})
	}
	if pl.uid == 0 {
		return look()
	}
	return t.rightsOf(pl.uid).do(look)
}

// decided is the place of a name: by whom As named, or by who owns the way.
func (t *tree) decided(ctx context.Context, name string, nofollow bool) (place, error) {
	if !t.guards() {
		return place{path: name}, nil
	}
	if uid, ok := ReadsAs(ctx); ok && t.foreign(t.onDisk(uid)) {
		return place{name, t.onDisk(uid)}, nil
	}
	return t.place(name, nofollow)
}

// shift is from which owner of a root folder on it is taken for that of a
// container whose users' numbers are all shifted (user_namespaces(7)).
const shift = 1 << 16

// onDisk is the number that owns the files of one of the host's users.
func (t *tree) onDisk(uid uint32) uint32 {
	if t.owner >= shift {
		return t.owner + uid
	}
	return uid
}

// place walks a name by hand until somebody other than root has a say.
func (t *tree) place(name string, nofollow bool) (place, error) {
	dir, base := path.Split(path.Clean(name))
	if base == "" {
		return place{path: name}, nil
	}
	folder, err := t.folder(path.Clean(dir))
	if err != nil || folder.uid != 0 || t.ofKernel(folder.path) {
		folder.path = join(folder.path, []string{base})
		return folder, err
	}
	return t.walk(folder.path, []string{base}, nofollow)
}

// folder is the place of a folder. Those that are root's alone to change are
// remembered.
func (t *tree) folder(dir string) (place, error) {
	if dir == "/" {
		return place{path: dir}, nil
	}
	if real, ok := t.rooted.Load(dir); ok {
		return place{path: real.(string)}, nil
	}
	pl, err := t.walk("/", strings.Split(dir[1:], "/"), false)
	if err != nil || pl.uid != 0 || t.ofKernel(pl.path) {
		return pl, err
	}
	st, _, err := t.lstat(pl.path)
	switch {
	case err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR: // opening it says what is wrong
	case t.foreign(st.Uid):
		pl.uid = st.Uid
	default:
		t.rooted.Store(dir, pl.path)
	}
	return pl, nil
}

// foreign tells of an owner who is not root, nor the owner of the root folder.
func (t *tree) foreign(uid uint32) bool { return uid != 0 && uid != t.owner }

// walk follows todo from a folder that root alone decides on, and asks the
// mount table before each look-up.
func (t *tree) walk(at string, todo []string, nofollow bool) (place, error) {
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		next := path.Join(at, part) // at has no symlinks, so ".." is its parent
		if t.ofKernel(next) {
			return place{path: join(next, todo)}, nil
		}
		if err := t.mounts.touchable(path.Join("/", t.mounts.base, next)); err != nil {
			return place{}, err
		}
		st, target, err := t.lstat(next)
		if err != nil {
			return place{path: join(next, todo)}, nil // opening it says what is wrong
		}
		last := !remains(todo)
		link := st.Mode&unix.S_IFMT == unix.S_IFLNK && !(last && nofollow)
		switch {
		case t.foreign(st.Uid) && (link || !last):
			return place{join(next, todo), st.Uid}, nil
		case !link:
			at = next
			continue
		}
		if links++; links > 40 { // MAXSYMLINKS, include/linux/namei.h
			return place{}, unix.ELOOP
		}
		if path.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return place{path: at}, nil
}

// ofKernel tells of the kernel's own file systems: nobody makes links there,
// and what they show of a user's process is no file of his.
func (t *tree) ofKernel(name string) bool {
	if t.fd != unix.AT_FDCWD {
		return false
	}
	top, _, _ := strings.Cut(name[1:], "/")
	return top == "proc" || top == "sys"
}

// attribute tells of the kernel's files that may be opened before they are
// looked at: there is no device among them. Magic links, which lead to devices,
// too, are deeper below /proc/PID (proc_pid_fd(5)).
func (t *tree) attribute(name string) bool {
	if !t.ofKernel(name) || strings.Contains(name, "/..") {
		return false
	}
	return strings.HasPrefix(name, "/sys/") || strings.HasPrefix(name, "/proc/sys/") || strings.Count(name, "/") <= 3
}

// lstat looks at a name whose folders are resolved; target is a symlink's, as
// it was when its owner was looked at.
func (t *tree) lstat(name string) (st unix.Stat_t, target string, err error) {
	if t.fd == unix.AT_FDCWD { // nearly nothing is a symlink, and this is one call instead of three
		if err := t.stat(name, &st, false); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return st, "", err
		}
	}
	fd, err := t.openat(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return st, "", err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return st, "", err
	}
	target, err = readlinkFD(fd)
	return st, target, err
}

// join puts what is still to be walked behind a path, ".." included: that the
// kernel resolves.
func join(at string, todo []string) string {
	if len(todo) == 0 {
		return at
	}
	return strings.TrimSuffix(at, "/") + "/" + strings.Join(todo, "/")
}

// remains reports whether any component is still to be walked.
func remains(todo []string) bool {
	for _, c := range todo {
		if c != "" && c != "." {
			return true
		}
	}
	return false
}
