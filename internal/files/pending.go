package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Pending is a new file without its name yet, in a folder that is held open:
// whoever can write there finds out its passing name, and can remove it, but
// leads no write anywhere.
type Pending struct {
	*os.File
	root      *os.Root
	base, tmp string
	own       bool // the folder was opened for this file
}

// Create makes a file that will replace name, with this mode whatever the umask.
func Create(name string, mode fs.FileMode) (*Pending, error) {
	root, err := Folder(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	p, err := pend(root, filepath.Base(name), mode)
	if err != nil {
		root.Close()
		return nil, err
	}
	p.own = true
	return p, nil
}

func pend(root *os.Root, base string, mode fs.FileMode) (p *Pending, err error) {
	p = &Pending{root: root, base: base, tmp: Unguessable(".fettle-")}
	if p.File, err = root.OpenFile(p.tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if err := p.Chmod(mode); err != nil {
		p.Cleanup()
		return nil, err
	}
	return p, nil
}

// Unguessable is a name that nobody can have taken beforehand.
func Unguessable(prefix string) string {
	var b [16]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// Rename has the file get another name in the same folder than it was made for.
func (p *Pending) Rename(base string) { p.base = base }

// Commit gives the file its name, in place of what has it, and closes it.
func (p *Pending) Commit() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.still(p.tmp); err != nil {
		return err
	}
	if err := p.root.Rename(p.tmp, p.base); err != nil {
		return err
	}
	p.tmp = ""
	return errors.Join(p.still(p.base), p.close())
}

// still tells whether a name is this file's.
func (p *Pending) still(name string) error {
	named, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	own, err := p.Stat()
	if err == nil && !os.SameFile(named, own) {
		err = &fs.PathError{
			Op:   "writing",
			Path: p.Path(),
			Err:  errors.New("somebody exchanged the file at that moment: look who can write to the folder"),
		}
	}
	return err
}

// Path is where the file will be.
func (p *Pending) Path() string { return filepath.Join(p.root.Name(), p.base) }

// Cleanup removes a file that got no name; after Commit it does nothing.
func (p *Pending) Cleanup() {
	if p == nil || p.tmp == "" {
		return
	}
	p.root.Remove(p.tmp)
	p.tmp = ""
	p.close()
}

func (p *Pending) close() error {
	err := p.Close()
	if p.own {
		err = errors.Join(err, p.root.Close())
	}
	return err
}

// WriteFile replaces a file in one step, with this mode.
func WriteFile(name string, b []byte, mode fs.FileMode) error {
	return replace(name, mode, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteNew writes a new file, and refuses where something stands already.
func WriteNew(name string, b []byte, mode fs.FileMode) error {
	root, err := Folder(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	base := filepath.Base(name)
	f, err := root.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		root.Remove(base) // half of it would be in the way next time
	}
	return err
}

// Append opens a regular file to write to its end, and makes it where there is none.
func Append(name string, mode fs.FileMode) (*os.File, error) {
	root, err := Folder(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.Base(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|nonblock, mode)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, &fs.PathError{Op: "opening", Path: name, Err: ErrSpecial})
	}
	return f, nil
}

func replace(name string, mode fs.FileMode, write func(io.Writer) error) error {
	p, err := Create(name, mode)
	if err != nil {
		return err
	}
	defer p.Cleanup()
	if err := write(p.File); err != nil {
		return err
	}
	return p.Commit()
}
