package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"fettle/host"
	"fettle/internal/units"
)

// spool is an archive's content in one unlinked temporary file, and where in
// it each member is. Of two members of one name the last counts, as with tar.
type spool struct {
	file  *os.File
	index map[string]int32
	nodes []node
	dirs  func() map[string][]string // folder to names, made when first asked for
}

type node struct {
	off, size int64
	mtime     int64
	mode      fs.FileMode
	uid, gid  uint32
	link      string
	tooBig    bool // known by name only
}

// maxName bounds a member's name in bytes: PATH_MAX of Linux.
const maxName = 4096

func readArchive(ctx context.Context, file string, lim Limits) (store, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, pathError("read", file, host.ErrNotRegular)
	}
	in, err := decompress(ctx, f, lim)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer in.Close()
	out := lim.Spool
	if out == nil {
		if out, err = TempFile(); err != nil {
			return nil, fmt.Errorf("making a temporary file: %w", err)
		}
	}
	s := &spool{file: out, index: map[string]int32{".": 0}, nodes: []node{{mode: fs.ModeDir | 0o755}}}
	s.dirs = sync.OnceValue(s.children)
	m := &meter{ctx: ctx, r: in, file: f, lim: lim}
	defer m.end()
	if err := s.fill(m, lim); err != nil {
		out.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// fill reads the whole stream.
func (s *spool) fill(m *meter, lim Limits) error {
	tr := tar.NewReader(m)
	var at, names int64
	buf := make([]byte, 128<<10)
	last := ""
	for n := 0; ; n++ {
		h, err := tr.Next()
		if err == io.EOF && n > 0 {
			return drain(m, buf)
		}
		if err != nil {
			return got(err, n, m.n, last)
		}
		if last = h.Name; len(last) > 80 {
			last = last[:80] + "…"
		}
		// Folders that only members' names imply count too: deep names make thousands.
		if n >= lim.Entries || len(s.nodes) > 2*lim.Entries {
			return fmt.Errorf("has more than %d members: refused; unpack it and give fettle the folder", lim.Entries)
		}
		if len(h.Name) > maxName || len(h.Linkname) > maxName {
			return fmt.Errorf("member %q: name or link target of more than %d bytes: refused", last, maxName)
		}
		if names += int64(len(h.Name) + len(h.Linkname)); names > lim.Names {
			return fmt.Errorf("names and link targets add up to more than %s: refused; unpack it and give fettle the folder", units.Size(lim.Names))
		}
		// A pax header's strings hold on to all of it, up to 1 MiB.
		h.Name, h.Linkname = strings.Clone(h.Name), strings.Clone(h.Linkname)
		name, err := inside(h.Name)
		if err != nil {
			return err
		}
		nd, keep, err := s.node(h)
		if err != nil {
			return err
		}
		if keep {
			most := lim.Member
			if path.Base(name) == "manifest.json" {
				most = lim.Manifest
			}
			if nd.tooBig = h.Size > most; !nd.tooBig {
				if nd.off = at; at+h.Size > lim.Spooled {
					return fmt.Errorf("member %q: files add up to more than %s: refused", last, units.Size(lim.Spooled))
				}
				c, err := m.copy(io.NewOffsetWriter(s.file, at), tr, buf)
				if err != nil {
					return got(spoolError(err), n, m.n, last)
				}
				at, nd.size = at+c, c
			}
		}
		s.put(name, nd)
	}
}

// drain reads behind the end of the tar, so that a cut-off compressor's
// trailer is noticed and a bomb behind it is not believed.
func drain(m *meter, buf []byte) error {
	for {
		if _, err := m.Read(buf); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("after the last member: %w", cutOff(err))
		}
	}
}

var errCut = errors.New("the archive is cut off")

func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// got says how far reading came.
func got(err error, members int, unpacked int64, last string) error {
	if last == "" {
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
			return fmt.Errorf("%w: contains no tar archive, or a truncated one", err)
		}
		return err
	}
	return fmt.Errorf("after %d members (%s unpacked), at %q: %w", members, units.Size(unpacked), last, cutOff(err))
}

func spoolError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("no room for the temporary copy; set TMPDIR to a folder with more space: %w", err)
	}
	return err
}

