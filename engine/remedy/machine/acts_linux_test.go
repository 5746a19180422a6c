package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

var here Linux

// tree is a folder of root's alone, with one of each kind of file.
func tree(t *testing.T) string {
	t.Helper()
	means.Root(t)
	dir := t.TempDir()
	ok(t, os.Chmod(dir, 0o755), os.WriteFile(dir+"/file", []byte("text"), 0o600), os.Chmod(dir+"/file", 0o640|fs.ModeSetuid),
		os.Chown(dir+"/file", 0, 7), os.Chmod(dir+"/file", 0o640|fs.ModeSetuid), os.Mkdir(dir+"/dir", 0o750), os.Symlink("file", dir+"/link"),
		unix.Mkfifo(dir+"/fifo", 0o600), os.Link(dir+"/file", dir+"/hard"), unix.Setxattr(dir+"/file", "user.a", []byte("1\x00"), 0),
		unix.Setxattr(dir+"/file", "user.b", nil, 0))
	return dir
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

// TestLook is how files of each kind are seen.
func TestLook(t *testing.T) {
	dir := tree(t)
	then := time.Date(2019, 5, 6, 7, 8, 9, 123456789, time.UTC)
	ok(t, os.Chtimes(dir+"/file", then, then))
	for name, c := range map[string]struct {
		typ   string
		mode  uint32
		links uint64
	}{"file": {Regular, 0o4640, 2}, "hard": {Regular, 0o4640, 2}, "dir": {Folder, 0o750, 0}, "link": {Other, 0o777, 1},
		"fifo": {Other, 0o600, 1},
		"none": {Absent, 0, 0}, "file/x": {Absent, 0, 0}, "none/x": {Absent, 0, 0}} {
		for _, content := range []bool{true, false} {
			var i Image
			var err error
			looked := make(chan struct{})
			go func() { i, err = here.Look(dir+"/"+name, content); close(looked) }()
			select {
			case <-looked:
			case <-time.After(means.Patience):
				t.Fatal(name, "is read, and there is no end of it")
			}
			if err != nil || i.Type != c.typ || i.Mode != c.mode || i.Links != c.links || i.Foreign || i.Mount {
				t.Errorf("%s: %+v, %v", name, i, err)
			}
			if c.typ == Regular {
				var st unix.Stat_t
				ok(t, unix.Stat(dir+"/"+name, &st))
				if i.ID.Inode != st.Ino || i.UID != 0 || i.GID != 7 || i.Size != 4 || i.ModNS != then.UnixNano() || len(i.Xattrs) != 2 ||
					string(i.Xattrs["user.a"]) != "1\x00" || i.Xattrs["user.b"] == nil {
					t.Errorf("%s: %+v", name, i)
				}
				if born := time.Unix(0, i.ID.BornNS); i.ID.BornNS != 0 && (time.Since(born) < 0 || time.Since(born) > time.Hour) {
					t.Errorf("%s was born %s", name, born)
				}
			}
			if read := content && c.typ == Regular; (string(i.Content) == "text") != read || (i.Sum == Sum([]byte("text"))) != read {
				t.Errorf("%s: content %q, sum %s", name, i.Content, i.Sum)
			}
			if c.typ == Folder && (i.ID.Inode == 0 || i.Size != 0) {
				t.Errorf("%s: %+v", name, i)
			}
		}
	}
	for _, bad := range []string{"relative", dir + "/dir/", dir + "/../x", ""} {
		if i, err := here.Look(bad, false); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%q: %+v, %v", bad, i, err)
		}
	}
	if i, err := here.Look("/", false); err != nil || i.Type != Folder || i.UID != 0 {
		t.Errorf("/: %+v, %v", i, err)
	}
	if i, err := here.Look("/dev/null", true); err != nil || i.Type != Other {
		t.Errorf("/dev/null: %+v, %v", i, err)
	}
	if a, b := Sum(nil), Sum([]byte("x")); a == b || len(a) != 64 || !strings.HasPrefix(a, "e3b0c442") {
		t.Error(a, b)
	}
}

