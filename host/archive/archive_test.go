package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"fettle/host"
	"fettle/internal/means"
)

// m is one tar member; a body makes it a regular file unless typ says otherwise.
type m struct {
	name, body, link string
	typ              byte
}

func pack(t testing.TB, members ...m) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range members {
		h := &tar.Header{Name: f.name, Linkname: f.link, Typeflag: f.typ, Mode: 0o640, ModTime: time.Unix(1700000000, 0),
			Format: tar.FormatPAX}
		if f.typ == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(f.body))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, f.body)
	}
	w.Close()
	return b.Bytes()
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(p, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func open(t testing.TB, b []byte, lim Limits) *Tree {
	t.Helper()
	tr, err := Open(t.Context(), write(t, b), lim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func filter(t testing.TB, bin string, b []byte, args ...string) []byte {
	t.Helper()
	c := exec.Command(bin, args...)
	c.Stdin = bytes.NewReader(b)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// every packs b in every format that Open knows.
func every(t testing.TB, b []byte) map[string][]byte {
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	g.Write(b)
	g.Close()
	z, _ := zstd.NewWriter(&zs)
	z.Write(b)
	z.Close()
	return map[string][]byte{"tar": b, "gzip": gz.Bytes(), "zstd": zs.Bytes(),
		"xz": filter(t, means.Tool(t, "xz"), b, "-c"), "bzip2": filter(t, means.Tool(t, "bzip2"), b, "-c")}
}

var house = []m{
	{name: "./top/etc/hosts", body: "first"},
	{name: "top/etc/hosts", body: "127.0.0.1 localhost\n"},
	{name: "top/etc/abs", typ: tar.TypeSymlink, link: "/etc/hosts"},
	{name: "top/etc/climb", typ: tar.TypeSymlink, link: "../../../../../../etc/hosts"},
	{name: "top/etc/loop", typ: tar.TypeSymlink, link: "loop"},
	{name: "top/lib", typ: tar.TypeSymlink, link: "usr/lib"},
	{name: "top/usr/lib/x", body: "x"},
	{name: "top/hard", typ: tar.TypeLink, link: "top/usr/lib/x"},
	{name: "top/dev/sda", typ: tar.TypeBlock},
	{name: "top/fifo", typ: tar.TypeFifo},
	{name: "top/empty", typ: tar.TypeDir},
	{name: "/abs/name", body: "inside"},
	{name: "top/big", body: strings.Repeat("b", 5000)},
}

func TestTree(t *testing.T) {
	for name, b := range every(t, pack(t, house...)) {
		t.Run(name, func(t *testing.T) {
			tr := open(t, b, Limits{Member: 4000})
			if got, err := tr.ReadFile("/abs/name", 100); string(got) != "inside" {
				t.Errorf("an absolute member: %q, %v", got, err)
			}
			sub, err := tr.Sub("/top")
			if err != nil {
				t.Fatal(err)
			}
			checkHouse(t, sub)
		})
	}
}

// TestDir reads the same house as a folder, with links that lead out of it.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(means.Tool(t, "tar"), "-C", dir, "-xf", "-", "--exclude=top/dev", "--exclude=top/big")
	c.Stdin = bytes.NewReader(pack(t, house...))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	os.WriteFile(dir+"/secret", []byte("outside"), 0o600)
	os.Symlink("../../secret", dir+"/top/etc/out")
	os.WriteFile(dir+"/top/big", bytes.Repeat([]byte("b"), 5000), 0o600)
	os.MkdirAll(dir+"/top/dev", 0o755)
	os.Symlink("/dev/null", dir+"/top/dev/sda")
	tr, err := Open(t.Context(), dir+"/top", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if b, err := tr.ReadFile("/etc/out", 100); !host.IsAbsent(err) {
		t.Errorf("a link out of the folder: read %q, %v", b, err)
	}
	checkHouse(t, tr)
}

func checkHouse(t *testing.T, tr *Tree) {
	for _, c := range []struct {
		path, want string
		err        error
	}{
		{"/etc/hosts", "127.0.0.1 localhost\n", nil},
		{"/etc/abs", "127.0.0.1 localhost\n", nil},
		{"/etc/climb", "127.0.0.1 localhost\n", nil},
		{"/lib/x", "x", nil},
		{"/lib/../lib/./x", "x", nil}, // ".." goes back to usr, as in the kernel
		{"/hard", "x", nil},
		{"/etc/none", "", host.ErrAbsent},
		{"/etc/hosts/x", "", host.ErrAbsent}, // ENOTDIR
		{"/fifo", "", host.ErrNotRegular},
		{"/etc", "", host.ErrNotRegular},
		{"/big", "", host.ErrTooBig},
		{"/../../../etc/hosts", "127.0.0.1 localhost\n", nil},
	} {
		got, err := tr.ReadFile(c.path, 4000)
		switch {
		case c.path == "/lib/../lib/./x":
			if string(got) != "x" {
				t.Errorf("%s: %q, %v", c.path, got, err)
			}
		case errors.Is(c.err, host.ErrAbsent):
			if !host.IsAbsent(err) {
				t.Errorf("%s: %v, want absence", c.path, err)
			}
		case string(got) != c.want || !errors.Is(err, c.err):
			t.Errorf("%s: %q, %v; want %q, %v", c.path, got, err, c.want, c.err)
		}
	}
	if _, err := tr.ReadFile("/etc/loop", 10); err == nil || host.IsAbsent(err) {
		t.Errorf("a link to itself: %v", err)
	}
	if _, err := tr.ReadFile("/dev/sda", 10); err == nil {
		t.Error("a device was read")
	}
	if i, err := tr.Stat("/etc/abs", false); err != nil || i.Mode&fs.ModeSymlink == 0 {
		t.Errorf("lstat of a link: %v, %v", i.Mode, err)
	}
	if i, err := tr.Stat("/etc/abs", true); err != nil || i.Size != 20 || i.Mode.Perm() != 0o640 || i.ModTime.Unix() != 1700000000 {
		t.Errorf("stat through a link: %+v, %v", i, err)
	}
	if s, err := tr.Readlink("/etc/abs"); s != "/etc/hosts" {
		t.Errorf("readlink: %q, %v", s, err)
	}
	es, err := tr.ReadDir("/")
	var names []string
	for _, e := range es {
		names = append(names, e.Name)
	}
	sort.Strings(names)
	if got := strings.Join(names, " "); got != "big dev empty etc fifo hard lib usr" {
		t.Errorf("root holds %s, %v", got, err)
	}
	if es, err := tr.ReadDir("/empty"); len(es) != 0 || err != nil {
		t.Errorf("empty folder: %v, %v", es, err)
	}
	if _, err := tr.ReadDir("/etc/hosts"); !host.IsAbsent(err) {
		t.Errorf("listing a file: %v", err)
	}
}

func TestHostile(t *testing.T) {
	xz := means.Tool(t, "xz")
	many := make([]m, 50)
	for i := range many {
		many[i] = m{name: "f" + strings.Repeat("x", i)}
	}
	deep := make([]m, 20)
	for i := range deep {
		deep[i] = m{name: strings.Repeat("d", i+1) + strings.Repeat("/x", 500)}
	}
	links := make([]m, 60)
	for i := range links {
		links[i] = m{name: fmt.Sprint("l", i), typ: tar.TypeSymlink, link: strings.Repeat("t", 4000)}
	}
	whole := pack(t, m{name: "first", body: strings.Repeat("a", 3000)}, m{name: "second", body: strings.Repeat("b", 3000)})
	refuses(t, map[string]hostile{
		"climbs": {pack(t, m{name: "ok"}, m{name: "a/../../etc/passwd", body: "x"}), Limits{}, `member "a/../../etc/passwd" leads out`},
		"hard climbs": {pack(t, m{name: "h", typ: tar.TypeLink, link: "../../etc/shadow"}), Limits{}, `hard link "h": member ` +
			`"../../etc/shadow" leads out`},
		"hard to nil": {pack(t, m{name: "h", typ: tar.TypeLink, link: "none"}), Limits{},
			`hard link "h" to "none", which is not before it`},
		"entries":         {pack(t, many...), Limits{Entries: 20}, "more than 20 members"},
		"long links":      {pack(t, links...), Limits{Names: 100_000}, "names and link targets add up to more than 97.7 KiB"},
		"sparse long":     {sparse(2), Limits{Unpacked: 20 << 20}, "unpacks to more than 20 MiB"},
		"deep names":      {pack(t, deep...), Limits{Entries: 1000}, "more than 1000 members"},
		"huge name":       {pack(t, m{name: strings.Repeat("n/", 4000) + "x"}), Limits{}, "name or link target of more than 4096 bytes"},
		"cut tar":         {whole[:2000], Limits{}, `after 0 members (2 KiB unpacked), at "first": the archive is cut off`},
		"cut tar 2":       {whole[:5000], Limits{}, `after 1 members (4.9 KiB unpacked), at "second": the archive is cut off`},
		"cut xz":          {cut(filter(t, xz, whole, "-c")), Limits{}, "cut off"},
		"cut gzip":        {cut(every(t, whole)["gzip"]), Limits{}, "cut off"},
		"cut zstd":        {cut(every(t, whole)["zstd"]), Limits{}, "truncated"},
		"spool":           {whole, Limits{Spooled: 4000}, `member "second": files add up to more than 3.9 KiB`},
		"dictionary":      {filter(t, xz, whole, "-c", "--lzma2=preset=6,dict=128MiB"), Limits{}, "a dictionary larger"},
		"one too many":    {pack(t, many[:3]...), Limits{Entries: 2}, "more than 2 members"},
		"a byte too much": {whole, Limits{Spooled: 5999}, `member "second": files add up to more than 5.9 KiB`},
		"name too long":   {pack(t, m{name: strings.Repeat("n/", 2048) + "x"}), Limits{}, "more than 4096 bytes"},
		"link too long": {pack(t, m{name: "l", typ: tar.TypeSymlink, link: strings.Repeat("l", 4097)}), Limits{},
			"more than 4096 bytes"},
		"text":       {[]byte("hello\n"), Limits{}, "not a tar archive"},
		"empty":      {nil, Limits{}, "not a tar archive"},
		"xz of text": {filter(t, xz, []byte("hello\n"), "-c"), Limits{}, "contains no tar archive"},
	})
	if _, err := Open(t.Context(), "/dev/null", Limits{}); !errors.Is(err, host.ErrNotRegular) {
		t.Errorf("a device as archive: %v", err)
	}
}

// TestBombs: what unpacks to very much more than it is.
func TestBombs(t *testing.T) {
	means.Short(t, "takes seconds")
	zeros := pack(t, m{name: "zeros", body: strings.Repeat("\x00", 80<<20)})
	xz := means.Tool(t, "xz")
	refuses(t, map[string]hostile{
		"sparse": {every(t, sparse(40))["gzip"], Limits{}, "decompression bomb"},
		"bomb": {filter(t, xz, zeros, "-c"), Limits{},
			`"zeros": unpacks to over 400 times its size: refused as a decompression bomb`},
		"bomb zstd": {every(t, zeros)["zstd"], Limits{}, "decompression bomb"},
		"long":      {zeros, Limits{Unpacked: 1 << 20}, "unpacks to more than 1 MiB"},
	})
}

// hostile is an archive that is refused, and with which words.
type hostile struct {
	data []byte
	lim  Limits
	want string
}

func refuses(t *testing.T, archives map[string]hostile) {
	t.Helper()
	for name, c := range archives {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), write(t, c.data), c.lim)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of more than one line: %v", err)
			}
		})
	}
}

