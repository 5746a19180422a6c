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
// its initrds, as this fettle writes them. rel is the
// kernel's folder below both roots, as "debian-installer/amd64".
func Carry(ctx context.Context, h *host.Host, oldRoot, newRoot, rel string) error {
	old, new := filepath.Join(oldRoot, rel), filepath.Join(newRoot, rel)
	err := filepath.WalkDir(old, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(old, name)
		if err != nil || rel == "." {
			return err
		}
		to := filepath.Join(new, rel)
		if _, err := os.Lstat(to); err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "initrd") {
			return carryHooks(name, to)
		} else if err == nil || grubModule().MatchString("/"+rel) {
			return nil
		}
		switch {
		case d.IsDir():
			return os.Mkdir(to, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err == nil {
				err = os.Symlink(target, to)
			}
			return err
		case d.Type().IsRegular():
			return copyFile(name, to)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return console(ctx, h, oldRoot, newRoot)
}

// initrdLimit bounds an initrd that is read into memory, in bytes.
const initrdLimit = 512 << 20

// carryHooks appends to a new initrd the parts of fettle's hooks that the old one has.
func carryHooks(old, new string) error {
	had, err := files.ReadAtMost(old, initrdLimit)
	if err != nil {
		return err
	}
	found, err := hooks.Find(had)
	if errors.Is(err, hooks.ErrNotThere) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", old, err)
	}
	parts := found.Parts()
	if len(parts) == 0 {
		return nil
	}
	fresh, err := files.ReadAtMost(new, initrdLimit)
	if err != nil {
		return err
	}
	with, err := hooks.Append(fresh, parts)
	if err != nil {
		return fmt.Errorf("appending the hooks to %s: %w", new, err)
	}
	st, err := os.Stat(new)
	if err != nil {
		return err
	}
	return os.WriteFile(new, with, st.Mode().Perm())
}

// console sends the new menus where most entries of the old ones went.
func console(ctx context.Context, h *host.Host, old, new string) error {
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
	after, err := menu.Read(ctx, h, new)
	if err != nil {
		return err
	}
	for _, e := range after.Rewrite(c) {
		if err := os.WriteFile(e.Path, []byte(e.New), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// Root is the served root of a kernel's folder as debian-installer/ARCH below
// it, and that path.
func Root(folder string) (root, rel string, ok bool) {
	dir, arch := filepath.Split(filepath.Clean(folder))
	root, name := filepath.Split(strings.TrimSuffix(dir, "/"))
	return filepath.Clean(root), filepath.Join(name, arch), name == "debian-installer" && arch != ""
}
