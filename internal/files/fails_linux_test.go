package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestEachCallFails: whatever the kernel refuses is an error.
func TestEachCallFails(t *testing.T) {
	means.Short(t, "starts dozens of copies of itself")
	var dir string
	matters := func(call string) bool { return strings.Contains(call, dir) || !strings.Contains(call, "AT_FDCWD") }
	means.Failing(t, "fsync,renameat,renameat2,fchmod,fchown,write,mkdirat,readlinkat", matters, func() {
		dir = t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		if err := errors.Join(os.WriteFile(at("held"), nil, 0o640), os.Mkdir(at("folder"), 0o700), os.Symlink("folder", at("link"))); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
	}, func() error {
		at := func(name string) string { return filepath.Join(dir, name) }
		if err := WriteFile(at("link/file"), []byte("new"), 0o644); err != nil {
			return err
		}
		if err := WriteNew(at("new"), []byte("new"), 0o644); err != nil {
			return err
		}
		h, err := Hold(at("held"))
		if err != nil {
			return err
		}
		if err := h.Replace([]byte("new")); err != nil {
			return err
		}
		root, err := MakeFolder(at("a/b"), 0o700)
		if err != nil {
			return err
		}
		if made, err := Made(root); err != nil || !made {
			return err
		}
		if err := root.Mkdir("x", 0o700); err != nil {
			return err
		}
		if err := root.Mkdir("y", 0o700); err != nil {
			return err
		}
		return Exchange(root, "x", root, "y")
	})
}

// TestClosed: what was closed meanwhile gets no name, and is no success.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	for what, spoil := range map[string]func(p *Pending) error{
		"the file":   func(p *Pending) error { return p.File.Close() },
		"the folder": func(p *Pending) error { return p.root.Close() },
	} {
		p, err := Create(filepath.Join(dir, "file"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(p); err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
		p.Cleanup()
		if _, err := os.Lstat(filepath.Join(dir, "file")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file has its name: %v", what, err)
		}
	}
	a, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	for _, roots := range [][2]*os.Root{{a, b}, {b, a}} {
		if err := Exchange(roots[0], "x", roots[1], "y"); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("exchanged with a closed folder: %v", err)
		}
	}
	if made, err := Made(b); made || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed folder: %v, %v", made, err)
	}
}

// TestInTheWay: a folder that has things in it is not replaced by a file, and nothing of the file stays.
func TestInTheWay(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(name, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(name, []byte("new"), 0o600); err == nil {
		t.Error("written over a folder")
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 1 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

// TestFull: what a full disk holds half of is no file, and the old one stays.
func TestFull(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	old, large := filepath.Join(dir, "old"), make([]byte, 256<<10)
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Hold(old)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for what, err := range map[string]error{"WriteFile": WriteFile(old, large, 0o600), "WriteNew": WriteNew(filepath.Join(dir, "new"), large,
		0o600),
		"Replace": h.Replace(large)} {
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := os.ReadFile(old); err != nil || string(b) != "old" {
		t.Errorf("the old one holds %d bytes, %v", len(b), err)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 1 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

// TestOwner: a file that is held keeps its owner and group; one whose owner cannot be kept belongs to who wrote it.
func TestOwner(t *testing.T) {
	means.Root(t)
	name := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(name, nil, 0o640), os.Chown(name, means.Nobody, means.Staff)); err != nil {
		t.Fatal(err)
	}
	h, err := Hold(name)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Replace([]byte("new")); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil || st.Uid != means.Nobody || st.Gid != means.Staff || st.Mode&0o777 != 0o640 {
		t.Errorf("%d:%d %o, %v", st.Uid, st.Gid, st.Mode, err)
	}
}

// TestWhatItSays: which file, how large it may be, and what the unit lacks.
func TestWhatItSays(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAtMost(name, 3); err == nil || err.Error() != name+" is larger than 3 bytes" {
		t.Error(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	const want = "credential:hub.key: systemd loaded no credentials; the unit needs LoadCredential=hub.key:FILE"
	if _, err := Credential("credential:hub.key"); err == nil || err.Error() != want {
		t.Error(err)
	}
	led := &Led{"/srv/link", "/etc"}
	if got := led.Error(); !strings.HasPrefix(got, "/srv/link is a link to /etc that another user can have made") {
		t.Error(got)
	}
	if err := WithoutPath(&fs.PathError{Op: "open", Path: "/x/.fettle-1", Err: fs.ErrPermission}); err != fs.ErrPermission {
		t.Error(err)
	}
	if err := WithoutPath(fs.ErrClosed); err != fs.ErrClosed {
		t.Error(err)
	}
}

// TestNamesOfFolders: what names a folder, itself, the one above or none, is no file.
func TestNamesOfFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("a", 0o700), os.WriteFile("file", []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a/", ".", "..", "a/.", "a/..", "/"} {
		if h, err := Hold(name); !errors.Is(err, unix.EISDIR) {
			t.Errorf("%q: %v, %v", name, h, err)
		}
	}
	for _, name := range []string{"file", "a/../file", "./file"} {
		h, err := Hold(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		h.Close()
	}
}