// TestAtTheBounds: what is exactly as large as may be is taken.
func TestAtTheBounds(t *testing.T) {
	whole := pack(t, m{name: "first", body: strings.Repeat("a", 3000)}, m{name: "second", body: strings.Repeat("b", 3000)})
	long := strings.Repeat("n/", 2047) + "xy"
	for name, c := range map[string]struct {
		data []byte
		lim  Limits
	}{
		"members": {whole, Limits{Entries: 2}}, "files together": {whole, Limits{Spooled: 6000}}, "a file": {whole, Limits{Member: 3000}},
		"unpacked": {whole, Limits{Unpacked: int64(len(whole))}}, "names": {whole, Limits{Names: int64(len("first" + "second"))}},
		"a name": {pack(t, m{name: long, body: "x"}), Limits{}}, "a link": {pack(t, m{name: "l", typ: tar.TypeSymlink, link: long}),
			Limits{}},
	} {
		tr, err := Open(t.Context(), write(t, c.data), c.lim)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "a file" {
			if b, err := tr.ReadFile("/second", 3000); len(b) != 3000 || err != nil {
				t.Errorf("%s: %d bytes, %v", name, len(b), err)
			}
		}
		tr.Close()
	}
	tr := open(t, pack(t, m{name: "manifest.json", body: "123456"}, m{name: "other", body: "123456"}), Limits{Member: 5, Manifest: 6})
	if b, err := tr.ReadFile("/manifest.json", 6); string(b) != "123456" || err != nil {
		t.Errorf("a manifest: %q, %v", b, err)
	}
	if _, err := tr.ReadFile("/other", 6); !errors.Is(err, host.ErrTooBig) {
		t.Errorf("another file: %v", err)
	}
}

