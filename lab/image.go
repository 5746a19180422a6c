package lab

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// image is a guest's root: a cpio archive (newc) that the kernel unpacks into
// memory, so that nothing of the host is mounted in the guest.
type image struct {
	w    *cpio.Writer
	have map[string]bool
}

func newImage(w io.Writer) *image { return &image{w: cpio.NewWriter(w), have: map[string]bool{}} }

func (im *image) close() error { return im.w.Close() }

// dir adds a folder and those above it.
func (im *image) dir(name string) error {
	name = inside(name)
	if name == "" || name == "." || im.have[name] {
		return nil
	}
	if err := im.dir(filepath.Dir("/" + name)); err != nil {
		return err
	}
	im.have[name] = true
	return im.w.WriteHeader(&cpio.Header{Name: name, Mode: cpio.TypeDir | 0o755, Links: 2})
}

// merged are the folders that are links into /usr in the guest, as on Debian 12.
var merged = []string{"bin", "sbin", "lib", "lib64"}

// inside is the name that a path of the host has in the archive.
func inside(name string) string {
	name = strings.Trim(filepath.Clean(name), "/")
	if first, _, _ := strings.Cut(name, "/"); slices.Contains(merged, first) {
		return "usr/" + name
	}
	return name
}

// skeleton adds the folders that every guest has.
func (im *image) skeleton() error {
	for _, d := range []string{"/dev", "/proc", "/sys", "/run", "/tmp", "/etc", "/root", "/var"} {
		if err := im.dir(d); err != nil {
			return err
		}
	}
	for _, d := range merged {
		if err := im.dir("/usr/" + d); err != nil {
			return err
		}
		if err := im.linkAs(d, "usr/"+d); err != nil {
			return err
		}
	}
	return nil
}

// file adds content under a name.
func (im *image) file(name string, mode fs.FileMode, size int64, content io.Reader) error {
	name = inside(name)
	if im.have[name] {
		return nil
	}
	if err := im.dir(filepath.Dir("/" + name)); err != nil {
		return err
	}
	im.have[name] = true
	if err := im.w.WriteHeader(&cpio.Header{Name: name, Mode: cpio.TypeReg | cpio.FileMode(mode.Perm()), Size: size, Links: 1}); err != nil {
		return err
	}
	_, err := io.Copy(im.w, content)
	return err
}

func (im *image) link(name, target string) error {
	name = inside(name)
	if err := im.dir(filepath.Dir("/" + name)); err != nil {
		return err
	}
	return im.linkAs(name, target)
}

func (im *image) linkAs(name, target string) error {
	if im.have[name] {
		return nil
	}
	im.have[name] = true
	if err := im.w.WriteHeader(&cpio.Header{Name: name, Mode: cpio.TypeSymlink | 0o777, Size: int64(len(target)), Links: 1}); err != nil {
		return err
	}
	_, err := im.w.Write([]byte(target))
	return err
}

// copy adds a file, folder or symlink of the host under the same name; of a
// symlink also what it leads to.
func (im *image) copy(name string) error {
	st, err := os.Lstat(name)
	if err != nil {
		return err
	}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return err
		}
		// The folder of the link may itself be behind a link (/lib → usr/lib).
		if real, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil && real != filepath.Dir(name) {
			return im.copy(filepath.Join(real, filepath.Base(name)))
		}
		if err := im.link(name, target); err != nil {
			return err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(name), target)
		}
		return im.copy(target)
	case st.IsDir():
		es, err := os.ReadDir(name)
		if err != nil {
			return err
		}
		if err := im.dir(name); err != nil {
			return err
		}
		for _, e := range es {
			if err := im.copy(filepath.Join(name, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	case st.Mode().IsRegular():
		return im.copyAs(name, name)
	}
	return nil
}

func (im *image) copyAs(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return im.file(to, st.Mode(), st.Size(), f)
}
