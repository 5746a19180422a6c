package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestNothingStaysOpen: whatever becomes of a call, it leaves no descriptor behind; what fails says so.
func TestNothingStaysOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{os.WriteFile(at("file"), []byte("text"), 0o640), os.Mkdir(at("folder"), 0o700),
		unix.Mkfifo(at("pipe"), 0o600), os.WriteFile(at("one"), nil, 0o600), os.WriteFile(at("two"), nil, 0o600),
		os.Symlink("loop", at("loop")), os.Symlink("folder", at("link")), os.Symlink(dir+"/file", at("absolute")),
		os.Symlink("/dev/null", at("null"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", dir)
	closing := func(f interface{ Close() error }, err error) error {
		if err == nil {
			err = f.Close()
		}
		return err
	}
	root := func(r *os.Root, err error) error { return closing(r, err) }
	file := func(f *os.File, err error) error {
		if f == nil {
			return err
		}
		return closing(f, err)
	}
	held := func(h *Held, err error) error { return closing(h, err) }
	fails := map[string]string{ // with these words; all others succeed
		"a folder that is a file":    "not a directory",
		"a folder below a file":      "not a directory",
		"links without end":          "too many levels of symbolic links",
		"no folder":                  "no such file",
		"no new folder":              "not a directory",
		"a file that is a folder":    "is a directory",
		"a file that is a pipe":      "not a regular file",
		"a file of endless links":    "too many levels of symbolic links",
		"no file":                    "no such file",
		"a folder as a device":       "is a directory",
		"appended to a folder":       "is a directory",
		"written to a folder":        "file exists",
		"written nowhere":            "no such file",
		"not new":                    "file exists",
		"a folder to read":           "is a directory",
		"where files cannot be made": "making a file there: no such file",
		"exchanged with nothing":     "no such file",
		"appended to a pipe":         "no such device",
	}
	for what, do := range map[string]func() error{
		"a folder":                   func() error { return root(Folder(at("link/."))) },
		"a folder that is a file":    func() error { return root(Folder(at("file"))) },
		"a folder below a file":      func() error { return root(Folder(at("absolute/x"))) },
		"links without end":          func() error { return root(Folder(at("loop"))) },
		"no folder":                  func() error { return root(Folder(at("none"))) },
		"a new folder":               func() error { return root(MakeFolder(at("new/a/b"), 0o700)) },
		"no new folder":              func() error { return root(MakeFolder(at("file/a/b"), 0o700)) },
		"a file":                     func() error { return held(Hold(at("file"))) },
		"a file by a link":           func() error { return held(Hold(at("absolute"))) },
		"a file that is a folder":    func() error { return held(Hold(at("folder"))) },
		"a file that is a pipe":      func() error { return held(Hold(at("pipe"))) },
		"a file of endless links":    func() error { return held(Hold(at("loop"))) },
		"no file":                    func() error { return held(Hold(at("none"))) },
		"a device":                   func() error { return file(Device(at("null"))) },
		"no device":                  func() error { return file(Device(at("file"))) },
		"a folder as a device":       func() error { return file(Device(at("folder/."))) },
		"appended":                   func() error { return file(Append(at("log"), 0o600)) },
		"appended to a pipe":         func() error { return file(Append(at("pipe"), 0o600)) },
		"appended to a folder":       func() error { return file(Append(at("folder"), 0o600)) },
		"written":                    func() error { return WriteFile(at("written"), []byte("x"), 0o600) },
		"written to a folder":        func() error { return WriteFile(at("folder"), []byte("x"), 0o600) },
		"written nowhere":            func() error { return WriteFile(at("none/x"), []byte("x"), 0o600) },
		"new":                        func() error { return WriteNew(at("newfile"), []byte("x"), 0o600) },
		"not new":                    func() error { return WriteNew(at("file"), []byte("x"), 0o600) },
		"read":                       func() error { _, err := ReadAtMost(at("file"), 4); return err },
		"a folder to read":           func() error { _, err := ReadAtMost(at("folder"), 4); return err },
		"a folder of one's own":      func() error { _, err := Private("x-"); return err },
		"whose it is":                func() error { return madeIn(at("folder")) },
		"where files can be made":    func() error { return Makeable(at("folder")) },
		"where files cannot be made": func() error { return Makeable(at("none")) },
		"exchanged":                  func() error { return exchangeIn(dir, "one", "two") },
		"exchanged with nothing":     func() error { return exchangeIn(dir, "file", "none") },
	} {
		before := len(means.OpenFiles(t))
		err := do()
		if after := len(means.OpenFiles(t)); after != before {
			t.Errorf("%s: %d descriptors, %d before (%v)", what, after, before, err)
		}
		if want := fails[what]; (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
}

func madeIn(dir string) error {
	root, err := Folder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = Made(root)
	return err
}

func exchangeIn(dir, a, b string) error {
	root, err := Folder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return Exchange(root, a, root, b)
}

// TestHold: a file that is held is replaced with its mode, unless another one has its name by now.
func TestHold(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
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
	b, err := os.ReadFile(name)
	st, err2 := os.Stat(name)
	if err := errors.Join(err, err2); err != nil || string(b) != "new" || st.Mode() != 0o640 {
		t.Errorf("%q, %v, %v", b, st.Mode(), err)
	}
	if err := h.Replace([]byte("later")); err == nil || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("replaced what is another file by now: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace([]byte("later")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replaced what is gone: %v", err)
	}
	if es, err := os.ReadDir(filepath.Dir(name)); err != nil || len(es) > 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

// TestHoldWhatIsNone: only regular files are held.
func TestHoldWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"pipe": ErrSpecial, ".": unix.EISDIR, "none": fs.ErrNotExist} {
		if h, err := Hold(dir + "/" + name); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", name, h, err)
		}
		if f, err := Append(dir+"/"+name, 0o600); name == "pipe" && err == nil {
			t.Errorf("appended to %s: %v", name, f.Name())
		}
	}
	for name, want := range map[string]bool{"pipe": true, "none": false, ".": true} {
		if got := Special(filepath.Join(dir, name)); got != want {
			t.Errorf("%s is special: %t", name, got)
		}
	}
}

// TestAppend: to the end of what is there.
func TestAppend(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	for _, line := range []string{"one\n", "two\n"} {
		f, err := Append(name, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "one\ntwo\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := Append(filepath.Join(name, "x"), 0o600); err == nil {
		t.Error("appended below a file")
	}
}

// TestWriteNew: what is there stays.
func TestWriteNew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := WriteNew(name, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteNew(name, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	if err := WriteNew(name+"/x", nil, 0o600); err == nil {
		t.Error("written below a file")
	}
}

// TestReadAtMost: the limit is what may be there.
func TestReadAtMost(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, ok := range map[int64]bool{3: false, 4: true, 5: true} {
		if b, err := ReadAtMost(name, limit); (err == nil) != ok || ok && string(b) != "text" {
			t.Errorf("at most %d: %q, %v", limit, b, err)
		}
	}
	if _, err := ReadAtMost(name+"x", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := AtMost(failing{broken}, "x", 5); !errors.Is(err, broken) {
		t.Error(err)
	}
	if b, err := AtMost(bytes.NewReader(nil), "x", 0); err != nil || len(b) > 0 {
		t.Error(b, err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestMade: a folder that others can enter was not made for its user alone.
func TestMade(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{0o700: true, 0o750: false, 0o701: false, 0o500: true} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Made(root); got != want || err != nil {
			t.Errorf("%o: %t, %v", mode, got, err)
		}
		root.Close()
	}
}

// TestPrivate: not where others can rename what is there, unless it has the sticky bit.
func TestPrivate(t *testing.T) {
	for mode, ok := range map[fs.FileMode]bool{0o700: true, 0o755: true, 0o777: false, 0o720: os.Geteuid() != 0,
		0o777 | fs.ModeSticky: true} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		got, err := Private("x-")
		if (err == nil) != ok || ok && !strings.HasPrefix(got, dir+"/x-") {
			t.Errorf("%v: %s, %v", mode, got, err)
		}
	}
}

// TestLinks: as many links as the kernel follows, and no more; one that leads nowhere is a file that is not there.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "0"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxLinks + 1 {
		if err := os.Symlink(name(i), filepath.Join(dir, name(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	root, err := Folder(filepath.Join(dir, name(maxLinks)))
	if err != nil {
		t.Errorf("%d links: %v", maxLinks, err)
	} else {
		root.Close()
	}
	if _, err := Folder(filepath.Join(dir, name(maxLinks+1))); !errors.Is(err, unix.ELOOP) {
		t.Errorf("%d links: %v", maxLinks+1, err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if f, err := Device(filepath.Join(dir, "dangling")); f != nil || err != nil {
		t.Errorf("a link to nothing: %v, %v", f, err)
	}
}

func name(i int) string { return strings.Repeat("l", i) + "0" }

// TestPending: a file gets its name only whole, and none after Cleanup.
func TestPending(t *testing.T) {
	dir := t.TempDir()
	p, err := Create(filepath.Join(dir, "a"), 0o604)
	if err != nil {
		t.Fatal(err)
	}
	if p.Rename("b"); p.Path() != filepath.Join(dir, "b") {
		t.Error(p.Path())
	}
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	p.Cleanup() // does nothing any more
	if st, err := os.Stat(filepath.Join(dir, "b")); err != nil || st.Mode() != 0o604 {
		t.Error(st, err)
	}
	(*Pending)(nil).Cleanup()
	gone, err := Create(filepath.Join(dir, "c"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, gone.tmp), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := gone.Commit(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was taken away: %v", err)
	}
	gone.Cleanup()
	other, err := Create(filepath.Join(dir, "d"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Cleanup()
	if err := os.Rename(filepath.Join(dir, "elsewhere"), filepath.Join(dir, other.tmp)); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(); err == nil || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("the file was exchanged: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "d")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what somebody put there has the name: %v", err)
	}
}
