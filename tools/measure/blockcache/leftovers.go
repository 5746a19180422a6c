package blockcache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/internal/units"
)

// filesPrefix begins the name of the folder that a measurement makes for its
// files in a target, and ownerFile is what it holds locked there while it
// lives: whoever gets the lock knows that it is gone, in whatever container or
// under whatever number it ran.
const (
	filesPrefix = "fettle-blockcache-"
	ownerFile   = "owner"
	ownerMark   = "fettle measure blockcache"
)

// filesDir makes the folder for a measurement's files in dir. release removes
// it.
func filesDir(dir string) (made string, release func() error, err error) {
	if made, err = os.MkdirTemp(dir, filesPrefix); err != nil {
		return "", nil, err
	}
	unlock, err := own(
		filepath.Join(made, ownerFile),
		fmt.Sprintf("%s, process %d, since %s\n", ownerMark, os.Getpid(), time.Now().UTC().Format(time.RFC3339)),
	)
	if err != nil {
		os.RemoveAll(made)
		return "", nil, err
	}
	return made, func() error {
		err := os.RemoveAll(made)
		unlock()
		return err
	}, nil
}

// sweep removes what measurements that were killed left in dir. It removes
// folders alone that are this user's, whose owner is gone, and that hold what a
// measurement makes; others it names. A measurement that is at work in dir is
// an error.
func sweep(dir string, tell func(note string)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	found, err := fs.Glob(root.FS(), filesPrefix+"*")
	if err != nil {
		return err
	}
	for _, name := range found {
		left := filepath.Join(dir, name)
		why, err := abandoned(root, name)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", left, err)
		case why != "":
			tell(fmt.Sprintf("%s may be left of a measurement; it stays, because %s", left, why))
			continue
		}
		size := int64(0)
		fs.WalkDir(root.FS(), name, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if i, err := d.Info(); err == nil && i.Mode().IsRegular() {
				size += i.Size()
			}
			return nil
		})
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("removing %s, which a measurement that was killed left: %w", left, err)
		}
		tell(fmt.Sprintf("removed %s, %s, which a measurement that was killed left", left, units.Size(size)))
	}
	return nil
}

// abandoned tells why a folder must stay; "" is one that may be removed.
func abandoned(root *os.Root, name string) (why string, err error) {
	st, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return "it is no folder", nil
	}
	if !mine(st) {
		return "it is another user's", nil
	}
	es, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return "", err
	}
	owned := false
	for _, e := range es {
		switch {
		case e.Name() == ownerFile && e.Type().IsRegular():
			owned = true
		case (e.Name() == "data" || e.Name() == "other") && e.IsDir():
			inside, err := fs.ReadDir(root.FS(), name+"/"+e.Name())
			if err != nil {
				return "", err
			}
			for _, f := range inside {
				if !f.Type().IsRegular() {
					return fmt.Sprintf("%s in it is no file of a measurement", filepath.Join(e.Name(), f.Name())), nil
				}
			}
		default:
			return fmt.Sprintf("%s in it is not a measurement's", e.Name()), nil
		}
	}
	if !owned {
		return "nothing in it tells whose it was", nil
	}
	f, err := root.Open(name + "/" + ownerFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 256)
	n, _ := f.Read(b)
	said := strings.TrimSpace(string(b[:n]))
	if !strings.HasPrefix(said, ownerMark) {
		return "its file " + ownerFile + " is not a measurement's", nil
	}
	free, err := lock(f)
	if err != nil {
		return "", fmt.Errorf("asking for the lock of %s: %w", ownerFile, err)
	}
	if !free {
		return "", fmt.Errorf("another measurement is at work there (%s): two would disturb each other", strings.ToValidUTF8(said, "?"))
	}
	return "", nil
}
