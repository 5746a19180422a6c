package renew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fettle/host"
	"fettle/internal/files"
	"fettle/internal/lazy"
	"fettle/tools/netboot/hooks"
	"fettle/tools/netboot/menu"
)

// grubModule are files of GRUB's that come and go with its version.
var grubModule = lazy.Regexp(`/grub/[a-z0-9_]+-efi/`)

// Carry brings into a new tree what an admin added to the old one: files that
// the new one does not have, the serial console of its menus, and fettle's hooks in
// its initrds, as this fettle writes them. rel is the kernel's folder below both roots, as
// "debian-installer/amd64". A file is copied
// if it is what its name says in the old tree, and not by way of a link.
func Carry(ctx context.Context, h *host.Host, oldRoot string, p *Part, rel string) error {
	root, err := files.Folder(oldRoot)
	if err != nil {
		return err
	}
	defer root.Close()
	old, err := root.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer old.Close()
	new, err := p.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer new.Close()
	c := carrying{old: old, new: new, mostFiles: maxFiles, mostBytes: maxTree}
	if err := c.all(); err != nil {
		return err
	}
	return console(ctx, h, oldRoot, p)
}

// carrying counts what it copies: somebody may add to the old tree forever.
type carrying struct {
	old, new  *os.Root
	mostFiles int
	mostBytes int64
	files     int
	bytes     int64
}

func (c *carrying) all() error { return fs.WalkDir(c.old.FS(), ".", c.one) }

func (c *carrying) one(name string, d fs.DirEntry, err error) error {
	if err != nil || name == "." {
		return err
	}
	if _, err := c.new.Lstat(name); err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "initrd") {
		return c.hooks(name, d)
	} else if err == nil || grubModule().MatchString("/"+name) {
		return nil
	}
	if c.files++; c.files > c.mostFiles {
		return fmt.Errorf("more than %d files were added", c.mostFiles)
	}
	switch {
	case d.IsDir():
		return c.new.Mkdir(name, 0o755)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := c.old.Readlink(name)
		if err == nil {
			err = c.new.Symlink(target, name)
		}
		return err
	case d.Type().IsRegular():
		return c.file(name, d)
	}
	return nil
}

func (c *carrying) file(name string, d fs.DirEntry) error {
	st, err := d.Info()
	if err != nil {
		return err
	}
	in, err := openFile(c.old, name, st)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.new.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, c.mostBytes-c.bytes+1))
	if c.bytes += n; err == nil && c.bytes > c.mostBytes {
		err = fmt.Errorf("more than %d bytes were added", c.mostBytes)
	}
	return errors.Join(err, out.Sync(), out.Close())
}

// initrdLimit bounds an initrd that is read into memory, in bytes.
const initrdLimit = 512 << 20

// hooks appends to a new initrd the parts of fettle's hooks that the old one has.
func (c *carrying) hooks(name string, d fs.DirEntry) error {
	st, err := d.Info()
	if err != nil {
		return err
	}
	in, err := openFile(c.old, name, st)
	if err != nil {
		return err
	}
	defer in.Close()
	had, err := files.AtMost(in, name, initrdLimit)
	if err != nil {
		return err
	}
	found, err := hooks.Find(had)
	if errors.Is(err, hooks.ErrNotThere) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	parts := found.Parts()
	if len(parts) == 0 {
		return nil
	}
	out, err := c.new.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	fresh, err := files.AtMost(out, "the new "+name, initrdLimit)
	if err != nil {
		return err
	}
	with, err := hooks.Append(fresh, parts)
	if err != nil {
		return fmt.Errorf("appending the hooks to the new %s: %w", name, err)
	}
	if err := out.Truncate(0); err != nil {
		return err
	}
	if _, err := out.WriteAt(with, 0); err != nil {
		return err
	}
	return out.Sync()
}

// console sends the new menus where most entries of the old ones went.
func console(ctx context.Context, h *host.Host, old string, new *Part) error {
	before, err := menu.Read(ctx, h, old)
	if errors.Is(err, menu.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	c, ok := before.Most()
	if !ok {
		return nil
	}
	at, err := filepath.EvalSymlinks(new.Path())
	if err != nil {
		return err
	}
	after, err := menu.Read(ctx, h, at)
	if err != nil {
		return err
	}
	for _, e := range after.Rewrite(c) {
		name, err := filepath.Rel(at, e.Path)
		if err != nil {
			return err
		}
		// What was read by path is what lies below the open folder.
		if b, err := new.ReadFile(name); err != nil || string(b) != e.Old {
			return errors.Join(err, fmt.Errorf("the menu %s was exchanged at that moment", name))
		}
		if err := new.WriteFile(name, []byte(e.New), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Root is the served root of a kernel's folder as debian-installer/ARCH below
// it, and that path.
func Root(folder string) (root, rel string, ok bool) {
	dir, arch := filepath.Split(filepath.Clean(folder))
	root, name := filepath.Split(strings.TrimSuffix(dir, "/"))
	return filepath.Clean(root), filepath.Join(name, arch), name == "debian-installer" && arch != ""
}
