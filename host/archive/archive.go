// Package archive reads folder trees that somebody else packed: a tar file
// (plain, or compressed with gzip, xz, zstd or bzip2) or a folder. Nothing is
// unpacked into the file system. An archive is read once, as a stream, into
// an unlinked temporary file with an index in memory; a folder is read only
// where it is asked. Names and links never lead out of the tree.
package archive

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"fettle/host"
)

// Limits bound what an archive may cost. Zero values take the defaults.
type Limits struct {
	// Entries is how many members an archive may have.
	Entries int
	// Member is the largest file that is kept, in bytes. A larger one is
	// known by name; reading it answers host.ErrTooBig.
	Member int64
	// Manifest is the same for members called manifest.json.
	Manifest int64
	// Names is how long the names and link targets of all members may be
	// together, in bytes: they are kept in memory.
	Names int64
	// Spooled is how much of the archive may be kept on disk, in bytes.
	Spooled int64
	// Unpacked is how long the unpacked stream may be, in bytes, the holes of
	// sparse members included.
	Unpacked int64
	// Ratio is how many times larger than its packed form the stream may be,
	// looked at after the first 64 MiB. Logs reach about 50, bombs over 1000.
	Ratio int64
	// Window is the memory that a decompressor may take for its dictionary, in
	// bytes. xz -9 needs 64 MiB.
	Window int64
	// Spool takes the content of the archive's members, and is closed with the
	// tree. Nil: a TempFile.
	Spool *os.File
}

func (l Limits) orDefault() Limits {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	if l.Entries == 0 {
		l.Entries = 250_000
	}
	set(&l.Member, host.ReadLimit)
	set(&l.Manifest, 4*host.ReadLimit)
	set(&l.Names, 64<<20)
	set(&l.Spooled, 4<<30)
	set(&l.Unpacked, 16<<30)
	set(&l.Ratio, 400)
	set(&l.Window, 64<<20)
	return l
}

// Tree is a folder tree. Paths are absolute as seen from its own root.
// Errors are *fs.PathError around one of package host's errors. All methods
// may be called concurrently.
type Tree struct {
	store
	name string
	base string // the folder in the store that is the tree's root; "" or "a/b"
}

// store is where a tree's nodes are. Paths are relative and clean, "." is the
// store's root, and no component but the last is a symlink.
type store interface {
	lstat(p string) (host.Info, error)
	readlink(p string) (string, error)
	readFile(p string, limit int64) ([]byte, error)
	readTail(p string, n int64) (b []byte, cut bool, err error)
	readDir(p string) ([]host.Entry, error)
	close() error
}

// Open opens a folder or an archive file.
func Open(ctx context.Context, file string, lim Limits) (*Tree, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	var s store
	if st.IsDir() {
		s, err = openDir(file)
	} else {
		s, err = readArchive(ctx, file, lim.orDefault())
	}
	if err != nil {
		return nil, err
	}
	return &Tree{store: s, name: file}, nil
}

// Name is the file or folder that the tree was opened from.
func (t *Tree) Name() string { return t.name }

// Close frees the tree's temporary file.
func (t *Tree) Close() error { return t.close() }

// Sub makes a folder of the tree its root. It needs no closing of its own.
func (t *Tree) Sub(dir string) (*Tree, error) {
	p, err := t.resolve(dir, true)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	if i, err := t.lstat(p); err != nil || !i.Mode.IsDir() {
		return nil, pathError("open", dir, syscall.ENOTDIR)
	}
	return &Tree{store: t.store, name: t.name, base: strings.TrimPrefix(p, ".")}, nil
}

// Stat is stat(2) or lstat(2).
func (t *Tree) Stat(name string, follow bool) (host.Info, error) {
	p, err := t.resolve(name, follow)
	if err != nil {
		return host.Info{}, pathError("stat", name, err)
	}
	i, err := t.lstat(p)
	return i, pathError("stat", name, err)
}

// Exists reports whether a name is there, following symlinks.
func (t *Tree) Exists(name string) bool {
	_, err := t.Stat(name, true)
	return err == nil
}

// ReadFile reads a regular file of at most limit bytes.
func (t *Tree) ReadFile(name string, limit int64) ([]byte, error) {
	p, err := t.regular(name)
	if err != nil {
		return nil, err
	}
	b, err := t.readFile(p, limit)
	return b, pathError("read", name, err)
}

// regular finds a regular file.
func (t *Tree) regular(name string) (string, error) {
	p, err := t.resolve(name, true)
	if err != nil {
		return "", pathError("open", name, err)
	}
	i, err := t.lstat(p)
	switch {
	case err != nil:
		return "", pathError("open", name, err)
	case !i.Mode.IsRegular():
		return "", pathError("read", name, host.ErrNotRegular)
	}
	return p, nil
}

// ReadTail reads the last n bytes of a file; cut tells that it has more.
func (t *Tree) ReadTail(name string, n int64) (b []byte, cut bool, err error) {
	p, err := t.regular(name)
	if err != nil {
		return nil, false, err
	}
	b, cut, err = t.readTail(p, n)
	return b, cut, pathError("read", name, err)
}

// ReadDir lists a folder, in no order.
func (t *Tree) ReadDir(name string) ([]host.Entry, error) {
	p, err := t.resolve(name, true)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	es, err := t.readDir(p)
	return es, pathError("readdir", name, err)
}

// Readlink reads a symlink's target as stored.
func (t *Tree) Readlink(name string) (string, error) {
	p, err := t.resolve(name, false)
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	s, err := t.readlink(p)
	return s, pathError("readlink", name, err)
}

// resolve walks name from the tree's root, component by component. An
// absolute link starts again at the tree's root, and ".." stops there, as
// openat2(2) RESOLVE_IN_ROOT has it.
func (t *Tree) resolve(name string, follow bool) (string, error) {
	todo := strings.Split(name, "/")
	at := "" // below base
	for links := 0; len(todo) > 0; {
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}
		next := path.Join(at, c)
		i, err := t.lstat(path.Join(t.base, next))
		if err != nil {
			return "", err
		}
		switch {
		case i.Mode&fs.ModeSymlink != 0 && (follow || rest(todo)):
			if links++; links > 40 { // MAXSYMLINKS, include/linux/namei.h
				return "", syscall.ELOOP
			}
			target, err := t.readlink(path.Join(t.base, next))
			if err != nil {
				return "", err
			}
			if path.IsAbs(target) {
				at = ""
			}
			todo = append(strings.Split(target, "/"), todo...)
			continue
		case !i.Mode.IsDir() && rest(todo):
			return "", syscall.ENOTDIR
		}
		at = next
	}
	return path.Join(t.base, at, "."), nil
}

// rest reports whether any component is still to be walked.
func rest(todo []string) bool {
	for _, c := range todo {
		if c != "" && c != "." {
			return true
		}
	}
	return false
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
