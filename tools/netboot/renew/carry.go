package renew

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
	"fettle/tools/netboot/menu"
)

// grubModule are files of GRUB's that come and go with its version.
var grubModule = lazy.Regexp(`/grub/[a-z0-9_]+-efi/`)

// Carry brings into a new tree what an admin added to the old one: files that
// the new one does not have, and the serial console of its menus. rel is the
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
		if _, err := os.Lstat(to); err == nil || grubModule().MatchString("/"+rel) {
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
