package renew

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"fettle/internal/files"
)

// Part is a tree that is being made: in a folder that nobody else can enter, beside
// the place where it will be. All that is done to it is done below what is open.
type Part struct {
	*os.Root
	dir      *os.Root // where it will be
	to, name string   // its name there, and its passing one
}

// Prepare makes an empty folder beside a new one's place, in which it is
// built: to exists only when it is whole. What an earlier try left is removed.
func Prepare(to string) (*Part, error) {
	dir, err := files.Folder(filepath.Dir(to))
	if err != nil {
		return nil, err
	}
	p := &Part{dir: dir, to: filepath.Base(to)}
	if err := p.make(); err != nil {
		dir.Close()
		return nil, err
	}
	return p, nil
}

func (p *Part) make() error {
	if _, err := p.dir.Lstat(p.to); err == nil {
		return fmt.Errorf("%s is there already", filepath.Join(p.dir.Name(), p.to))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := sweep(p.dir, p.to); err != nil {
		return err
	}
	p.name = files.Unguessable(partOf(p.to))
	if err := p.dir.Mkdir(p.name, 0o700); err != nil {
		return err
	}
	var err error
	if p.Root, err = p.dir.OpenRoot(p.name); err != nil {
		return err
	}
	if made, err := files.Made(p.Root); err != nil || !made {
		p.Root.Close()
		return errors.Join(err, fmt.Errorf("somebody exchanged a new folder in %s at that moment: look who can write there", p.dir.Name()))
	}
	return nil
}

func partOf(to string) string { return to + ".part-" }

// sweep removes what earlier tries left.
func sweep(dir *os.Root, to string) error {
	es, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range es {
		if err == nil && strings.HasPrefix(e.Name(), partOf(to)) {
			err = dir.RemoveAll(e.Name())
		}
	}
	return err
}

// Path names the tree while it is made, for those that only read.
func (p *Part) Path() string { return filepath.Join(p.dir.Name(), p.name) }

// Drop removes a tree that was not finished.
func (p *Part) Drop() {
	if p.name != "" {
		p.dir.RemoveAll(p.name)
	}
	p.Root.Close()
	p.dir.Close()
}

// Finish gives a whole folder its name. A stage stays closed to all others.
func (p *Part) Finish(stage bool) error {
	if err := syncTree(p.Root); err != nil {
		return err
	}
	if !stage {
		if err := p.Chmod(".", 0o755); err != nil {
			return err
		}
	}
	if _, err := p.dir.Lstat(p.to); err == nil {
		return fmt.Errorf("%s was created by another program meanwhile", filepath.Join(p.dir.Name(), p.to))
	}
	if err := p.dir.Rename(p.name, p.to); err != nil {
		return err
	}
	p.name = ""
	named, err := p.dir.Lstat(p.to)
	if err != nil {
		return err
	}
	own, err := p.Stat(".")
	if err == nil && !os.SameFile(named, own) {
		err = fmt.Errorf("somebody exchanged %s at that moment: look who can write there", filepath.Join(p.dir.Name(), p.to))
	}
	return errors.Join(err, syncDir(p.dir, "."))
}

// syncTree makes the names in all folders durable; files were synced as they were written.
func syncTree(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(root, name)
	})
}

func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(path.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