// inside makes a member's name relative, as tar does, and refuses one that
// climbs: no honest archive has it.
func inside(name string) (string, error) {
	for _, c := range strings.Split(name, "/") {
		if c == ".." {
			return "", fmt.Errorf("member %q leads out of the archive: refused", name)
		}
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("member %q has a null byte in its name: refused", name)
	}
	return path.Join(".", strings.TrimLeft(name, "/")), nil
}

// node makes an index entry of a header; keep tells that content follows.
// Devices and FIFOs are kept as names that cannot be read.
func (s *spool) node(h *tar.Header) (nd node, keep bool, err error) {
	nd = node{size: h.Size, mtime: h.ModTime.Unix(), uid: uint32(h.Uid), gid: uint32(h.Gid), mode: h.FileInfo().Mode()}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, '\x00':
		return nd, true, nil
	case tar.TypeSymlink:
		nd.link, nd.size = h.Linkname, int64(len(h.Linkname))
	case tar.TypeLink:
		to, err := inside(h.Linkname)
		if err != nil {
			return nd, false, fmt.Errorf("hard link %q: %w", h.Name, err)
		}
		i, ok := s.index[to]
		if !ok {
			return nd, false, fmt.Errorf("hard link %q to %q, which is not before it in the archive: refused", h.Name, h.Linkname)
		}
		return s.nodes[i], false, nil
	}
	return nd, false, nil
}

// put files a node, making the folders above it that the archive left out.
func (s *spool) put(name string, nd node) {
	if i, ok := s.index[name]; ok {
		s.nodes[i] = nd
		return
	}
	s.index[name] = int32(len(s.nodes))
	s.nodes = append(s.nodes, nd)
	if up := path.Dir(name); up != "." {
		if _, ok := s.index[up]; !ok {
			s.put(up, node{mode: fs.ModeDir | 0o755, mtime: nd.mtime})
		}
	}
}

func (s *spool) at(p string) (*node, error) {
	i, ok := s.index[p]
	if !ok {
		return nil, host.ErrAbsent
	}
	return &s.nodes[i], nil
}

func (s *spool) lstat(p string) (host.Info, error) {
	n, err := s.at(p)
	if err != nil {
		return host.Info{}, err
	}
	return host.Info{Mode: n.mode, UID: n.uid, GID: n.gid, Size: n.size, Nlink: 1, Ino: uint64(s.index[p]) + 1,
		ModTime: time.Unix(n.mtime, 0).UTC()}, nil
}

func (s *spool) readlink(p string) (string, error) {
	n, err := s.at(p)
	if err == nil && n.mode&fs.ModeSymlink == 0 {
		err = syscall.EINVAL
	}
	if err != nil {
		return "", err
	}
	return n.link, nil
}

func (s *spool) readTail(p string, n int64) (b []byte, cut bool, err error) {
	nd, err := s.at(p)
	if err != nil {
		return nil, false, err
	}
	if nd.tooBig {
		return nil, false, host.ErrTooBig
	}
	from := max(nd.size-n, 0)
	b = make([]byte, nd.size-from)
	_, err = io.ReadFull(io.NewSectionReader(s.file, nd.off+from, nd.size-from), b)
	return b, from > 0, err
}

func (s *spool) readFile(p string, limit int64) ([]byte, error) {
	n, err := s.at(p)
	if err != nil {
		return nil, err
	}
	if n.tooBig || n.size > limit {
		return nil, host.ErrTooBig
	}
	b := make([]byte, n.size)
	_, err = io.ReadFull(io.NewSectionReader(s.file, n.off, n.size), b)
	return b, err
}

func (s *spool) children() map[string][]string {
	m := make(map[string][]string)
	for p := range s.index {
		if p != "." {
			m[path.Dir(p)] = append(m[path.Dir(p)], path.Base(p))
		}
	}
	return m
}

func (s *spool) readDir(p string) ([]host.Entry, error) {
	n, err := s.at(p)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, syscall.ENOTDIR
	}
	out := []host.Entry{}
	for _, name := range s.dirs()[p] {
		out = append(out, host.Entry{Name: name, Type: s.nodes[s.index[path.Join(p, name)]].mode.Type()})
	}
	return out, nil
}

func (s *spool) close() error { return s.file.Close() }

func unlinkedTemp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".fettle-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		// Windows keeps an open file's name; it is in the user's own folder.
		return f, nil
	}
	return f, nil
}
