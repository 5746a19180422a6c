package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/host"
	"fettle/internal/means"
)

// TestAnswers: what is told of a name, whether in an archive or in a folder, and which name an error tells.
func TestAnswers(t *testing.T) {
	means.Tool(t, "tar")
	packed := pack(t, m{name: "a/file", body: "12345"}, m{name: "a/link", typ: tar.TypeSymlink, link: "file"},
		m{name: "a/folder", typ: tar.TypeDir}, m{name: "a/gone", typ: tar.TypeSymlink, link: "/none"}, m{name: "a/long/er", body: "x"})
	dir := t.TempDir()
	filter(t, "tar", packed, "-C", dir, "-xf", "-")
	folder, err := Open(t.Context(), dir, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if folder.Name() != dir {
		t.Errorf("its name is %q", folder.Name())
	}
	trees := map[string]*Tree{"folder": folder, "archive": open(t, packed, Limits{})}
	before := len(means.OpenFiles(t))
	for kind, tr := range trees {
		for name, want := range map[string]bool{"/a": true, "/a/link": true, "/a/gone": false, "/none": false, "/": true, "a//./file": true} {
			if tr.Exists(name) != want {
				t.Errorf("%s: %s is there: %v", kind, name, !want)
			}
		}
		for name, want := range map[string]struct {
			size int64
			mode fs.FileMode
		}{"/a/file": {5, 0}, "/a/link": {4, fs.ModeSymlink}, "/a/gone": {5, fs.ModeSymlink}} {
			i, err := tr.Stat(name, false)
			if err != nil || i.Size != want.size || i.Mode.Type() != want.mode || i.Nlink != 1 || i.Ino == 0 {
				t.Errorf("%s: %s is %+v, %v", kind, name, i, err)
			}
		}
		one, _ := tr.Stat("/a/file", true)
		again, _ := tr.Stat("/a/link", true)
		other, _ := tr.Stat("/a/long/er", true)
		if one != again || one.Ino == other.Ino {
			t.Errorf("%s: a file is %+v, by a link %+v, another %+v", kind, one, again, other)
		}
		sub, err := tr.Sub("/a/long/..//")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := sub.ReadFile("/../../file", 5); string(b) != "12345" || err != nil || sub.Name() != tr.Name() {
			t.Errorf("%s: below a folder of it: %q, %v", kind, b, err)
		}
		types := map[string]fs.FileMode{}
		es, err := sub.ReadDir("/")
		for _, e := range es {
			types[e.Name] = e.Type
		}
		if len(es) != 5 || err != nil || types["link"] != fs.ModeSymlink || types["folder"] != fs.ModeDir || types["file"] != 0 {
			t.Errorf("%s: it lists %v, %v", kind, es, err)
		}
		if all, err := sub.Sub("/"); err != nil || !all.Exists("/long/er") {
			t.Errorf("%s: the root of a folder: %v", kind, err)
		}
		errs := map[string]error{}
		_, errs["open /a/file"] = tr.Sub("/a/file")
		_, errs["open /none"] = tr.Sub("/none")
		_, errs["stat /none/x"] = tr.Stat("/none/x", false)
		_, errs["open /a/gone"] = tr.ReadFile("/a/gone", 9)
		_, errs["read /a/file"] = tr.ReadFile("/a/file", 4)
		_, errs["read /a/folder"] = tr.ReadFile("/a/folder", 9)
		_, errs["readlink /a/file"] = tr.Readlink("/a/file")
		_, errs["readlink /none"] = tr.Readlink("/none")
		_, errs["readdir /a/file"] = tr.ReadDir("/a/file")
		_, errs["open /none/y"] = tr.ReadDir("/none/y")
		for what, err := range errs {
			var pe *fs.PathError
			if !errors.As(err, &pe) || pe.Op+" "+pe.Path != what || strings.Count(err.Error(), pe.Path) != 1 {
				t.Errorf("%s: %s: %v", kind, what, err)
			}
		}
		if !errors.Is(errs["open /a/file"], syscall.ENOTDIR) || !errors.Is(errs["readlink /a/file"], syscall.EINVAL) {
			t.Errorf("%s: %v, %v", kind, errs["open /a/file"], errs["readlink /a/file"])
		}
		if b, cut, err := tr.ReadTail("/a/file", 2); string(b) != "45" || !cut || err != nil {
			t.Errorf("%s: the end of a file: %q, %v, %v", kind, b, cut, err)
		}
	}
	if now := means.OpenFiles(t); len(now) != before {
		t.Errorf("open are %v, and were %d", now, before)
	}
}

// TestFolderIsAskedOnce: what was said of a name is said again, whatever becomes of it; of very many names some are kept.
func TestFolderIsAskedOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := Open(t.Context(), dir, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	first, err := tr.Stat("/file", true)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if again, err := tr.Stat("/file", true); again != first || err != nil || first.Size != 5 {
		t.Errorf("first it is %+v, then %+v, %v", first, again, err)
	}
	for i := range maxLooks + 5 {
		if tr.Exists(strconv.Itoa(i)) {
			t.Fatal(i)
		}
	}
	if kept := len(tr.store.(dirStore).seen.m); kept != maxLooks {
		t.Errorf("%d names are kept, want %d", kept, maxLooks)
	}
}

// TestOwners: whose a member is, when it was changed, and what may be done with it; folders that only names imply are as old as the first
// member in them.
func TestOwners(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	at := time.Unix(1700000000, 0).UTC()
	for _, h := range []*tar.Header{{Name: "x/y/own", Uid: 7, Gid: 8, Mode: 0o4751, Typeflag: tar.TypeReg, ModTime: at},
		{Name: "x/y/hard", Typeflag: tar.TypeLink, Linkname: "/x/y/own", Uid: 1},
		{Name: "x/dev", Typeflag: tar.TypeChar, Mode: 0o600}, {Name: "x/pipe", Typeflag: tar.TypeFifo, Mode: 0o600}} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	tr := open(t, b.Bytes(), Limits{})
	for name, want := range map[string]host.Info{
		"/x/y/own":  {Mode: 0o751 | fs.ModeSetuid, UID: 7, GID: 8, ModTime: at},
		"/x/y/hard": {Mode: 0o751 | fs.ModeSetuid, UID: 7, GID: 8, ModTime: at},
		"/x":        {Mode: 0o755 | fs.ModeDir, ModTime: at}, "/x/y": {Mode: 0o755 | fs.ModeDir, ModTime: at},
		"/x/dev":  {Mode: 0o600 | fs.ModeDevice | fs.ModeCharDevice, ModTime: time.Unix(0, 0).UTC()},
		"/x/pipe": {Mode: 0o600 | fs.ModeNamedPipe, ModTime: time.Unix(0, 0).UTC()},
	} {
		got, err := tr.Stat(name, false)
		if want.Nlink, want.Ino = 1, got.Ino; err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// TestTooBigForTheIndex: of a member that is not kept neither all nor the end is read; what comes after it is in its place.
func TestTooBigForTheIndex(t *testing.T) {
	tr := open(t, pack(t, m{name: "a", body: "aa"}, m{name: "big", body: "123456"}, m{name: "after", body: "after"},
		m{name: "a", body: "new"}), Limits{Member: 5})
	if _, _, err := tr.ReadTail("/big", 3); !errors.Is(err, host.ErrTooBig) {
		t.Error(err)
	}
	if i, err := tr.Stat("/big", true); i.Size != 6 || err != nil {
		t.Errorf("%+v, %v", i, err)
	}
	for name, want := range map[string]string{"/after": "after", "/a": "new"} {
		if b, err := tr.ReadFile(name, 5); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// TestSpoolOfTheCaller: the content is in the file that was given, which is closed with the tree, or where the archive is refused.
func TestSpoolOfTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		says string
	}{"taken": {pack(t, m{name: "a", body: "first"}, m{name: "b", body: "second"}), ""}, "refused": {pack(t, m{name: "../x"}), "leads out"}} {
		out, err := os.Create(filepath.Join(t.TempDir(), "spool"))
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Open(t.Context(), write(t, c.data), Limits{Spool: out})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if b, err := os.ReadFile(out.Name()); string(b) != "firstsecond" || err != nil {
				t.Errorf("the file holds %q, %v", b, err)
			}
			tr.Close()
		}
		if err := out.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: the file is left open: %v", name, err)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		means.Missing(t, "needs /dev/full")
	}
	if _, err := Open(t.Context(), write(t, pack(t, m{name: "a", body: "x"})), Limits{Spool: full}); !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "set TMPDIR to a folder with more space") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	means.Within(t, "what was interrupted", func() {
		_, err = Open(ctx, write(t, pack(t, m{name: "a", body: "x"})), Limits{})
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Open(t.Context(), socket, Limits{}); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("a socket: %v", err)
	}
	if _, err := Open(t.Context(), write(t, every(t, pack(t))["gzip"]), Limits{}); err == nil ||
		!strings.Contains(err.Error(), "contains no tar archive") {
		t.Errorf("an archive of nothing: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none"), Limits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := Open(t.Context(), write(t, pack(t, m{name: "a", body: "x"})), Limits{}); err == nil ||
		!strings.Contains(err.Error(), "making a temporary file: ") {
		t.Error(err)
	}
}

// TestDamagedXZ: a byte that is another, in each of the container's own headers.
func TestDamagedXZ(t *testing.T) {
	whole := filter(t, means.Tool(t, "xz"), pack(t, m{name: "a", body: strings.Repeat("text ", 100)}), "-c")
	for at, says := range map[int]string{7: "damaged xz data", 8: "damaged xz data", 13: "damaged xz data", 16: "damaged xz data"} {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if _, err := Open(t.Context(), write(t, b), Limits{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("byte %d is another: %v", at, err)
		}
	}
	bcj := filter(t, "xz", pack(t, m{name: "a", body: "x"}), "-c", "--x86", "--lzma2")
	if _, err := Open(t.Context(), write(t, bcj), Limits{}); err == nil || !strings.Contains(err.Error(), "a filter other than LZMA2") {
		t.Error(err)
	}
	for padding, ok := range map[string]bool{"\x00\x00\x00\x00": true, "\x00\x00": false, "more": false} {
		if _, err := Open(t.Context(), write(t, append(bytes.Clone(whole), padding...)), Limits{}); (err == nil) != ok {
			t.Errorf("%q behind it: %v", padding, err)
		}
	}
	dictionary := filter(t, "xz", pack(t, m{name: "a", body: "x"}), "-c", "--lzma2=preset=6,dict=1MiB")
	for window, ok := range map[int64]bool{1 << 20: true, 1<<20 - 1: false} {
		if _, err := Open(t.Context(), write(t, dictionary), Limits{Window: window}); (err == nil) != ok ||
			err != nil && !errors.Is(err, errDictionary) {
			t.Errorf("a dictionary of 1 MiB in %d bytes: %v", window, err)
		}
	}
}
