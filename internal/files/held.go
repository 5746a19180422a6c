package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Held is a regular file that is held open, with its folder.
type Held struct {
	*os.File
	Info fs.FileInfo
	root *os.Root
	base string
}

// Hold opens a regular file: not a pipe that nobody writes to.
func Hold(name string) (*Held, error) {
	root, base, f, err := open(name)
	if err != nil {
		return nil, err
	}
	h := &Held{File: f, root: root, base: base}
	if h.Info, err = f.Stat(); err == nil && !h.Info.Mode().IsRegular() {
		err = &fs.PathError{Op: "opening", Path: name, Err: ErrSpecial}
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Held) Close() error { return errors.Join(h.File.Close(), h.root.Close()) }

// Replace puts a new file in place of the one that is held, with its mode and
// owner, unless another one has its name by now.
func (h *Held) Replace(b []byte) error {
	p, err := pend(h.root, h.base, h.Info.Mode().Perm())
	if err != nil {
		return err
	}
	defer p.Cleanup()
	if s, ok := h.Info.Sys().(*syscall.Stat_t); ok {
		// Whoever may not give files away owns the new one.
		if err := p.Chown(int(s.Uid), int(s.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if _, err := p.Write(b); err != nil {
		return err
	}
	now, err := h.root.Lstat(h.base)
	if err != nil {
		return err
	}
	if !os.SameFile(now, h.Info) {
		return &fs.PathError{Op: "writing", Path: h.Name(), Err: errors.New("somebody exchanged it meanwhile")}
	}
	return p.Commit()
}
