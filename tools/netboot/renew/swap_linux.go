package renew

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle/internal/files"
)

// A stage holds a new tree laid out as the served root, and a note of which
// names are new: an exchange keeps inodes, so that they tell at any time, also
// after a crash, what stands where.
const noteName = ".fettle-new"

// version says of a whole root which build it is.
const version = "version.info"

// place is a name below both roots that is exchanged, and the new one's inode.
type place struct {
	inode uint64
	rel   string
}

// Note writes down which parts of a stage are new. rel is the kernel's folder
// below the stage and below the served root, as "debian-installer/amd64".
func Note(stage, rel string) error {
	ino, err := inode(filepath.Join(stage, rel))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d %s\n", ino, rel)
	if ino, err := inode(filepath.Join(stage, version)); err == nil {
		text = fmt.Sprintf("%d %s\n", ino, version) + text
	}
	f, err := os.OpenFile(filepath.Join(stage, noteName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Lock keeps a second fettle from working on stages in a folder, one whose
// parent was killed among them, until unlock. It leaves no file behind.
func Lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "locking", Path: dir, Err: err}
	}
	return func() { f.Close() }, nil
}

// Remove removes a stage and what was begun of it. It refuses while the new tree
// is served: the stage holds the old one then.
func Remove(stage string) error {
	if all, err := readNote(stage); err == nil {
		for _, p := range all {
			if got, err := inode(filepath.Join(stage, p.rel)); err == nil && got != p.inode {
				return fmt.Errorf("%s contains the old tree, which the new one has replaced: it is not removed", stage)
			}
		}
	}
	return errors.Join(os.RemoveAll(stage+".part"), os.RemoveAll(stage))
}

// Program is this program, for the steps of a plan.
func Program() (string, error) { return os.Executable() }

func inode(name string) (uint64, error) {
	st, err := os.Lstat(name)
	if err != nil {
		return 0, err
	}
	return st.Sys().(*syscall.Stat_t).Ino, nil
}

// Swapped tells whether all that is new stands in the served root.
func Swapped(root, stage string) (bool, error) {
	left, err := misplaced(root, stage, true)
	return len(left) == 0, err
}

// misplaced are the places that do not hold what they should: the new, or the
// old. What the served root does not have at all is not exchanged.
func misplaced(root, stage string, forward bool) ([]place, error) {
	all, err := readNote(stage)
	var left []place
	for _, p := range all {
		got, ierr := inode(filepath.Join(root, p.rel))
		switch {
		case errors.Is(ierr, fs.ErrNotExist) && p.rel == version:
		case ierr != nil:
			return nil, ierr
		case (got == p.inode) != forward:
			left = append(left, p)
		}
	}
	return left, err
}

func readNote(stage string) (all []place, err error) {
	name := filepath.Join(stage, noteName)
	b, err := files.ReadAtMost(name, 4096)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		number, rel, _ := strings.Cut(strings.TrimSpace(line), " ")
		ino, err := strconv.ParseUint(number, 10, 64)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("%s was not written by fettle", name)
		}
		all = append(all, place{ino, rel})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s was not written by fettle", name)
	}
	return all, nil
}

// Swap exchanges what is new in the stage with what stands in the served root,
// the kernel's folder in one act (renameat2(2), RENAME_EXCHANGE): whoever reads
// finds one or the other, and a server that holds the root open finds the new
// one. forward false puts the old back. Done again, or over a part of itself,
// it ends the same.
func Swap(root, stage string, forward bool) error {
	left, err := misplaced(root, stage, forward)
	if err != nil {
		return err
	}
	for _, p := range left {
		a, b := filepath.Join(root, p.rel), filepath.Join(stage, p.rel)
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			return fmt.Errorf("exchanging %s and %s: %w", a, b, err)
		}
		if err := errors.Join(syncDir(filepath.Dir(a)), syncDir(filepath.Dir(b))); err != nil {
			return err
		}
	}
	return nil
}
