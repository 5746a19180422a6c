package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// marker is the archive's first file: where it begins, and how long the initrd
// was before.
const (
	marker       = "fettle-hooks"
	markerFormat = "before %016d\n"
	magic        = "070701" // cpio(5), New ASCII Format
	headerLength = 110
)

// ErrNotThere: an initrd has no hooks of fettle's.
var ErrNotThere = errors.New("has no fettle hooks")

// Appended is what an initrd has of fettle's hooks.
type Appended struct {
	Before int64 // length of the initrd without them, in bytes
	Files  []File
}

// Parts are those of which an initrd has every file.
func (a Appended) Parts() []Part {
	var out []Part
	for _, p := range Parts {
		all := !slices.ContainsFunc(Files([]Part{p}), func(f File) bool {
			return !slices.ContainsFunc(a.Files, func(g File) bool { return g.Name == f.Name })
		})
		if all {
			out = append(out, p)
		}
	}
	return out
}

// Append returns an initrd with the hooks of parts, in place of those that it
// had. It does not change what it was given.
func Append(initrd []byte, parts []Part) ([]byte, error) {
	plain, err := Remove(initrd)
	switch {
	case errors.Is(err, ErrNotThere):
		plain = initrd
	case err != nil:
		return nil, err
	}
	if err := isInitrd(plain); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(plain)
	// An archive that is not compressed begins at a multiple of four (init/initramfs.c).
	b.Write(make([]byte, (4-len(plain)%4)%4))
	if err := write(&b, parts, int64(len(plain))); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Remove returns an initrd as it was before hooks were appended, byte for byte.
func Remove(initrd []byte) ([]byte, error) {
	found, err := Find(initrd)
	if err != nil {
		return nil, err
	}
	return initrd[:found.Before], nil
}

// Find reads the hooks that were appended to an initrd.
func Find(initrd []byte) (Appended, error) {
	start := begins(initrd)
	if start < 0 {
		return Appended{}, ErrNotThere
	}
	files, rest, err := readArchive(initrd[start:])
	if err != nil {
		return Appended{}, fmt.Errorf("fettle's hooks in it are damaged: %w", err)
	}
	if len(bytes.Trim(rest, "\x00")) > 0 {
		return Appended{}, errors.New("something was appended after fettle's hooks: remove that first, or create the initrd again")
	}
	found := Appended{Files: files[1:]}
	_, err = fmt.Sscanf(string(files[0].Content), markerFormat, &found.Before)
	if err != nil || found.Before < 0 || found.Before > int64(start) || int64(start)-found.Before > 3 ||
		len(bytes.Trim(initrd[found.Before:start], "\x00")) > 0 {
		return Appended{}, fmt.Errorf(
			"fettle's hooks in it are damaged: they say %q, and begin at byte %d",
			strings.TrimSpace(string(files[0].Content)),
			start,
		)
	}
	return found, nil
}

// begins is where the archive with the marker begins, or -1.
func begins(initrd []byte) int {
	name := []byte(marker + "\x00")
	for end := len(initrd); ; {
		i := bytes.LastIndex(initrd[:end], name)
		if i < headerLength {
			return -1
		}
		if start := i - headerLength; start%4 == 0 && string(initrd[start:start+len(magic)]) == magic {
			return start
		}
		end = i
	}
}

// readArchive reads a whole archive of regular files and folders, the marker
// first, and returns what comes after it.
func readArchive(b []byte) (out []File, rest []byte, err error) {
	in := bytes.NewReader(b)
	c := cpio.NewReader(in)
	for {
		h, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if h.Mode.IsDir() {
			continue
		}
		content, err := io.ReadAll(c)
		if err == nil && int64(len(content)) != h.Size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, nil, err
		}
		out = append(out, File{Name: h.Name, Mode: h.FileInfo().Mode().Perm(), Content: content})
	}
	rest = b[len(b)-in.Len():]
	// The reader takes the end of its input for the end of the archive, too.
	if end := b[:len(b)-len(rest)]; !bytes.Contains(end[max(0, len(end)-20):], []byte("TRAILER!!!")) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	if len(out) == 0 || out[0].Name != marker {
		return nil, nil, errors.New("the marker is not the first file")
	}
	return out, rest, nil
}

// isInitrd refuses what the kernel could not unpack: init/initramfs.c and
// lib/decompress.c know these beginnings.
func isInitrd(b []byte) error {
	for _, m := range []string{magic, "070702", "\x1f\x8b", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "BZh", "\x5d\x00\x00",
		"\x02\x21\x4c\x18", "\x89LZO"} {
		if bytes.HasPrefix(b, []byte(m)) {
			return nil
		}
	}
	return errors.New("is not an initrd: expected a cpio archive, plain or compressed")
}
