package renew

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// sum tells a file, or a folder and all below it, from any other: names, types,
// permissions, links and contents. Who it belongs to does not count.
func sum(root *os.Root, rel string) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(root.FS(), rel, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v\n", name, st.Mode())
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := root.Readlink(name)
			fmt.Fprintf(h, "%q\n", to)
			return err
		case st.Mode().IsRegular():
			f, err := openFile(root, name, st)
			if err != nil {
				return err
			}
			defer f.Close()
			fmt.Fprintf(h, "%d\n", st.Size())
			_, err = io.Copy(h, f)
			return err
		case !st.IsDir():
			return fmt.Errorf("%s is neither a file, a folder nor a symlink", name)
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// openFile opens for reading the regular file that was looked at, and no other.
func openFile(root *os.Root, name string, st fs.FileInfo) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && (!now.Mode().IsRegular() || !os.SameFile(now, st)) {
		err = fmt.Errorf("%s was exchanged at that moment", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
