package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

func (m Linux) BootID() (string, error) {
	name := m.BootIDFile
	if name == "" {
		name = "/proc/sys/kernel/random/boot_id"
	}
	b, err := os.ReadFile(name)
	return strings.TrimSpace(string(b)), err
}

func (Linux) Look(name string, content bool) (Image, error) {
	img := Image{Type: Absent}
	err := at("look at", name, func(s spot, dir int, base string) error {
		img.Foreign = s.foreign
		fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		img, err = lookAt(fd)
		img.Foreign = s.foreign
		if err == nil && content && img.Type == Regular {
			img.Content, err = readAll(fd)
			img.Size = int64(len(img.Content))
			img.Sum = Sum(img.Content)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return Image{Type: Absent, Foreign: img.Foreign}, nil
	}
	return img, err
}

// identify names the file that an open descriptor holds.
func identify(fd int) (ID, error) {
	var sx unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &sx); err != nil {
		return ID{}, err
	}
	id := ID{Inode: sx.Ino}
	if sx.Mask&unix.STATX_BTIME != 0 {
		id.BornNS = sx.Btime.Sec*1e9 + int64(sx.Btime.Nsec)
	}
	return id, nil
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
	var err error
	if img.ID, err = identify(fd); err != nil {
		return img, err
	}
	// STATX_ATTR_MOUNT_ROOT is known since Linux 5.8; before that the EBUSY of
	// rename tells.
	var sx unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &sx) == nil {
		img.Mount = sx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
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

// Sum is the SHA-256 of content in hexadecimal.
func Sum(b []byte) string {
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
