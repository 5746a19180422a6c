package renew

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const (
	maxFiles = 20_000
	maxTree  = 2 << 30 // bytes, unpacked
)

// Unpack unpacks what lies below prefix in a tar archive into an empty folder.
// Names and links stay inside of it; devices are refused.
func Unpack(r io.Reader, prefix string, root *os.Root) error {
	var total int64
	files := 0
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return untrusted("unpacking: %w", err)
		}
		name := path.Clean(strings.TrimPrefix(h.Name, "./"))
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
			return untrusted("unpacking: a file is called %.80q, which leads out of the tree: refused", h.Name)
		}
		name, ok := below(name, prefix)
		if !ok {
			continue
		}
		if files++; files > maxFiles {
			return untrusted("unpacking: more than %d files: refused", maxFiles)
		}
		if total += h.Size; total > maxTree {
			return untrusted("unpacking: more than %d GiB: refused", maxTree>>30)
		}
		if err := member(root, t, h, name); err != nil {
			return fmt.Errorf("unpacking %s: %w", name, err)
		}
	}
	if files == 0 {
		return untrusted("unpacking: the archive contains no tree")
	}
	return nil
}

func below(name, prefix string) (string, bool) {
	if prefix == "" {
		return name, name != "."
	}
	rest, ok := strings.CutPrefix(name, prefix+"/")
	return rest, ok && rest != ""
}

func member(root *os.Root, t *tar.Reader, h *tar.Header, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		if to := path.Join(path.Dir(name), h.Linkname); path.IsAbs(h.Linkname) || to == ".." || strings.HasPrefix(to, "../") {
			return untrusted("a link to %.80q leads out of the tree: refused", h.Linkname)
		}
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, t)
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
	return untrusted("it is neither a file, a folder nor a symlink: refused")
}

// UnpackGzip unpacks a netboot.tar.gz.
func UnpackGzip(file io.Reader, into *os.Root) error {
	z, err := gzip.NewReader(file)
	if err != nil {
		return untrusted("unpacking: %w", err)
	}
	in := io.LimitReader(z, maxTree+maxFiles*1024)
	if err := Unpack(in, "", into); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // up to its checksum
		return untrusted("unpacking: %w", err)
	}
	return nil
}