// TestTail: the end of a file, from an archive, a folder and memory alike; of what is no file, none.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{"log": "0123456789", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	folder, err := Open(t.Context(), dir, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for kind, tr := range map[string]*Tree{"folder": folder, "memory": Memory("m", map[string][]byte{"/log": []byte("0123456789"),
		"/empty": nil, "/folder/x": nil}),
		"archive": open(t, pack(t, m{name: "other", body: "zzz"}, m{name: "log", body: "0123456789"}, m{name: "empty"}, m{name: "folder",
			typ: tar.TypeDir}), Limits{})} {
		for n, want := range map[int64]string{3: "789", 9: "123456789", 10: "0123456789", 11: "0123456789"} {
			b, cut, err := tr.ReadTail("/log", n)
			if string(b) != want || cut != (n < 10) || err != nil {
				t.Errorf("%s: the last %d: %q, %t, %v", kind, n, b, cut, err)
			}
		}
		if b, cut, err := tr.ReadTail("/empty", 5); len(b) > 0 || cut || err != nil {
			t.Errorf("%s: an empty file: %q, %t, %v", kind, b, cut, err)
		}
		if _, _, err := tr.ReadTail("/folder", 5); !errors.Is(err, host.ErrNotRegular) {
			t.Errorf("%s: a folder: %v", kind, err)
		}
		if _, _, err := tr.ReadTail("/none", 5); !host.IsAbsent(err) {
			t.Errorf("%s: nothing: %v", kind, err)
		}
		for limit, ok := range map[int64]bool{9: false, 10: true} {
			if b, err := tr.ReadFile("/log", limit); (err == nil) != ok || !ok && !errors.Is(err, host.ErrTooBig) {
				t.Errorf("%s: at most %d: %q, %v", kind, limit, b, err)
			}
		}
		if _, err := tr.Readlink("/log"); err == nil || host.IsAbsent(err) {
			t.Errorf("%s: a file as a link: %v", kind, err)
		}
		if _, err := tr.Readlink("/none"); !host.IsAbsent(err) {
			t.Errorf("%s: nothing as a link: %v", kind, err)
		}
	}
}

