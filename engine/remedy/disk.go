package remedy

import (
	"errors"
	"io/fs"
	"os"
	"sort"
)

// disk is the folder in which changes are kept; names are relative to it.
// What it is told is durable after Sync: of a file its content, of a folder
// the names in it.
type disk interface {
	Mkdir(name string) error
	// Write makes a file, or gives it other content.
	Write(name string, content []byte) error
	// WriteAt cuts a file off at an offset and goes on from there.
	WriteAt(name string, b []byte, off int64) error
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	Sync(name string) error
	Read(name string) ([]byte, error)
	List(dir string) ([]string, error)
}

// rootDisk is a folder by its descriptor: nothing that is later put in the
// place of its path leads elsewhere.
type rootDisk struct{ root *os.Root }

func (d rootDisk) Mkdir(name string) error           { return d.root.Mkdir(name, 0o700) }
func (d rootDisk) Rename(from, to string) error      { return d.root.Rename(from, to) }
func (d rootDisk) Remove(name string) error          { return d.root.Remove(name) }
func (d rootDisk) RemoveAll(name string) error       { return d.root.RemoveAll(name) }
func (d rootDisk) Read(name string) ([]byte, error)  { return d.root.ReadFile(name) }
func (d rootDisk) Write(name string, b []byte) error { return d.root.WriteFile(name, b, 0o600) }

func (d rootDisk) WriteAt(name string, b []byte, off int64) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(off); err == nil {
		_, err = f.WriteAt(b, off)
	}
	return errors.Join(err, f.Close())
}

func (d rootDisk) Sync(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d rootDisk) List(dir string) ([]string, error) {
	es, err := fs.ReadDir(d.root.FS(), dir)
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name()
	}
	sort.Strings(names)
	return names, err
}
