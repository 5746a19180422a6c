package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/asuser"
)

// Whoever can write to a folder can put a link, another file or another
// folder in the place of any name in it, at any moment. So root opens folder
// by folder, follows links only where nobody else can have made them, and
// below the first folder of somebody else's acts with that user's rights.

// ground is how far the way to a name can be trusted.
type ground struct {
	// foreign is set when somebody other than root can rename on the way.
	foreign bool
	// owner is the first user on the way who can, other than root.
	owner uint32
	at    string // the first folder that somebody else can write to
}

// owned tells whether a user other than root can rename, and not a group alone.
func (g ground) owned() bool { return g.owner != 0 }

// enter judges one folder of the way, and who may replace the name next in it.
func (g *ground) enter(fd int, at, next string) error {
	var dir, entry unix.Stat_t
	if err := unix.Fstat(fd, &dir); err != nil {
		return err
	}
	owner := dir.Uid
	if owner == 0 {
		if dir.Mode&0o022 == 0 {
			return nil
		}
		if dir.Mode&unix.S_ISVTX != 0 { // only the entry's owner may rename it
			err := unix.Fstatat(fd, next, &entry, unix.AT_SYMLINK_NOFOLLOW)
			if err == unix.ENOENT || err == nil && entry.Uid == 0 {
				return nil
			}
			if err != nil {
				return err
			}
			owner = entry.Uid
		}
	}
	if !g.foreign {
		g.foreign, g.at = true, at
	}
	if !g.owned() {
		g.owner = owner
	}
	return nil
}

// spot is a name in an open folder, and on which ground that lies.
type spot struct {
	ground
	fd   int    // the folder, or the one from which rest leads on
	rest string // from fd to the folder, as the owner; empty: fd is the folder
	base string
}

// find opens the way to a name as far as root itself may: to the folder, or
// to the first one that belongs to somebody else.
func find(op, name string) (spot, error) {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return spot{}, &fs.PathError{Op: op, Path: name, Err: unix.EINVAL}
	}
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return spot{}, &fs.PathError{Op: op, Path: "/", Err: err}
	}
	s := spot{fd: fd, base: "."}
	parts := split(name)
	for i, part := range parts {
		at := "/" + path.Join(parts[:i]...)
		if err = s.enter(s.fd, at, part); err != nil {
			break
		}
		if s.owned() {
			s.rest, s.base = path.Join(parts[i:len(parts)-1]...), parts[len(parts)-1]
			return s, nil
		}
		if i == len(parts)-1 {
			s.base = part
			return s, nil
		}
		var next int
		if next, err = unix.Openat(s.fd, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			break
		}
		unix.Close(s.fd)
		s.fd = next
	}
	if err != nil {
		unix.Close(s.fd)
		return spot{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return s, nil
}

const folderOnly = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// below opens a folder without following any link (openat2(2)); kernels
// before 5.6 are asked folder by folder.
func below(fd int, rest string) (int, error) {
	how := unix.OpenHow{Flags: folderOnly, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	dir, err := unix.Openat2(fd, rest, &how)
	if err == unix.ENOSYS {
		return folderByFolder(fd, rest)
	}
	return dir, err
}

func folderByFolder(fd int, rest string) (int, error) {
	dir := fd
	for _, part := range split(rest) {
		next, err := unix.Openat(dir, part, folderOnly, 0)
		if dir != fd {
			unix.Close(dir)
		}
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

// at runs f on the open folder of a path, with the rights that its ground
// calls for, and names the path in its error.
func at(op, name string, f func(s spot, dir int, base string) error) error {
	s, err := find(op, name)
	if err != nil {
		return err
	}
	defer unix.Close(s.fd)
	act := func() error {
		dir := s.fd
		if s.rest != "" {
			var err error
			if dir, err = below(s.fd, s.rest); err != nil {
				return err
			}
			defer unix.Close(dir)
		}
		for {
			if err := f(s, dir, s.base); err != unix.EINTR {
				return err
			}
		}
	}
	if s.owned() {
		var u credentials
		if u, err = rightsOf(s.owner); err == nil {
			err = asuser.Do(u.uid, u.gid, u.groups, act)
		}
	} else {
		err = act()
	}
	var pe *fs.PathError
	if err != nil && !errors.As(err, &pe) {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	if errors.Is(err, fs.ErrPermission) && s.owned() {
		err = fmt.Errorf("%w (%s belongs to user ID %d, with whose rights fettle acts there)", err, s.at, s.owner)
	}
	return err
}

type credentials struct {
	uid, gid uint32
	groups   []uint32
}

// rightsOf looks a user's groups up: in the files, and else where the name
// service leads.
func rightsOf(uid uint32) (credentials, error) {
	c := credentials{uid: uid}
	id := strconv.FormatUint(uint64(uid), 10)
	u, err := user.LookupId(id)
	if err == nil {
		ids, _ := u.GroupIds() // without them he may less, not more
		for _, g := range ids {
			if n, err := strconv.ParseUint(g, 10, 32); err == nil {
				c.groups = append(c.groups, uint32(n))
			}
		}
		n, err := strconv.ParseUint(u.Gid, 10, 32)
		c.gid = uint32(n)
		return c, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	out, xerr := host.Exec(ctx, host.CommandSpec{Limit: askLimit, MaxOutput: 64 << 10}, []string{"/usr/bin/getent", "passwd", id})
	if f := bytes.Split(bytes.TrimSpace(out.Stdout), []byte(":")); xerr == nil && len(f) >= 7 {
		n, err := strconv.ParseUint(string(f[3]), 10, 32)
		c.gid = uint32(n)
		return c, err
	}
	return c, fmt.Errorf("no account has user ID %d, with whose rights fettle would have to act: %w", uid, err)
}

// askLimit is how long the name service may take.
const askLimit = 10 * time.Second

// Resolve follows symlinks by hand: filepath.EvalSymlinks refuses a path
// whose end does not exist yet. A link that somebody other than root can have
// made is not followed.
func (Linux) Resolve(name string) (string, error) {
	if !path.IsAbs(name) {
		return "", fmt.Errorf("%s: not an absolute path", name)
	}
	todo := split(name)
	here := "/"
	for links := 0; len(todo) > 0; {
		next := path.Join(here, todo[0])
		todo = todo[1:]
		target, s, err := readlink(next)
		switch {
		case err == nil && s.foreign:
			return "", &Untrusted{Path: next, Folder: s.at, Target: target}
		case err == nil:
			if links++; links > 40 { // MAXSYMLINKS, include/linux/namei.h
				return "", &fs.PathError{Op: "resolve", Path: name, Err: unix.ELOOP}
			}
			if path.IsAbs(target) {
				here = "/"
			}
			todo = append(split(target), todo...)
		case errors.Is(err, unix.EINVAL), errors.Is(err, fs.ErrNotExist): // no symlink; nothing there yet
			here = next
		default:
			return "", err
		}
	}
	return here, nil
}

func readlink(name string) (target string, s spot, err error) {
	if name == "/" {
		return "", s, unix.EINVAL
	}
	err = at("resolve", name, func(sp spot, dir int, base string) error {
		s = sp
		b := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, base, b)
		if err == nil {
			target = string(b[:n])
		}
		return err
	})
	return target, s, err
}