// TestMemory: folders come with their files; what leads through a file is left out.
func TestMemory(t *testing.T) {
	tr := Memory("m", map[string][]byte{"/a/b/c": []byte("x"), "a/d": []byte("y"), "/": []byte("root"),
		"/a/d/below": []byte("z"), "": nil})
	for dir, want := range map[string]string{"/": "a/", "/a": "b/ d", "/a/b": "c", "/a/d": "error", "/none": "error"} {
		es, err := tr.ReadDir(dir)
		var names []string
		for _, e := range es {
			if e.Type.IsDir() {
				e.Name += "/"
			}
			names = append(names, e.Name)
		}
		sort.Strings(names)
		if got := strings.Join(names, " "); got != want && (err == nil || want != "error") {
			t.Errorf("%s: %s, %v", dir, got, err)
		}
	}
	if i, err := tr.Stat("/a/b", true); err != nil || !i.Mode.IsDir() {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err := tr.Stat("/a/b/c", true); err != nil || i.Size != 1 || !i.Mode.IsRegular() {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := Memory("m", nil).Sub("/x"); !host.IsAbsent(err) {
		t.Error(err)
	}
}

// TestLinkChain: as many links as the kernel follows.
func TestLinkChain(t *testing.T) {
	members := []m{{name: "0", body: "end"}}
	for i := range 41 {
		members = append(members, m{name: fmt.Sprint(i + 1), typ: tar.TypeSymlink, link: fmt.Sprint(i)})
	}
	tr := open(t, pack(t, members...), Limits{})
	if b, err := tr.ReadFile("/40", 10); string(b) != "end" || err != nil {
		t.Errorf("40 links: %q, %v", b, err)
	}
	if _, err := tr.ReadFile("/41", 10); err == nil {
		t.Error("41 links were followed")
	}
	if i, err := tr.Stat("/0", true); err != nil || i.Ino == 0 {
		t.Errorf("%+v, %v", i, err)
	}
}

// sparse is a tar of n members in GNU's old sparse form (tar(5)), each of 15
// MiB without a byte of data.
func sparse(n int) []byte {
	var out []byte
	for i := range n {
		h := make([]byte, 512)
		copy(h, fmt.Sprintf("hole%d", i))
		copy(h[100:], "0000644\x000000000\x000000000\x0000000000000\x0000000000000\x00        S")
		copy(h[257:], "ustar  \x00")
		copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", 15<<20, 0)) // one empty piece at the end
		copy(h[483:], fmt.Sprintf("%011o\x00", 15<<20))             // the size it claims
		sum := 0
		for _, b := range h {
			sum += int(b)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		out = append(out, h...)
	}
	return append(out, make([]byte, 1024)...)
}

func cut(b []byte) []byte { return b[:len(b)-20] }

// TestXZ compares the Go reader with what the xz program packed: one block,
// many blocks, many streams with padding, every kind of check.
func TestXZ(t *testing.T) {
	xz := means.Tool(t, "xz")
	data := bytes.Repeat([]byte("the quick brown fox\n"), 20000)
	one := filter(t, xz, data, "-c")
	for name, b := range map[string][]byte{
		"one":     one,
		"blocks":  filter(t, xz, data, "-c", "--block-size=50000", "-T2"),
		"streams": append(append(bytes.Clone(one), 0, 0, 0, 0), one...),
		"none":    filter(t, xz, data, "-c", "--check=none"),
		"crc32":   filter(t, xz, data, "-c", "--check=crc32"),
		"sha256":  filter(t, xz, data, "-c", "--check=sha256"),
	} {
		want := filter(t, xz, b, "-dc")
		r, err := newXZReader(bytes.NewReader(b), 64<<20)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(want))
		}
		for _, n := range []int{1, 8, 14, len(b) / 2, len(b) - 1} {
			if r, err := newXZReader(bytes.NewReader(b[:n]), 64<<20); err == nil {
				if _, err := io.ReadAll(r); err == nil {
					t.Errorf("%s cut at %d: no error", name, n)
				}
			}
		}
	}
	// Streams that hold nothing, one after the other: half a gigabyte of them
	// would overflow a stack that grows with each.
	debug.SetMaxStack(1 << 20)
	defer debug.SetMaxStack(1 << 30)
	nothing := bytes.Repeat(filter(t, xz, nil, "-c"), 100_000)
	if r, err := newXZReader(bytes.NewReader(nothing), 64<<20); err != nil {
		t.Error(err)
	} else if b, err := io.ReadAll(r); len(b) > 0 || err != nil {
		t.Errorf("empty streams: %d bytes, %v", len(b), err)
	}
	r, err := newXZReader(bytes.NewReader(filter(t, xz, data, "-c", "--lzma2=preset=6,dict=128MiB")), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, errDictionary) {
		t.Errorf("large dictionary: %v", err)
	}
}

// TestNothingLeft: the temporary file has no name.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	open(t, pack(t, house...), Limits{})
	if es, _ := os.ReadDir(dir); len(es) != 0 {
		t.Errorf("left behind: %v", es)
	}
}

