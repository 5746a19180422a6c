package lab

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// once fails at one write, counted from 0, and at no other.
type once struct {
	bytes.Buffer
	at, n int
}

var errFull = errors.New("no room")

func (w *once) Write(b []byte) (int, error) {
	w.n++
	if w.n == w.at+1 {
		return 0, errFull
	}
	return w.Buffer.Write(b)
}

// TestNothingIsLeftOut: once a part of an image could not be written, whoever adds another hears of that. Package cpio
// keeps the error of a header until the next one.
func TestNothingIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/b/file": "text", "a/other": "more", "x.ko": "module", "modules.dep": "x.ko:\n"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("b/file", dir+"/a/link"), os.Symlink("a", dir+"/folder")); err != nil {
		t.Fatal(err)
	}
	for name, add := range map[string]func(*image) error{
		"folders":              func(im *image) error { return im.dir("/one/two/three") },
		"the skeleton":         (*image).skeleton,
		"a file":               func(im *image) error { return im.file("/one/two", 0o644, 4, strings.NewReader("text")) },
		"a link":               func(im *image) error { return im.link("/one/two", "target") },
		"a link as it is":      func(im *image) error { return im.linkAs("two", "target") },
		"a file of the host":   func(im *image) error { return im.copy(dir + "/a/other") },
		"a folder of the host": func(im *image) error { return im.copy(dir + "/a") },
		"a link of the host":   func(im *image) error { return im.copy(dir + "/a/link") },
		"a folder behind one":  func(im *image) error { return im.copy(dir + "/folder/b") },
		"one behind a folder":  func(im *image) error { return im.copy(dir + "/folder/link") },
		"another name":         func(im *image) error { return im.copyAs(dir+"/a/other", "/name") },
		"a library":            func(im *image) error { return im.library("other", dir+"/a") },
		"a tool":               func(im *image) error { return im.tool("sleep") },
		"modules":              func(im *image) error { _, err := im.modules(dir, []string{"x"}, nil); return err },
		"the end":              (*image).close,
	} {
		if err := add(newImage(&once{at: -2})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		broken := newImage(&once{at: 0})
		broken.linkAs("broken", "")
		if err := add(broken); !errors.Is(err, errFull) {
			t.Errorf("%s after what was not written: %v", name, err)
		}
		if err := broken.close(); !errors.Is(err, errFull) {
			t.Errorf("%s: the image is not whole, and its end says %v", name, err)
		}
	}
	im := newImage(&once{at: 3}) // the content, behind a header, a name and its padding
	if err := im.file("x", 0o644, 4, strings.NewReader("text")); !errors.Is(err, errFull) {
		t.Errorf("a file without its content: %v", err)
	}
	im = newImage(&once{at: 3})
	if err := im.linkAs("x", "target"); !errors.Is(err, errFull) {
		t.Errorf("a link without its target: %v", err)
	}
	var b bytes.Buffer
	im = newImage(&b)
	if err := errors.Join(im.copy(dir+"/folder/link"), im.close()); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"/a/link": true, "/a/b/file": true, "/folder/link": false} {
		if bytes.Contains(b.Bytes(), []byte(dir[1:]+name+"\x00")) != want {
			t.Errorf("of a link in a folder that is behind a link %s is packed: %t", name, !want)
		}
	}
	im = newImage(&b)
	for name, err := range map[string]error{"a file": im.copy(dir + "/none"), "another name": im.copyAs(dir+"/none", "/x"),
		"a link to nothing": errors.Join(os.Symlink("nowhere", dir+"/dangles"), im.copy(dir+"/dangles"))} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s that is not there: %v", name, err)
		}
	}
}

