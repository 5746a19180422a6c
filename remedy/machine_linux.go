package remedy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Linux is the running machine.
type Linux struct {
	// BootIDFile replaces /proc/sys/kernel/random/boot_id, for tests.
	BootIDFile string
	// SystemctlPath replaces the system's systemctl, for tests; it then
	// counts as booted.
	SystemctlPath string
}

// NewMachine is the running machine.
func NewMachine() Machine { return Linux{BootIDFile: os.Getenv("FETTLE_BOOT_ID_FILE")} }

func (m Linux) BootID() (string, error) {
	name := m.BootIDFile
	if name == "" {
		name = "/proc/sys/kernel/random/boot_id"
	}
	b, err := os.ReadFile(name)
	return strings.TrimSpace(string(b)), err
}

// Resolve follows symlinks by hand: filepath.EvalSymlinks refuses a path
// whose end does not exist yet.
func (Linux) Resolve(name string) (string, error) {
	if !path.IsAbs(name) {
		return "", fmt.Errorf("%s: not an absolute path", name)
	}
	todo := split(name)
	at := "/"
	for links := 0; len(todo) > 0; {
		next := path.Join(at, todo[0])
		todo = todo[1:]
		target, err := os.Readlink(next)
		switch {
		case err == nil:
			if links++; links > 40 { // MAXSYMLINKS, include/linux/namei.h
				return "", &fs.PathError{Op: "resolve", Path: name, Err: unix.ELOOP}
			}
			if path.IsAbs(target) {
				at = "/"
			}
			todo = append(split(target), todo...)
		case errors.Is(err, unix.EINVAL), errors.Is(err, fs.ErrNotExist): // no symlink; nothing there yet
			at = next
		default:
			return "", err
		}
	}
	return at, nil
}

func split(name string) []string {
	return strings.FieldsFunc(path.Clean(name), func(r rune) bool { return r == '/' })
}

// parent opens the folder of a real path, refusing symlinks on the way.
func parent(op, name string) (fd int, base string, err error) {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return -1, "", &fs.PathError{Op: op, Path: name, Err: unix.EINVAL}
	}
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = unix.Open("/", flags, 0)
	parts := split(name)
	if err == nil && len(parts) == 0 {
		return fd, ".", nil
	}
	for i := 0; err == nil && i < len(parts)-1; i++ {
		var next int
		next, err = unix.Openat(fd, parts[i], flags, 0)
		unix.Close(fd)
		fd = next
	}
	if err != nil {
		return -1, "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return fd, parts[len(parts)-1], nil
}

// at runs f on the open parent of a path and names the path in its error.
func at(op, name string, f func(fd int, base string) error) error {
	fd, base, err := parent(op, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		err = f(fd, base)
		if err != unix.EINTR {
			break
		}
	}
	var pe *fs.PathError
	if err != nil && !errors.As(err, &pe) {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return err
}

func (Linux) Look(name string, content bool) (Image, error) {
	img := Image{Type: Absent}
	err := at("look at", name, func(dir int, base string) error {
		fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		img, err = lookAt(fd)
		if err == nil && content && img.Type == Regular {
			img.content, err = readAll(fd)
			img.Size = int64(len(img.content))
			img.Sum = sum(img.content)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return Image{Type: Absent}, nil
	}
	return img, err
}

func lookAt(fd int) (Image, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Image{}, err
	}
	img := Image{Type: Other, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, Links: uint64(st.Nlink),
		ModNS: st.Mtim.Nano(), Size: st.Size}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		img.Type = Regular
	case unix.S_IFDIR:
		img.Type, img.Links, img.Size = Folder, 0, 0
	default:
		return img, nil
	}
	// STATX_ATTR_MOUNT_ROOT is known since Linux 5.8; before that the EBUSY of
	// rename tells.
	var sx unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &sx) == nil {
		img.Mount = sx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	var err error
	img.Xattrs, err = readXattrs(procFD(fd))
	return img, err
}

// procFD is a path to what an O_PATH descriptor holds: the f*xattr calls
// refuse such descriptors (open(2)).
func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func readXattrs(name string) (map[string][]byte, error) {
	buf := make([]byte, 64<<10) // XATTR_LIST_MAX and XATTR_SIZE_MAX, include/uapi/linux/limits.h
	n, err := unix.Listxattr(name, buf)
	if err == unix.ENOTSUP {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing extended attributes: %w", err)
	}
	var out map[string][]byte
	val := make([]byte, 64<<10)
	for _, attr := range strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 }) {
		n, err := unix.Getxattr(name, attr, val)
		if err == unix.ENODATA || err == unix.ENOTSUP {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", attr, err)
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[attr] = append([]byte{}, val[:n]...)
	}
	return out, nil
}

func readAll(fd int) ([]byte, error) {
	f, err := os.Open(procFD(fd))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, ContentLimit+1))
	if err == nil && len(b) > ContentLimit {
		err = fmt.Errorf("larger than %d MiB, which fettle does not change", ContentLimit>>20)
	}
	return b, err
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func (Linux) List(dir string) ([]string, error) {
	es, err := os.ReadDir(dir)
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name()
	}
	sort.Strings(names)
	return names, err
}

func (Linux) ReadValue(name string) (string, error) {
	b, err := os.ReadFile(name)
	return strings.TrimSuffix(string(b), "\n"), err
}
