package host

import (
	"os"
	"path"
	"sort"
	"strconv"
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

// parseMountinfo reads proc_pid_mountinfo(5). A later mount on the same point
// hides the earlier one.
func parseMountinfo(s string) []mount {
	var out []mount
	at := map[string]int{}
	for line := range strings.Lines(s) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 2 {
			continue
		}
		major, minor, _ := strings.Cut(l[2], ":")
		maj, _ := strconv.ParseUint(major, 10, 32)
		mnr, _ := strconv.ParseUint(minor, 10, 32)
		mt := mount{dev: unix.Mkdev(uint32(maj), uint32(mnr)), point: unescapeMount(l[4]), fstype: r[0],
			device: unescapeMount(r[1]), options: l[5], network: NetworkFilesystem(r[0])}
		if i, ok := at[mt.point]; ok {
			out[i] = mt
			continue
		}
		at[mt.point] = len(out)
		out = append(out, mt)
	}
	return out
}

// unescapeMount undoes the octal escapes of space, tab, newline and backslash.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}

// of finds the mount that a path without symlinks lies on.
func (m *mountTable) of(name string) (mount, bool) {
	m.load()
	for _, mt := range m.mounts {
		if mt.point == "/" || name == mt.point || strings.HasPrefix(name, mt.point+"/") {
			return mt, true
		}
	}
	return mount{}, false
}

// touchable refuses a path on a network file system.
func (m *mountTable) touchable(name string) error {
	if mt, ok := m.of(name); ok && mt.network {
		return ErrNetworkMount
	}
	return nil
}

// resolve follows the symlinks of a live path by hand, asking the mount table
// before each look-up. Without network mounts the kernel does it alone.
func (m *mountTable) resolve(name string, nofollow bool) (string, error) {
	m.load()
	if !m.remote {
		return name, nil
	}
	todo := strings.Split(strings.Trim(path.Clean(name), "/"), "/")
	at := "/"
	for links := 0; len(todo) > 0; {
		next := path.Join(at, todo[0])
		todo = todo[1:]
		if err := m.touchable(next); err != nil {
			return "", err
		}
		if len(todo) == 0 && nofollow || strings.HasPrefix(next, "/proc/") {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			at = next // no symlink, or absent: the open says which
			continue
		}
		if links++; links > 40 {
			return "", unix.ELOOP
		}
		if path.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(strings.Trim(path.Clean(target), "/"), "/"), todo...)
		if target == "/" {
			todo = todo[1:]
		}
	}
	return at, nil
}
