package host

import (
	"os"
	"path"
	"sort"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// mountTable keeps fettle's hands off network file systems: it reads
// /proc/self/mountinfo, which never touches them, before any path is looked up.
type mountTable struct {
	once   sync.Once
	mounts []mount // longest mount point first
	remote bool    // at least one may hang
	base   string  // the host's root, without symlinks; empty is "/"
}

type mount struct {
	dev     uint64
	point   string
	device  string
	fstype  string
	options string
	network bool
}

func (m *mountTable) load() {
	m.once.Do(func() {
		b, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return // no /proc: then there is nothing to know
		}
		m.set(parseMountinfo(string(b)))
	})
}

func (m *mountTable) set(mounts []mount) {
	m.mounts = mounts
	for _, mt := range mounts {
		m.remote = m.remote || mt.network
	}
	sort.SliceStable(mounts, func(i, j int) bool { return len(mounts[i].point) > len(mounts[j].point) })
}

func parseMountinfo(s string) []mount {
	var out []mount
	for _, m := range ParseMountinfo(s) {
		out = append(
			out,
			mount{
				dev:     unix.Mkdev(m.Major, m.Minor),
				point:   m.Point,
				fstype:  m.Type,
				device:  m.Device,
				options: m.Options,
				network: MayHang(m.Type),
			},
		)
	}
	return out
}

// of finds the mount that a path without symlinks lies on.
func (m *mountTable) of(name string) (mount, bool) {
	m.load()
	for _, mt := range m.mounts {
		if rest, ok := strings.CutPrefix(name, mt.point); ok && (mt.point == "/" || rest == "" || rest[0] == '/') {
			return mt, true
		}
	}
	return mount{}, false
}

// touchable refuses a path on a network file system. The one that holds the
// host's own root is touched nevertheless: a diskless machine lives on it, and
// who names a root folder there wants it read.
func (m *mountTable) touchable(name string) error {
	if m.load(); !m.remote {
		return nil
	}
	mt, ok := m.of(name)
	if !ok || !mt.network || mt.point == "/" {
		return nil
	}
	if m.base != "" && m.base != "/" {
		if home, ok := m.of(m.base); ok && home.point == mt.point {
			return nil
		}
	}
	return ErrNetworkMount
}

// resolve follows the symlinks of a path by hand, asking the mount table
// before each look-up. Without network mounts the kernel does it alone. The
// path is as seen from the host's root, base; readlink reads one of its links.
func (m *mountTable) resolve(name string, nofollow bool, readlink func(string) (string, error)) (string, error) {
	if m.load(); !m.remote {
		return name, nil
	}
	return m.walk(name, nofollow, readlink)
}

func (m *mountTable) walk(name string, nofollow bool, readlink func(string) (string, error)) (string, error) {
	todo := strings.Split(name, "/")
	at := "/"
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		next := path.Join(at, part) // at has no symlinks, so ".." is its parent
		if err := m.touchable(path.Join("/", m.base, next)); err != nil {
			return "", err
		}
		last := len(todo) == 0
		if last && nofollow {
			return next, nil
		}
		target, err := readlink(next)
		if err != nil {
			at = next // no symlink, or absent: the open says which
			continue
		}
		if last && m.base == "" && strings.HasPrefix(next, "/proc/") {
			// A magic link (proc_pid_fd(5)): its text may name nothing, and the kernel
			// follows it better. Where it leads is what may hang.
			if path.IsAbs(target) {
				if err := m.touchable(target); err != nil {
					return "", err
				}
			}
			return next, nil
		}
		if links++; links > 40 { // MAXSYMLINKS, include/linux/namei.h
			return "", unix.ELOOP
		}
		if path.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at, nil
}