// TestLongLinksStaySmall: what is kept of an archive is what it names, not the
// headers around that, and not for ever.
func TestLongLinksStaySmall(t *testing.T) {
	means.Short(t, "takes seconds")
	f, err := os.Create(filepath.Join(t.TempDir(), "links.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for i := range 2000 { // 200 KB of header each, for 200 bytes of target
		h := &tar.Header{Name: fmt.Sprint("l", i), Typeflag: tar.TypeSymlink, Linkname: strings.Repeat("ä", 100),
			Format: tar.FormatPAX, PAXRecords: map[string]string{"comment.x": strings.Repeat("x", 200_000)}}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tr, err := Open(t.Context(), f.Name(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 20<<20 {
		t.Errorf("%d MiB are kept of 2000 links", kept>>20)
	}
}

// TestLargeStream: while much is unpacked the heap grows by a quarter at most, afterwards as before.
func TestLargeStream(t *testing.T) {
	const usual = 77
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	grows := func() int {
		is := debug.SetGCPercent(usual)
		debug.SetGCPercent(is)
		return is
	}
	m := &meter{ctx: t.Context(), r: bytes.NewReader(make([]byte, largeStream+2)), lim: Limits{Unpacked: 1 << 30}}
	for _, c := range []struct {
		read, want int
	}{{largeStream, usual}, {1, 25}, {1, 25}} {
		if _, err := io.ReadFull(m, make([]byte, c.read)); err != nil || grows() != c.want {
			t.Errorf("after %d bytes the heap grows by %d %%, want %d; %v", m.n, grows(), c.want, err)
		}
	}
	if m.end(); grows() != usual {
		t.Errorf("afterwards the heap grows by %d %%", grows())
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzOpen(f *testing.F) {
	f.Add(pack(f, house...))
	f.Add(pack(f, m{name: "a/../b"}))
	for _, b := range every(f, pack(f, house[:4]...)) {
		f.Add(b)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		p := filepath.Join(dir, "f")
		os.WriteFile(p, b, 0o600)
		tr, err := Open(t.Context(), p, Limits{Entries: 100, Member: 1 << 16, Spooled: 1 << 20, Unpacked: 4 << 20, Window: 1 << 23})
		if err != nil {
			return
		}
		defer tr.Close()
		for p := range tr.store.(*spool).index {
			tr.ReadFile(p, 1<<16)
			tr.ReadDir(p)
			tr.Stat(p, true)
		}
	})
}
