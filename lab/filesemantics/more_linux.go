package filesemantics

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A question's answer is not the same everywhere. It is asked in a folder where
// prepare's files are.
type question struct {
	name    string
	prepare func(dir string) error
	ask     func(dir string) (string, error)
}

var questions = []question{
	{"deleted: its space is free after", func(string) error { return nil }, freed},
	{"written to by another: reader sees", func(d string) error { return os.WriteFile(d+"/file", []byte("old;"), 0o644) }, readerSees},
	{"copytruncate, with O_APPEND", func(d string) error { return os.WriteFile(d+"/file", nil, 0o644) },
		func(d string) (string, error) { return truncated(d, os.O_APPEND) }},
	{"copytruncate, without O_APPEND", func(d string) error { return os.WriteFile(d+"/file", nil, 0o644) },
		func(d string) (string, error) { return truncated(d, 0) }},
	{"its folder is renamed", func(d string) error { return os.Mkdir(d+"/folder", 0o755) }, renameFolder},
}

// heldBytes is the size of the file whose space is watched.
const heldBytes = 8 << 20

// freed tells when the space of a file is free again that was deleted while
// open: after unlink(2), after the last close(2), after sync(2), or later.
func freed(dir string) (string, error) {
	f, err := os.Create(filepath.Join(dir, "held"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte{'x'}, heldBytes)); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	if err := syncAll(dir); err != nil {
		return "", err
	}
	full, err := freeBytes(dir)
	if err != nil {
		return "", err
	}
	isFree := func(wait time.Duration) bool {
		for end := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
			if now, err := freeBytes(dir); err == nil && now >= full+heldBytes/2 {
				return true
			}
			if time.Now().After(end) {
				return false
			}
		}
	}
	if err := os.Remove(f.Name()); err != nil {
		return "", err
	}
	if err := syncAll(dir); err != nil {
		return "", err
	}
	if isFree(200 * time.Millisecond) {
		return "unlink", nil
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if isFree(200 * time.Millisecond) {
		return "close", nil
	}
	if err := syncAll(dir); err != nil {
		return "", err
	}
	if isFree(2 * time.Second) {
		return "sync", nil
	}
	return "later", nil
}

func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bfree * uint64(st.Bsize), nil
}

// syncAll writes a file system's changes out, so that what is freed by the
// next act is told from what was pending.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}

// readerSees opens a file for reading, and then writes to it by name.
func readerSees(dir string) (string, error) {
	r, err := os.Open(dir + "/file")
	if err != nil {
		return "", err
	}
	defer r.Close()
	w, err := os.OpenFile(dir+"/file", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	defer w.Close()
	if _, err := w.WriteString("new;"); err != nil {
		return "", err
	}
	b := make([]byte, 64)
	n, err := r.Read(b)
	switch {
	case err != nil:
		return "", err
	case string(b[:n]) == "old;new;":
		return "yes", nil
	case string(b[:n]) == "old;":
		return "no", nil
	}
	return fmt.Sprintf("%q", b[:n]), nil
}

// truncated truncates a file under its writer, as logrotate's copytruncate
// does, and tells whether the next write leaves a hole before it.
func truncated(dir string, flag int) (string, error) {
	w, err := os.OpenFile(dir+"/file", os.O_WRONLY|flag, 0)
	if err != nil {
		return "", err
	}
	defer w.Close()
	if _, err := w.Write(bytes.Repeat([]byte{'x'}, 1<<16)); err != nil {
		return "", err
	}
	if err := os.Truncate(dir+"/file", 0); err != nil {
		return "", err
	}
	if _, err := w.WriteString("new;"); err != nil {
		return "", err
	}
	b, err := os.ReadFile(dir + "/file")
	switch {
	case err != nil:
		return "", err
	case string(b) == "new;":
		return "no hole", nil
	case len(b) == 1<<16+4 && b[0] == 0:
		return "NULs", nil
	}
	return fmt.Sprintf("%d bytes", len(b)), nil
}

func renameFolder(dir string) (string, error) {
	err := os.Rename(dir+"/folder", dir+"/other")
	if errors.Is(err, unix.EXDEV) {
		return "EXDEV", nil
	}
	if err != nil {
		return "", err
	}
	return "done", nil
}