// A file of 64 MiB is read, a larger one is not.
func TestLookIsBounded(t *testing.T) {
	dir := tree(t)
	for size, fails := range map[int64]bool{ContentLimit: false, ContentLimit + 1: true} {
		ok(t, os.Truncate(dir+"/file", size))
		f, err := os.Open(dir + "/file")
		ok(t, err)
		b, err := readAll(int(f.Fd()))
		if (err != nil) != fails || !fails && int64(len(b)) != size || fails && !strings.Contains(err.Error(), "larger than 64 MiB") {
			t.Errorf("of %d bytes %d are read: %v", size, len(b), err)
		}
		f.Close()
		if i, err := here.Look(dir+"/file", true); (err != nil) != fails || !fails && i.Size != size {
			t.Errorf("of %d bytes %d are seen: %v", size, i.Size, err)
		}
	}
	if _, err := readAll(-1); err == nil {
		t.Error("what is not open is read")
	}
	if _, err := lookAt(-1); err == nil {
		t.Error("what is not open is looked at")
	}
	if _, err := identify(-1); err == nil {
		t.Error("what is not open has an identity")
	}
	if _, err := readXattrs(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// each is every act on a file, by name.
func each(f Ref) map[string]func() error {
	return map[string]func() error{
		"unlink": func() error { return here.Unlink(f) }, "overwrite": func() error { return here.Overwrite(f, []byte("new")) },
		"chown": func() error { return here.Chown(f, 0, 0) }, "chmod": func() error { return here.Chmod(f, 0o600) },
		"setxattr":    func() error { return here.SetXattr(f, "user.c", nil) },
		"removexattr": func() error { return here.RemoveXattr(f, "user.a") }, "utime": func() error { return here.SetModTime(f, 5) },
		"sync": func() error { return here.Sync(f) }, "rename": func() error { return here.Rename(f, filepath.Dir(f.Path)+"/renamed") },
	}
}

// TestActs: what each act does to a file, and to nothing else.
func TestActs(t *testing.T) {
	for name, want := range map[string]func(before Image) Image{
		"overwrite": func(i Image) Image { i.Content = []byte("new"); return i }, // root keeps the set-id bit,
		"chown":     func(i Image) Image { i.GID, i.Mode = 0, i.Mode&^0o6000; return i },
		"chmod":     func(i Image) Image { i.Mode = 0o600; return i },
		"setxattr": func(i Image) Image {
			i.Xattrs = map[string][]byte{"user.a": []byte("1\x00"), "user.b": {}, "user.c": {}}
			return i
		},
		"removexattr": func(i Image) Image { i.Xattrs = map[string][]byte{"user.b": {}}; return i },
		"utime":       func(i Image) Image { i.ModNS = 5; return i },
		"sync":        func(i Image) Image { return i },
		"rename":      func(i Image) Image { return i },
		"unlink":      nil,
	} {
		dir := tree(t)
		before, err := here.Look(dir+"/file", true)
		ok(t, err)
		f := Ref{Path: dir + "/file", ID: before.ID}
		if err := each(f)[name](); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := map[bool]string{true: dir + "/renamed", false: dir + "/file"}[name == "rename"]
		now, err := here.Look(at, true)
		ok(t, err)
		if want == nil {
			if now.Type != Absent {
				t.Errorf("%s: %+v", name, now)
			}
			continue
		}
		w := want(before)
		w.Sum, w.Size = Sum(w.Content), int64(len(w.Content))
		if name == "overwrite" {
			w.ModNS = now.ModNS
		}
		if fmt.Sprintf("%+v", now) != fmt.Sprintf("%+v", w) {
			t.Errorf("%s: %+v, not %+v", name, now, w)
		}
		if old, _ := here.Look(dir+"/file", false); name == "rename" && old.Type != Absent {
			t.Error("renamed, and still there")
		}
	}
	dir := tree(t)
	var st unix.Stat_t
	ok(t, unix.Stat(dir+"/file", &st))
	atime := st.Atim
	if ok(t, here.SetModTime(At(dir+"/file"), 7), unix.Stat(dir+"/file", &st)); st.Atim != atime {
		t.Error("the time of access is set, too")
	}
}

// TestActsElsewhere: where there is no file, through a link, and on a file that is not the one that is meant.
func TestActsElsewhere(t *testing.T) {
	for name := range each(Ref{}) {
		dir := tree(t)
		for file, want := range map[string]error{"/none": fs.ErrNotExist, "/link": unix.ELOOP, "/dir/none": fs.ErrNotExist} {
			err := each(At(dir + file))[name]()
			var pe *fs.PathError
			if file == "/link" && name == "rename" && errors.Is(err, want) {
				continue // it is looked at afterwards
			}
			if !errors.Is(err, want) || !errors.As(err, &pe) || !strings.HasPrefix(pe.Path, dir) {
				t.Errorf("%s of %s: %v", name, file, err)
			}
		}
		if i, err := here.Look(dir+"/file", true); err != nil || string(i.Content) != "text" || i.Mode != 0o4640 || len(i.Xattrs) != 2 {
			t.Errorf("%s: what the link leads to is changed: %+v, %v", name, i, err)
		}
		// Only root can put another file there: it is the one that is meant, whatever its number.
		other := Ref{Path: dir + "/file", ID: ID{Inode: 1}}
		if err := each(other)[name](); err != nil {
			t.Errorf("%s of a file of root's: %v", name, err)
		}
		// Others may, too: it is not.
		dir = tree(t)
		ok(t, os.Chown(dir, 0, 7), os.Chmod(dir, 0o775))
		i, err := here.Look(dir+"/file", false)
		if ok(t, err); !i.Foreign {
			t.Error("a folder of a group's is root's alone")
		}
		err = each(Ref{Path: dir + "/file", ID: ID{Inode: i.ID.Inode + 1, BornNS: i.ID.BornNS}})[name]()
		var changed *Changed
		if !errors.As(err, &changed) || !strings.HasPrefix(changed.Path, dir) {
			t.Errorf("%s of another file: %v", name, err)
		}
		for _, ref := range []Ref{{Path: dir + "/hard", ID: i.ID}, At(dir + "/file")} {
			if _, err := os.Lstat(ref.Path); err == nil && (name != "removexattr" || ref.ID.Inode != 0) {
				if err := each(ref)[name](); err != nil {
					t.Errorf("%s of the file that is meant: %v", name, err)
				}
			}
		}
	}
}

// TestMakes: folders and files are made with their modes, and not over others.
func TestMakes(t *testing.T) {
	dir := tree(t)
	if err := here.Mkdir(dir+"/new", 0o751); err != nil {
		t.Error(err)
	}
	for _, n := range []string{"new", "file", "link"} {
		if err := here.Mkdir(dir+"/"+n, 0o755); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", n, err)
		}
		if _, err := here.Create(dir+"/"+n, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", n, err)
		}
	}
	id, err := here.Create(dir+"/new/file", []byte("content"))
	i, err2 := here.Look(dir+"/new/file", true)
	if ok(t, err, err2); i.ID != id || i.Mode != 0o600 || string(i.Content) != "content" || id.Inode == 0 {
		t.Errorf("%+v, made as %+v", i, id)
	}
	if err := here.Rmdir(dir + "/new"); !errors.Is(err, unix.ENOTEMPTY) {
		t.Error(err)
	}
	ok(t, here.Unlink(At(dir+"/new/file")), here.Rmdir(dir+"/new"))
	for _, n := range []string{"new", "none/x"} {
		if err := here.Rmdir(dir + "/" + n); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", n, err)
		}
	}
	if err := here.Rmdir(dir + "/file"); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
	if err := here.Rename(At(dir+"/file"), dir+"/dir/file"); !errors.Is(err, unix.EXDEV) {
		t.Error(err)
	}
	if err := here.Rename(At(dir+"/file"), dir+"/dir"); !errors.Is(err, unix.EISDIR) {
		t.Error(err)
	}
	if err := write(-1, "nothing", []byte("x")); err == nil {
		t.Error("what is not open was written")
	}
	if names, err := here.List(dir); err != nil || strings.Join(names, " ") != "dir fifo file hard link" {
		t.Error(names, err)
	}
	if _, err := here.List(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestValues: values are written over what is there, and no file is made for one.
func TestValues(t *testing.T) {
	dir := tree(t)
	ok(t, here.WriteValue(dir+"/file", "ab"))
	if b, err := os.ReadFile(dir + "/file"); string(b) != "ab\nt" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	ok(t, os.WriteFile(dir+"/file", []byte("one two\n\n"), 0o600))
	if v, err := here.ReadValue(dir + "/file"); v != "one two\n" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "link": unix.ELOOP} {
		if err := here.WriteValue(dir+"/"+name, "x"); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(dir + "/none"); err == nil {
		t.Error("a file was made")
	}
	if _, err := here.ReadValue(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := here.WriteValue("/dev/full", "x"); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), `writing "x" to /dev/full`) {
		t.Error(err)
	}
	ok(t, os.WriteFile(dir+"/boot", []byte(" one\n"), 0o600))
	if b, err := (Linux{BootIDFile: dir + "/boot"}).BootID(); b != "one" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := (Linux{BootIDFile: dir + "/none"}).BootID(); err == nil {
		t.Error("a boot without a number")
	}
	real, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ok(t, err)
	if b, err := here.BootID(); b != string(bytes.TrimSpace(real)) || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestRun: commands are run by absolute paths, within a time; their status is no error.
func TestRun(t *testing.T) {
	out, err := here.Run(t.Context(), []string{"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, time.Minute)
	if err != nil || out.Exit != 3 || string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" {
		t.Errorf("%+v, %v", out, err)
	}
	for want, argv := range map[string][]string{"a command needs an absolute path": {"sh"}, ": a command needs": nil,
		"running /nosuch a": {"/nosuch", "a"}} {
		if _, err := here.Ask(t.Context(), argv, time.Minute); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", argv, err)
		}
	}
	_, err = here.Run(t.Context(), []string{"/bin/sleep", "60"}, 10*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "running /bin/sleep 60") {
		t.Error(err)
	}
	if p, booted := (Linux{SystemctlPath: "/x"}).Systemctl(); p != "/x" || !booted {
		t.Error(p, booted)
	}
	st, err := os.Lstat("/run/systemd/system")
	p, booted := here.Systemctl()
	if booted != (err == nil && st.IsDir()) {
		t.Error("booted:", booted)
	}
	_, err1 := os.Stat("/usr/bin/systemctl")
	_, err2 := os.Stat("/bin/systemctl")
	if (p == "") != (err1 != nil && err2 != nil) {
		t.Error("systemctl:", p)
	}
	if m, ok := New().(Linux); !ok || m.SystemctlPath != "" {
		t.Errorf("%+v", m)
	}
}
