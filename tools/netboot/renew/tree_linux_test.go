package renew

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"fettle/internal/means"
)

func TestRoot(t *testing.T) {
	for folder, want := range map[string]string{
		"/srv/tftp/debian-installer/amd64":  "/srv/tftp debian-installer/amd64",
		"/srv/tftp/debian-installer/arm64/": "/srv/tftp debian-installer/arm64",
		"/debian-installer/amd64":           "/ debian-installer/amd64",
		"/srv/tftp/images/amd64":            "",
		"/srv/debian-installer":             "",
		"/":                                 "",
	} {
		root, rel, ok := Root(folder)
		if ok != (want != "") || ok && root+" "+rel != want {
			t.Errorf("%s: %s %s %t, want %q", folder, root, rel, ok, want)
		}
	}
}

// TestLock: the second waits for the first, as long as it has time, and leaves nothing behind.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, dir); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), dir+" locked") {
		t.Errorf("beside another: %v", err)
	}
	type locked struct {
		unlock func()
		err    error
	}
	second := make(chan locked, 1)
	go func() {
		unlock, err := Lock(t.Context(), dir)
		second <- locked{unlock, err}
	}()
	select {
	case <-second:
		t.Error("two have it locked")
	case <-time.After(200 * time.Millisecond):
	}
	unlock()
	select {
	case l := <-second:
		if l.err != nil {
			t.Fatal(l.err)
		}
		l.unlock()
	case <-time.After(means.Patience):
		t.Fatal("it waits, though nobody has it locked")
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
	if _, err := Lock(t.Context(), dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestCarried: what an admin added is in the new tree as it was, and nothing else of the old one.
func TestCarried(t *testing.T) {
	old, fresh := folder(t), folder(t)
	err := errors.Join(
		old.MkdirAll("extra/deep", 0o755), old.WriteFile("extra/deep/file", []byte("his"), 0o600), old.Chmod("extra/deep/file", 0o640),
		old.Symlink("extra/deep", "latest"), old.WriteFile("linux", []byte("old"), 0o644), mkfifo(filepath.Join(old.Name(), "pipe")),
		old.WriteFile("initrd.notes", []byte("about initrds"), 0o644), old.Mkdir("initrd.d", 0o755), fresh.Mkdir("initrd.d", 0o755),
		fresh.WriteFile("linux", []byte("new"), 0o644), fresh.WriteFile("initrd.notes", []byte("new ones"), 0o644),
	)
	if err == nil {
		err = (&carrying{old: old, new: fresh, mostFiles: 100, mostBytes: 100}).all()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"extra/deep/file": "his", "linux": "new", "initrd.notes": "new ones"} {
		if b, err := fresh.ReadFile(name); string(b) != want {
			t.Errorf("%s: %q, %v; want %q", name, b, err, want)
		}
	}
	if st, err := fresh.Stat("extra/deep/file"); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("its mode: %v, %v", st, err)
	}
	if to, err := fresh.Readlink("latest"); to != "extra/deep" {
		t.Errorf("a link to %q, %v", to, err)
	}
	if _, err := fresh.Lstat("pipe"); err == nil {
		t.Error("a FIFO is carried over")
	}
}

// TestOpenFile: what was looked at is opened, and nothing else.
func TestOpenFile(t *testing.T) {
	r := folder(t)
	err := errors.Join(r.WriteFile("a", nil, 0o644), r.WriteFile("b", nil, 0o644), mkfifo(filepath.Join(r.Name(), "pipe")))
	a, aerr := r.Lstat("a")
	pipe, perr := r.Lstat("pipe")
	if err := errors.Join(err, aerr, perr); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(r, "a", a)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := openFile(r, "b", a); err == nil || !strings.Contains(err.Error(), "b was exchanged at that moment") {
		t.Errorf("another file: %v", err)
	}
	if _, err := openFile(r, "pipe", pipe); err == nil || !strings.Contains(err.Error(), "pipe was exchanged") {
		t.Errorf("a FIFO: %v", err)
	}
	if _, err := openFile(r, "none", a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}

// TestSum: each change of a tree changes its sum, and that of what lies beside it does not.
func TestSum(t *testing.T) {
	r := folder(t)
	err := errors.Join(r.MkdirAll("d/e", 0o755), r.WriteFile("d/e/f", []byte("text"), 0o644), r.Symlink("e/f", "d/l"),
		r.WriteFile("beside", nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	of := func() string {
		t.Helper()
		s, err := sum(r, "d")
		if err != nil || len(s) != 64 {
			t.Fatal(s, err)
		}
		return s
	}
	was := of()
	if err := r.WriteFile("beside", []byte("else"), 0o644); err != nil || of() != was {
		t.Errorf("what lies beside it counts: %v", err)
	}
	seen := map[string]string{was: "before"}
	for _, c := range []struct {
		name string
		act  func() error
	}{
		{"another text", func() error { return r.WriteFile("d/e/f", []byte("Text"), 0o644) }},
		{"another mode", func() error { return r.Chmod("d/e/f", 0o600) }},
		{"another link", func() error { return errors.Join(r.Remove("d/l"), r.Symlink("e", "d/l")) }},
		{"another name", func() error { return r.Rename("d/e/f", "d/e/g") }},
		{"an empty file", func() error { return r.WriteFile("d/h", nil, 0o644) }},
		{"an empty folder", func() error { return r.Mkdir("d/i", 0o755) }},
	} {
		if err := c.act(); err != nil {
			t.Fatal(c.name, err)
		}
		s := of()
		if other := seen[s]; other != "" {
			t.Errorf("%s: the sum is as %s", c.name, other)
		}
		seen[s] = c.name
	}
	if err := mkfifo(filepath.Join(r.Name(), "d/pipe")); err != nil {
		t.Fatal(err)
	}
	if _, err := sum(r, "d"); err == nil || !strings.Contains(err.Error(), "d/pipe is neither a file") {
		t.Errorf("a FIFO: %v", err)
	}
	if _, err := sum(r, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

func TestForeignNotes(t *testing.T) {
	digest := strings.Repeat("0a", 32)
	line := "12 " + digest + " version.info\n"
	for text, want := range map[string]string{
		line + "13 " + digest + " debian-installer/a b\n": "",
		"":                                     "not written by fettle",
		"12 " + digest + "\n":                  "not written by fettle",
		"12 " + digest[1:] + " a\n":            "not written by fettle",
		"12 " + digest + " ../a\n":             "not written by fettle",
		line + "x " + digest + " a\n":          "not written by fettle",
		line + "\n":                            "not written by fettle",
		strings.Repeat(line, 4096/len(line)):   "",
		strings.Repeat(line, 4096/len(line)+1): "larger than 4096",
	} {
		r := folder(t)
		if err := r.WriteFile(noteName, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readNote(r)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.90q: %v, want %q", text, err, want)
		}
		if err == nil && (len(all) < 2 || all[0] != place{12, digest, version}) {
			t.Errorf("%.90q: %+v", text, all)
		}
	}
}

func TestNote(t *testing.T) {
	r := folder(t)
	if err := Note(r, rel); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no tree: %v", err)
	}
	pipe := filepath.Join(r.Name(), rel, "pipe")
	if err := errors.Join(r.MkdirAll(rel, 0o755), mkfifo(pipe)); err != nil {
		t.Fatal(err)
	}
	if err := Note(r, rel); err == nil || !strings.Contains(err.Error(), "neither a file") {
		t.Errorf("of a tree with a FIFO: %v", err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := Note(r, rel); err != nil {
		t.Error(err)
	}
	if err := Note(r, rel); !errors.Is(err, fs.ErrExist) {
		t.Errorf("once more: %v", err)
	}
}

// TestNoStage: what is asked of a stage that is not there, or in a folder that is not, is an error.
func TestNoStage(t *testing.T) {
	root := lay(t, "old")
	for _, stage := range []string{root + "/none", root + "/none/none"} {
		done, err := Swapped(root, stage)
		for what, err := range map[string]error{
			"swapped": err, "verify": Verify(stage), "swap": Swap(root, stage, true), "swap back": Swap(root, stage, false),
		} {
			if done || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %s: %t, %v", stage, what, done, err)
			}
		}
	}
	stage := staged(t, root)
	if done, err := Swapped(root+"/none", stage); done || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no root: %t, %v", done, err)
	}
	if err := os.RemoveAll(filepath.Join(root, "debian-installer")); err != nil {
		t.Fatal(err)
	}
	if done, err := Swapped(root, stage); done || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is served: %t, %v", done, err)
	}
}

func TestExchangeWithNothing(t *testing.T) {
	full, empty := folder(t), folder(t)
	if err := full.MkdirAll(rel, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{exchange(full, empty, rel), exchange(empty, full, rel)} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

// TestMenuExchanged: the menu that was read by path is not the one below the open folder.
func TestMenuExchanged(t *testing.T) {
	old, fresh := lay(t, "old"), lay(t, "new")
	name := filepath.Join(rel, "boot-screens/syslinux.cfg")
	serial := "serial 1 57600\nlabel install\n\tkernel debian-installer/amd64/linux\n\tappend console=ttyS1,57600n8 ---\n"
	if err := os.WriteFile(filepath.Join(old, name), []byte(serial), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(filepath.Dir(fresh))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, other := range []string{"", "label other\n"} {
		root := folder(t)
		if other != "" {
			err = errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, []byte(other), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		err := console(t.Context(), live(t), old, &Part{Root: root, dir: dir, name: filepath.Base(fresh)})
		if err == nil || !strings.Contains(err.Error(), "syslinux.cfg was exchanged at that moment") {
			t.Errorf("%q: %v", other, err)
		}
		if b, _ := root.ReadFile(name); string(b) != other {
			t.Errorf("%q is written", b)
		}
	}
}

// TestPart: a tree has its name when it is whole, and where nothing else has it.
func TestPart(t *testing.T) {
	to := filepath.Join(t.TempDir(), "tree")
	left := func() []string {
		names, _ := filepath.Glob(filepath.Dir(to) + "/*")
		return names
	}
	make := func() *Part {
		t.Helper()
		p, err := Prepare(to)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(p.Path()); err != nil || st.Mode().Perm() != 0o700 {
			t.Fatal(st, err)
		}
		return p
	}
	make().Drop()
	if names := left(); len(names) > 0 {
		t.Errorf("of what was dropped there is %v", names)
	}
	for stage, mode := range map[bool]fs.FileMode{true: 0o700, false: 0o755} {
		p := make()
		if err := p.Finish(stage); err != nil {
			t.Fatal(err)
		}
		p.Drop()
		if st, err := os.Stat(to); err != nil || st.Mode().Perm() != mode {
			t.Errorf("stage %t: %v, %v", stage, st, err)
		}
		if _, err := Prepare(to); err == nil || !strings.Contains(err.Error(), "tree is there already") {
			t.Errorf("where there is one: %v", err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
	p := make()
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(false); err == nil || !strings.Contains(err.Error(), "tree was created by another program meanwhile") {
		t.Errorf("where there is one by now: %v", err)
	}
	p.Drop()
	if names := left(); len(names) != 1 {
		t.Errorf("there is %v", names)
	}
	if _, err := Prepare(to + "/none/tree"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestRemove: a stage goes, with what was begun of it, and what is named alike stays.
func TestRemove(t *testing.T) {
	root := lay(t, "old")
	stage := staged(t, root)
	for _, d := range []string{stage + ".part-1/x", stage + "-else"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // done again it is no error
		if err := Remove(stage); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := filepath.Glob(stage + "*"); len(names) != 1 || names[0] != stage+"-else" {
		t.Errorf("left: %v", names)
	}
	if err := Remove(stage + "/none/stage"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.WriteFile(stage, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Verify(stage); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a file for a stage: %v", err)
	}
}

func TestUnpackPart(t *testing.T) {
	archive := func(es ...entry) io.Reader {
		z, err := gzip.NewReader(bytes.NewReader(tarball(es...)))
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	r := folder(t)
	err := Unpack(archive(entry{name: "./"}, entry{name: "a/b/linux", text: "it"}, entry{name: "a/b", kind: tar.TypeDir},
		entry{name: "a/bc", text: "x"},
		entry{name: "a/b/empty/", kind: tar.TypeDir}, entry{name: "a/b/d/l", link: "../linux", kind: tar.TypeSymlink}), "a/b", r)
	if b, rerr := r.ReadFile("d/l"); err != nil || string(b) != "it" {
		t.Errorf("%q, %v, %v", b, err, rerr)
	}
	if names, err := fs.Glob(r.FS(), "*"); err != nil || strings.Join(names, " ") != "d empty linux" {
		t.Errorf("%v, %v", names, err)
	}
	for want, es := range map[string][]entry{
		"contains no tree":            {{name: "a/bc", text: "x"}},
		`".."`:                        {{name: "a/b/l", link: "..", kind: tar.TypeSymlink}},
		`"d/../.."`:                   {{name: "a/b/l", link: "d/../..", kind: tar.TypeSymlink}},
		`called ".."`:                 {{name: "..", kind: tar.TypeDir}},
		"unpacking x: openat x: file": {{name: "a/b/x", text: "1"}, {name: "a/b/x", text: "2"}},
	} {
		if err := Unpack(archive(es...), "a/b", folder(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	whole := tarball(tree("x")...)
	whole[len(whole)-6] ^= 1 // in the checksum
	if err := UnpackGzip(bytes.NewReader(whole), folder(t)); err == nil || !strings.Contains(err.Error(), "unpacking") {
		t.Errorf("another checksum: %v", err)
	}
	if err := UnpackGzip(strings.NewReader("no gzip"), folder(t)); !errors.As(err, new(*Untrusted)) {
		t.Errorf("no archive: %v", err)
	}
}

// TestNothingStaysOpen: of all that a renewal opens nothing is open afterwards, nor where it fails.
func TestNothingStaysOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what was forgotten
	h := live(t)
	round := func() {
		root := lay(t, "old")
		stage := filepath.Join(root, ".fettle-netboot-z")
		if err := renewed(t, h, root, stage); err != nil {
			t.Fatal(err)
		}
		if done, err := Swapped(root, stage); !done || err != nil {
			t.Fatal(done, err)
		}
		Remove(stage) // refused
		Prepare(stage)
		Swap(root, stage, false)
		if err := Verify(stage); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(stage, noteName))
		Verify(stage)
		Swap(root, stage, true)
		os.Chmod(stage, 0o755)
		Verify(stage)
		Swapped(root, stage)
		Swapped(root, stage+"-none")
		Remove(stage)
		if unlock, err := Lock(t.Context(), root); err == nil {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			Lock(ctx, root)
			unlock()
		}
		if p, err := Prepare(stage); err == nil {
			Carry(t.Context(), h, root, p, "none")
			Carry(t.Context(), h, root+"/none", p, rel)
			Carry(t.Context(), h, root, p, rel) // the part has no such folder
			p.Drop()
		}
	}
	round() // what is opened once stays open
	was := means.OpenFiles(t)
	round()
	for fd, to := range means.OpenFiles(t) {
		if was[fd] == "" {
			t.Errorf("%s is open", to)
		}
	}
}

// TestSumsThatCannotBeMade: a stage whose tree is gone, or holds what has no sum, is not verified.
func TestSumsThatCannotBeMade(t *testing.T) {
	for want, act := range map[string]func(stage string) error{
		"no such file":   func(stage string) error { return os.RemoveAll(filepath.Join(stage, rel)) },
		"neither a file": func(stage string) error { return mkfifo(filepath.Join(stage, rel, "pipe")) },
	} {
		root := lay(t, "old")
		stage := staged(t, root)
		if err := act(stage); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{Verify(stage), Swap(root, stage, true)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// TestWithoutRights: what the caller may not read has no sum, and a stage that he may not enter is not verified.
func TestWithoutRights(t *testing.T) {
	r := folder(t)
	for name, mode := range map[string]fs.FileMode{"closed": 0, "named": 0o744, "file": 0o755} {
		if err := errors.Join(r.Mkdir(name, 0o700), r.WriteFile(name+"/f", nil, 0), r.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := folder(t), folder(t)
	if err := errors.Join(old.Mkdir("closed", 0), fresh.Chmod(".", 0o777)); err != nil {
		t.Fatal(err)
	}
	root, _ := prey(t)
	stage := staged(t, root)
	means.AsNobody(t, func() {
		for _, name := range []string{"closed", "named", "file"} {
			if s, err := sum(r, name); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %s, %v", name, s, err)
			}
		}
		if err := (&carrying{old: old, new: fresh, mostFiles: 9, mostBytes: 9}).all(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("carried: %v", err)
		}
		if err := Verify(stage); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a stage: %v", err)
		}
	})
}