// TestModulesAreUnpacked: however a module is packed, the guest gets it as the kernel takes it.
func TestModulesAreUnpacked(t *testing.T) {
	dir := t.TempDir()
	var x, z bytes.Buffer
	xw, err := xz.NewWriter(&x)
	if err != nil {
		t.Fatal(err)
	}
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := xw.Write([]byte("module"))
	_, err2 := zw.Write([]byte("module"))
	if err := errors.Join(err1, err2, xw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"a.ko": []byte("module"), "b.ko.xz": x.Bytes(), "c-c.ko.zst": z.Bytes(),
		"bad.ko.xz":  []byte("module"),
		"half.ko.xz": x.Bytes()[:x.Len()-9], "half.ko.zst": z.Bytes()[:z.Len()-3], "modules.dep": []byte("a.ko:\nb.ko.xz: a.ko\nc-c.ko.zst:\n" +
			"bad.ko.xz:\nhalf.ko.xz:\nno line\ngone.ko:\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	im := newImage(&b)
	order, err := im.modules(dir, []string{"b", "c_c"}, []string{"may"})
	if err != nil || !slices.Equal(order, []string{"/modules/a.ko", "/modules/b.ko", "/modules/c_c.ko"}) {
		t.Errorf("%q, %v", order, err)
	}
	if err := im.close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range order {
		if !bytes.Contains(b.Bytes(), []byte(strings.TrimPrefix(name, "/")+"\x00")) {
			t.Errorf("%s is not there", name)
		}
	}
	if n := bytes.Count(b.Bytes(), []byte("module\x00")); n != 3 {
		t.Errorf("%d modules are unpacked, want 3", n)
	}
	for name, want := range map[string]string{"bad": dir + "/bad.ko.xz: ", "half": dir + "/half.ko.xz: ", "gone": "no such file",
		"none": "this kernel has no module none (looked in " + dir + ")"} {
		if _, err := newImage(&b).modules(dir, []string{name}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := newImage(&b).module(dir+"/half.ko.zst", "/x"); err == nil || !strings.HasPrefix(err.Error(), dir+"/half.ko.zst: ") {
		t.Errorf("half a module: %v", err)
	}
	for _, c := range []struct {
		dir        string
		names, may []string
		want       string
	}{{"", nil, nil, ""}, {"", nil, []string{"x"}, ""}, {dir, nil, nil, ""}, {dir, nil, []string{"x"}, ""},
		{"", []string{"x", "y"}, nil, "no folder of this kernel's modules was found, and x, y is needed: name it with --modules"},
		{dir + "/none", []string{"a"}, nil, "reading the kernel's modules: "}} {
		order, err := newImage(&b).modules(c.dir, c.names, c.may)
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) || len(order) > 0 {
			t.Errorf("%q, %q of %q: %q, %v", c.names, c.may, c.dir, order, err)
		}
	}
}

// TestPrograms: the fettle that is proven is the one that was named, else the one beside fettle-lab, else the one on PATH.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"both/lab", "both/fettle", "alone/lab", "odd/lab", "odd/fettle/x", "path/fettle"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ init, fettle, path, want string }{
		{"/both/lab", "/named", "/path", "/named"}, {"/both/lab", "", "/path", "/both/fettle"}, {"/alone/lab", "", "/path", "/path/fettle"},
		{"/odd/lab", "", "/path", "/path/fettle"}, {"/alone/lab", "", "/none", ""},
	} {
		t.Setenv("PATH", dir+c.path)
		o := Options{Init: dir + c.init}
		if c.fettle != "" {
			o.Fettle = dir + c.fettle
		}
		err := o.programs()
		if c.want == "" {
			if err == nil || err.Error() != "the fettle to prove is neither beside "+dir+c.init+" nor on PATH; make builds both" {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || o.Fettle != dir+c.want || o.Init != dir+c.init {
			t.Errorf("%+v: %q, %q, %v", c, o.Init, o.Fettle, err)
		}
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	o := Options{Fettle: "/x"}
	if perr := o.programs(); err != nil || perr != nil || o.Init != self {
		t.Errorf("this program is %q, not %q: %v, %v", o.Init, self, perr, err)
	}
	for _, uefi := range []bool{false, true} {
		c := &Client{UEFI: uefi}
		err := Missing([]Job{{Scenario: Scenario{Needs: Needs{Client: c}}},
			{Scenario: Scenario{Needs: Needs{Files: []string{"/none/of/a/package"}}}}})
		file := c.files()[0]
		if said := err != nil && strings.Contains(err.Error(), file); said == exists(file) || err != nil &&
			strings.Contains(err.Error(), "/none/of") {
			t.Errorf("%s is there: %t; and said of it: %v", file, exists(file), err)
		}
	}
	for _, c := range []struct {
		tools []string
		want  string
	}{{[]string{"radvd"}, "the program radvd is not installed; "}, {[]string{"a.so", "b"},
		"these programs and libraries are not installed: a.so, b; "},
		{[]string{"/usr/x", "b"}, "these are missing: /usr/x, b; "}} {
		if got := (&MissingError{Tools: c.tools, Packages: []string{"p", "q"}}).Error(); !strings.HasPrefix(got, c.want) ||
			!strings.HasSuffix(got, ": p q") &&
				!strings.HasSuffix(got, "apt-get install p q") {
			t.Errorf("%q", got)
		}
	}
	if k, err := UML(); err == nil && (k.Engine != "uml" || !exists(k.File) || k.Modules != "" && !exists(k.Modules+"/modules.dep")) {
		t.Errorf("%+v", k)
	}
}

// TestBench: an experiment's table comes home row by row, with what its commands said, and that the line broke.
func TestBench(t *testing.T) {
	var line bytes.Buffer
	b := &Bench{Teller: NewTeller(&line), Exec: func(argv []string) (string, int, error) {
		switch argv[0] {
		case "fails":
			return "first\nlast\n", 3, nil
		case "gone":
			return "said", 0, errFull
		}
		return "out", 0, nil
	}}
	for _, c := range []struct{ argv, out, want string }{{"well x", "out", ""}, {"fails x", "first\nlast\n", "fails x: exit status 3: last"},
		{"gone x", "said", "gone x: no room"}} {
		out, err := b.Run(strings.Fields(c.argv)...)
		if out != c.out || (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %q, %v", c.argv, out, err)
		}
	}
	b.Columns("a", "b")
	b.Row("1", "2")
	b.Note("of %d", 3)
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	v := &Verdict{}
	var told []string
	tables := 0
	err := readFrames(&line, func(m message) {
		if m.Table != nil {
			tables++
		}
		v.hear(m, Options{OnStage: func(s Stage) { told = append(told, s.Name+" "+s.Said) }})
	})
	if err != nil || tables != 2 || v.Table == nil || !slices.Equal(v.Table.Columns, []string{"a", "b"}) || len(v.Table.Rows) != 1 ||
		!slices.Equal(v.Table.Rows[0], []string{"1", "2"}) || !slices.Equal(v.Table.Notes, []string{"of 3"}) ||
		!slices.Equal(told, []string{"row 1"}) {
		t.Errorf("%d tables, %+v, told %q, %v", tables, v.Table, told, err)
	}
	broken := &Bench{Teller: NewTeller(&once{at: 0})}
	broken.Columns("a")
	broken.Row("1")
	if err := broken.Finish(); !errors.Is(err, errFull) {
		t.Errorf("the line broke once: %v", err)
	}
	for name, tell := range map[string]func(*Teller) error{"hello": (*Teller).Hello, "done": (*Teller).Done,
		"a stage": func(t *Teller) error { return t.Stage(Stage{}) }, "fatal": func(t *Teller) error { return t.Fatal(errFull) }} {
		var line bytes.Buffer
		if err := tell(NewTeller(&once{at: 0})); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
		heard := 0
		if err := errors.Join(tell(NewTeller(&line)), readFrames(&line, func(m message) {
			if (m.Hello != nil) == (name == "hello") && m.Done == (name == "done") && (m.Fatal == errFull.Error()) == (name == "fatal") &&
				(m.Stage != nil) == (name == "a stage") {
				heard++
			}
		})); err != nil || heard != 1 {
			t.Errorf("%s is heard %d times, %v", name, heard, err)
		}
	}
	long := "@" + strings.Repeat("x", maxFrame)
	if err := readFrames(strings.NewReader(long), nil); err == nil || err.Error() != "a line of more than 8 MiB" {
		t.Errorf("a long line: %v", err)
	}
	all := strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 64)
	if err := readFrames(strings.NewReader(all), nil); err != nil {
		t.Errorf("all that a guest may say: %v", err)
	}
	if err := readFrames(strings.NewReader(all+"x"), nil); err == nil || err.Error() != "the guest said more than 64 MiB" {
		t.Errorf("a guest that never ends: %v", err)
	}
}
