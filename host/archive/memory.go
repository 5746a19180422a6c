package archive

import (
	"io/fs"
	"path"
	"strings"
	"syscall"

	"fettle/host"
)

// memoryStore holds files that were made from something else, by their paths.
type memoryStore struct {
	files map[string][]byte
	dirs  map[string]map[string]bool // names in a folder; true is a folder
}

// Memory makes a tree of files by their absolute paths. A path that leads through
// another's file is left out.
func Memory(name string, files map[string][]byte) *Tree {
	m := memoryStore{files: map[string][]byte{}, dirs: map[string]map[string]bool{".": {}}}
	for p, b := range files {
		m.files[strings.TrimPrefix(path.Clean("/"+p), "/")] = b
	}
	for p := range m.files {
		if p == "" || m.through(p) {
			delete(m.files, p)
			continue
		}
		for at, folder := p, false; at != "."; at, folder = path.Dir(at), true {
			dir := m.dirs[path.Dir(at)]
			if dir == nil {
				dir = map[string]bool{}
				m.dirs[path.Dir(at)] = dir
			}
			dir[path.Base(at)] = folder
		}
	}
	return &Tree{store: m, name: name}
}

// through tells that a folder above p is a file.
func (m memoryStore) through(p string) bool {
	for at := path.Dir(p); at != "."; at = path.Dir(at) {
		if _, ok := m.files[at]; ok {
			return true
		}
	}
	return false
}

func (m memoryStore) close() error { return nil }

func (m memoryStore) lstat(p string) (host.Info, error) {
	if b, ok := m.files[p]; ok {
		return host.Info{Mode: 0o644, Size: int64(len(b)), Nlink: 1}, nil
	}
	if _, ok := m.dirs[p]; ok {
		return host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}, nil
	}
	return host.Info{}, host.ErrAbsent
}

func (m memoryStore) readlink(p string) (string, error) {
	if _, err := m.lstat(p); err != nil {
		return "", err
	}
	return "", syscall.EINVAL
}

func (m memoryStore) readFile(p string, limit int64) ([]byte, error) {
	b := m.files[p]
	if int64(len(b)) > limit {
		return nil, host.ErrTooBig
	}
	return b, nil
}

func (m memoryStore) readTail(p string, n int64) (b []byte, cut bool, err error) {
	b, ok := m.files[p]
	if !ok {
		return nil, false, host.ErrNotRegular
	}
	from := max(int64(len(b))-n, 0)
	return b[from:], from > 0, nil
}

func (m memoryStore) readDir(p string) ([]host.Entry, error) {
	dir, ok := m.dirs[p]
	if !ok {
		return nil, syscall.ENOTDIR
	}
	out := make([]host.Entry, 0, len(dir))
	for name, folder := range dir {
		e := host.Entry{Name: name}
		if folder {
			e.Type = fs.ModeDir
		}
		out = append(out, e)
	}
	return out, nil
}
