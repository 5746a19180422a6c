package renew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/files"
)

// A stage holds a new tree laid out as the served root, and a note of which
// names are new: an exchange keeps inodes, so that they tell at any time, also
// after a crash, what stands where. The note is believed only in a folder that
// belongs to the caller and that nobody else can enter, and it has the sum of
// what was verified.
const noteName = ".fettle-new"

// version says of a whole root which build it is.
const version = "version.info"

// nonblock: a FIFO in a file's place is no reason to wait.
const nonblock = unix.O_NONBLOCK

// place is a name below both roots that is exchanged, the new one's inode, and
// what is in it.
type place struct {
	inode uint64
	sum   string
	rel   string
}

// Note writes down which parts of a stage are new. rel is the kernel's folder
// below the stage and below the served root, as "debian-installer/amd64".
func Note(stage *os.Root, rel string) error {
	text := ""
	for _, name := range []string{version, rel} {
		ino, err := inode(stage, name)
		if errors.Is(err, fs.ErrNotExist) && name == version {
			continue
		}
		if err != nil {
			return err
		}
		s, err := sum(stage, name)
		if err != nil {
			return err
		}
		text += fmt.Sprintf("%d %s %s\n", ino, s, name)
	}
	f, err := stage.OpenFile(noteName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Lock keeps a second fettle from working on stages in a folder, one whose
// parent was killed among them, until unlock. It leaves no file behind.
func Lock(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, &fs.PathError{Op: "locking", Path: dir, Err: err}
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for another program that has %s locked: %w", dir, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// open opens a stage, and refuses one that somebody else has made, or can change.
func open(stage string) (*os.Root, error) {
	dir, err := files.Folder(filepath.Dir(stage))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	st, err := dir.Lstat(filepath.Base(stage))
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", stage)
	}
	root, err := dir.OpenRoot(filepath.Base(stage))
	if err != nil {
		return nil, err
	}
	made, err := files.Made(root)
	if err == nil && !made {
		err = fmt.Errorf(
			"%s was not made by fettle netboot fetch: expected a folder of mode 0700 that belongs to user ID %d",
			stage,
			os.Geteuid(),
		)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// Verify tells whether a stage is whole, and what was verified.
func Verify(stage string) error {
	s, err := open(stage)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := readNote(s)
	if err != nil {
		return err
	}
	return verify(s, all)
}

func verify(stage *os.Root, all []place) error {
	for _, p := range all {
		if now, err := sum(stage, p.rel); err != nil {
			return err
		} else if now != p.sum {
			return fmt.Errorf("%s is not what was verified any more: fetch it again", filepath.Join(stage.Name(), p.rel))
		}
	}
	return nil
}

// Remove removes a stage and what was begun of it. It refuses while the new tree
// is served: the stage holds the old one then.
func Remove(stage string) error {
	dir, err := files.Folder(filepath.Dir(stage))
	if err != nil {
		return err
	}
	defer dir.Close()
	if s, err := dir.OpenRoot(filepath.Base(stage)); err == nil {
		defer s.Close()
		all, _ := readNote(s)
		for _, p := range all {
			if got, err := inode(s, p.rel); err == nil && got != p.inode {
				return fmt.Errorf("%s contains the old tree, which the new one has replaced: it is not removed", stage)
			}
		}
	}
	return errors.Join(sweep(dir, filepath.Base(stage)), dir.RemoveAll(filepath.Base(stage)))
}

// Program is this program, for the steps of a plan.
func Program() (string, error) { return os.Executable() }

func inode(root *os.Root, name string) (uint64, error) {
	st, err := root.Lstat(name)
	if err != nil {
		return 0, err
	}
	return st.Sys().(*syscall.Stat_t).Ino, nil
}

// both opens the served root and the stage.
func both(root, stage string) (r, s *os.Root, all []place, err error) {
	if r, err = files.Folder(root); err != nil {
		return nil, nil, nil, err
	}
	if s, err = open(stage); err == nil {
		if all, err = readNote(s); err == nil {
			return r, s, all, nil
		}
		s.Close()
	}
	r.Close()
	return nil, nil, nil, err
}

// Swapped tells whether all that is new is in the served root.
func Swapped(root, stage string) (bool, error) {
	r, s, all, err := both(root, stage)
	if err != nil {
		return false, err
	}
	defer r.Close()
	defer s.Close()
	left, err := misplaced(r, all, true)
	return err == nil && len(left) == 0, err
}

// misplaced are the places that do not hold what they should: the new, or the
// old. What the served root does not have at all is not exchanged.
func misplaced(root *os.Root, all []place, forward bool) ([]place, error) {
	var left []place
	for _, p := range all {
		got, err := inode(root, p.rel)
		switch {
		case errors.Is(err, fs.ErrNotExist) && p.rel == version:
		case err != nil:
			return nil, err
		case (got == p.inode) != forward:
			left = append(left, p)
		}
	}
	return left, nil
}

func readNote(stage *os.Root) (all []place, err error) {
	foreign := fmt.Errorf("%s was not written by fettle", filepath.Join(stage.Name(), noteName))
	f, err := stage.OpenFile(noteName, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := files.AtMost(f, noteName, 4096)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		w := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(w) != 3 || len(w[1]) != 64 || !filepath.IsLocal(w[2]) {
			return nil, foreign
		}
		ino, err := strconv.ParseUint(w[0], 10, 64)
		if err != nil {
			return nil, foreign
		}
		all = append(all, place{ino, w[1], w[2]})
	}
	if len(all) == 0 {
		return nil, foreign
	}
	return all, nil
}

// Swap exchanges what is new in the stage with what is in the served root,
// the kernel's folder in one act (renameat2(2), RENAME_EXCHANGE): whoever reads
// finds one or the other, and a server that holds the root open finds the new
// one. forward false puts the old back. Done again, or over a part of itself,
// it ends the same. What goes into service is verified right before.
func Swap(root, stage string, forward bool) error {
	r, s, all, err := both(root, stage)
	if err != nil {
		return err
	}
	defer r.Close()
	defer s.Close()
	left, err := misplaced(r, all, forward)
	if err != nil {
		return err
	}
	if forward {
		if err := verify(s, left); err != nil {
			return err
		}
	}
	for _, p := range left {
		if err := exchange(r, s, p.rel); err != nil {
			return fmt.Errorf("exchanging %s in %s and %s: %w", p.rel, root, stage, err)
		}
	}
	if left, err = misplaced(r, all, forward); err == nil && len(left) > 0 {
		err = fmt.Errorf("somebody exchanged %s at that moment: look who can write there", filepath.Join(root, left[0].rel))
	}
	return err
}

func exchange(r, s *os.Root, rel string) error {
	a, err := r.OpenRoot(path.Dir(rel))
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := s.OpenRoot(path.Dir(rel))
	if err != nil {
		return err
	}
	defer b.Close()
	return files.Exchange(a, path.Base(rel), b, path.Base(rel))
}
