package bootimage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"fettle/internal/means"
)

// images are some of each form, with how they are read.
func images() map[string]struct {
	image []byte
	parse func(io.Reader) (any, error)
} {
	kernel := func(r io.Reader) (any, error) { return ParseKernel(r) }
	initrd := func(r io.Reader) (any, error) { return ParseInitrd(r) }
	one := cpio("lib/modules/6.1.0-50-amd64/a.ko", "elf", "etc/default-release", "bookworm\n", "cryptroot/crypttab", "cr1 UUID=1 none\n")
	zboot := append([]byte("MZ\x00\x00zimg\x40\x00\x00\x00"), make([]byte, 52)...)
	packed := gz(arm(6000))
	binary.LittleEndian.PutUint32(zboot[12:], uint32(len(packed)))
	uki := efi(".osrel", "PRETTY_NAME=Debian\n", ".uname", "6.1", ".cmdline", "ro", ".linux", "kernel", ".initrd", string(zst(one)))
	return map[string]struct {
		image []byte
		parse func(io.Reader) (any, error)
	}{
		"bzImage": {image(banner61, 4), kernel}, "arm64": {arm(6000), kernel}, "arm64, far": {arm(bufferSize + 9), kernel},
		"arm64, gzip": {gz(arm(6000)), kernel}, "arm64, zstd": {zst(arm(6000)), kernel}, "arm64, xz": {xzed(arm(6000)), kernel},
		"zboot": {append(zboot, packed...), kernel},
		"cpio":  {one, initrd}, "gzip": {gz(one), initrd}, "zstd": {zst(one), initrd}, "xz": {xzed(one), initrd},
		"two parts":         {append(bytes.Clone(one), gz(one)...), initrd},
		"unified":           {uki, func(r io.Reader) (any, error) { return ParseUnified(r) }},
		"initrd of unified": {uki, func(r io.Reader) (any, error) { return parseInitrdOf(r) }},
	}
}

// TestBrokenDisk: wherever the disk breaks while an image is read, it says so, and no image is taken for cut off; and
// one that is cut off is never taken for another.
func TestBrokenDisk(t *testing.T) {
	means.Ends(t)
	for name, c := range images() {
		want, err := c.parse(bytes.NewReader(c.image))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		step, read := 1+len(c.image)/30, 0
		for at := 0; at < len(c.image); at += step {
			if at < 20 && len(c.image) < 1000 { // each byte of the headers
				step = 1
			} else {
				step = 1 + len(c.image)/30
			}
			cut, cutErr := c.parse(bytes.NewReader(c.image[:at]))
			if cutErr == nil && !reflect.DeepEqual(cut, want) && name != "two parts" {
				t.Errorf("%s, cut at %d of %d: %+v, want %+v or an error", name, at, len(c.image), cut, want)
			}
			text := fmt.Sprint(cutErr)
			if at > 0x250 && cutErr != nil && !strings.Contains(text, "part 1 of the initrd: begins with") &&
				!strings.Contains(text, "cut off") && !strings.Contains(text, "EOF") {
				t.Errorf("%s, cut at %d of %d: %v", name, at, len(c.image), cutErr)
			}
			if name == "cpio" && at >= 6 && !errors.Is(cutErr, ErrCut) {
				t.Errorf("an archive, cut at %d of %d: %v", at, len(c.image), cutErr)
			}
			disk := errors.New("the disk broke")
			got, err := c.parse(io.MultiReader(bytes.NewReader(c.image[:at]), iotest.ErrReader(disk)))
			switch {
			case err == nil && !reflect.DeepEqual(got, want):
				t.Errorf("%s, broken at %d of %d: %+v", name, at, len(c.image), got)
			case err == nil:
				read++
			case !errors.Is(err, disk):
				t.Errorf("%s, broken at %d of %d: %v", name, at, len(c.image), err)
			}
		}
		if read > 30*2/3 {
			t.Errorf("%s: %d of %d times it does not matter that the disk breaks", name, read, len(c.image)/step)
		}
	}
}

// entry is a file of an archive, without its end.
func entry(name string, mode int, content string) []byte {
	b := fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0,
		len(name)+1, 0)
	b = append(b, name+"\x00"...)
	b = append(b, make([]byte, pad(int64(len(b))))...)
	b = append(b, content...)
	return append(b, make([]byte, pad(int64(len(b))))...)
}

func ended(entries ...[]byte) []byte {
	return append(bytes.Join(entries, nil), entry("TRAILER!!!", 0, "")...)
}

// TestInitrdBounds: an initrd may have so much of everything, and no more.
func TestInitrdBounds(t *testing.T) {
	part := cpio("a", "b")
	name := func(n int) []byte { return ended(entry(strings.Repeat("n", n-1), 0o100644, "")) }
	many := func(n int) []byte { return ended(bytes.Repeat(entry("a", 0o100644, ""), n-1)) }
	for what, c := range map[string]struct {
		in   []byte
		says string
	}{
		"64 parts":                {bytes.Repeat(part, 64), ""},
		"65 parts":                {bytes.Repeat(part, 65), "more than 64 parts"},
		"a name as of the kernel": {name(maxName), ""},
		"a longer name":           {name(maxName + 1), "a name of 4097 bytes: refused"},
		"no name":                 {[]byte("070701" + strings.Repeat("00000000", 13)), "a name of 0 bytes: refused"},
		"as many files":           {many(maxEntries), ""},
		"more files":              {many(maxEntries + 1), "more than 262144 files"},
		"the other magic":         {bytes.Replace(part, []byte("070701"), []byte("070702"), 1), ""},
		"another magic behind": {append(entry("a", 0o100644, "b"), bytes.Repeat([]byte("070703"), 40)...),
			"no cpio archive in the new ASCII form"},
		"no size":            {bytes.Replace(part, []byte("00000001"), []byte("0000000x"), 3), "no number"},
		"cut in its padding": {entry("a", 0o100644, "b")[:113], "cut off"},
	} {
		got, err := ParseInitrd(bytes.NewReader(c.in))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v", what, got.Parts, err)
		}
	}
}

// TestInitrdFiles: only files count, the last of a name, and those that are not too long to be what they are called.
func TestInitrdFiles(t *testing.T) {
	const file, link, folder = 0o100644, 0o120777, 0o040755
	long := func(n int) string { return "trixie" + strings.Repeat("\n", n-6) }
	var modules [][]byte
	for i := range 17 {
		modules = append(modules, entry(fmt.Sprintf("lib/modules/6.1.%d/a.ko", i), file, ""))
	}
	modules = append(modules, entry("lib/modules/6.1.0/b.ko", file, ""), entry("lib/modules/6.1.16/b.ko", file, ""))
	sixteen := map[string]int{"6.1.0": 2}
	for i := range 15 {
		sixteen[fmt.Sprintf("6.1.%d", i+1)] = 1
	}
	for name, c := range map[string]struct {
		files [][]byte
		want  Initrd
	}{
		"modules": {[][]byte{entry("lib/modules/6.1/a.ko", file, "x"), entry("lib/modules/6.1/b.ko", folder, ""), entry("lib/modules/6.1/c.ko",
			link, "a.ko"), entry("lib/modules/6.1/d.ko.zst", file, "x"), entry("lib/modules/6.1/e.txt", file, "x")},
			Initrd{Modules: map[string]int{"6.1": 2}}},
		"modules of seventeen kernels": {modules, Initrd{Modules: sixteen}},
		"a link":                       {[][]byte{entry("etc/default-release", link, "bookworm")}, Initrd{}},
		"as long as is read":           {[][]byte{entry("etc/default-release", file, long(maxKept))}, Initrd{Codename: "trixie"}},
		"longer":                       {[][]byte{entry("etc/default-release", file, long(maxKept+1))}, Initrd{}},
		"the last one counts": {[][]byte{entry("etc/default-release", file, "bookworm"), entry("./etc/default-release", file, "trixie")},
			Initrd{Codename: "trixie"}},
		"two words":   {[][]byte{entry("etc/default-release", file, "no word")}, Initrd{}},
		"no word":     {[][]byte{entry("etc/default-release", file, "")}, Initrd{}},
		"odd letters": {[][]byte{entry("etc/default-release", file, "a\x01\x7f~é!")}, Initrd{Codename: "a~!"}},
		"a release": {[][]byte{entry("etc/lsb-release", file, " DISTRIB_ID=\"A B\"\nDISTRIB_RELEASE="+strings.Repeat("r", 201)+"\nOTHER=x\n")},
			Initrd{Distribution: "A B", Description: strings.Repeat("r", 200)}},
		"a tool twice": {[][]byte{entry("sbin/lvm", file, ""), entry("usr/sbin/lvm", link, ""), entry("bin/lvm", file, "")},
			Initrd{Tools: []string{"lvm"}}},
		"volumes": {[][]byte{entry("cryptroot/crypttab", file, "#a b\n\none\n a  /dev/sda1 none\nb /dev/sdb1\n")},
			Initrd{Volumes: map[string]string{"a": "/dev/sda1", "b": "/dev/sdb1"}}},
		"an odd length": {[][]byte{entry("a", file, "123"), entry("etc/default-release", file, "x")}, Initrd{Codename: "x"}},
	} {
		if c.want.Modules == nil {
			c.want.Modules = map[string]int{}
		}
		c.want.Parts = []string{"cpio"}
		if got, err := ParseInitrd(bytes.NewReader(ended(c.files...))); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, c.want)
		}
	}
}

// TestMirrorLines: what names a mirror, and nothing that may be a secret.
func TestMirrorLines(t *testing.T) {
	for text, want := range map[string][]string{
		"d-i mirror/suite string trixie\n": {"d-i mirror/suite string trixie"}, "d-i mirror/suite string\n": nil,
		" d-i  mirror/http/directory\tstring /debian x": {"d-i mirror/http/directory string /debian x"},
		"d-i mirror/http/proxy string http://a:b@c\n":   nil, "d-i passwd/x string y\n": nil,
		strings.Repeat("d-i mirror/a string b\n", 65): slices.Repeat([]string{"d-i mirror/a string b"}, 64),
	} {
		if got := MirrorLines(text); !slices.Equal(got, want) {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

// TestZstdFrames: frames of all kinds of headers and blocks end where they end, and what is behind them is read.
func TestZstdFrames(t *testing.T) {
	behind := cpio("etc/default-release", "behind\n")
	for _, size := range []int{1, 100, 255, 256, 300, 65_791, 65_792, 70_000, 300_000} {
		for _, content := range []string{strings.Repeat("\x00", size), random(size)} {
			in := ended(entry("a", 0o100644, content))
			for _, single := range []bool{true, false} {
				for _, sum := range []bool{true, false} {
					z, err := zstd.NewWriter(nil, zstd.WithSingleSegment(single), zstd.WithEncoderCRC(sum), zstd.WithEncoderConcurrency(1))
					if err != nil {
						t.Fatal(err)
					}
					alone := z.EncodeAll(in, nil)
					packed := append(bytes.Clone(alone), behind...)
					if b, err := io.ReadAll(&frame{r: bufio.NewReader(bytes.NewReader(packed))}); err != nil || !bytes.Equal(b, alone) {
						t.Errorf("%d bytes, single %t, sum %t: a frame of %d bytes has %d, %v", size, single, sum, len(alone), len(b), err)
					}
					cut := &frame{r: bufio.NewReader(bytes.NewReader(alone[:len(alone)-6]))}
					if b, err := io.ReadAll(cut); err != io.ErrUnexpectedEOF {
						t.Errorf("%d bytes, single %t, sum %t, cut: %d bytes, %v", size, single, sum, len(b), err)
					}
					got, err := ParseInitrd(bytes.NewReader(packed))
					if err != nil || got.Codename != "behind" || len(got.Parts) != 2 {
						t.Errorf("%d bytes, single %t, sum %t: %+v, %v", size, single, sum, got, err)
					}
				}
			}
		}
	}
}

// random are bytes that do not pack well, always the same.
func random(n int) string {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

// TestBzImage: where the version may be, and how long the image must be.
func TestBzImage(t *testing.T) {
	le := binary.LittleEndian
	change := func(f func(b []byte)) []byte { b := image(banner61, 100); f(b); return b }
	four := make([]byte, 5*512+1600)
	copy(four, image(banner61, 100))
	four[0x1f1] = 0
	for name, c := range map[string]struct {
		image []byte
		says  string
	}{
		"no number of sectors is four":  {four, ""},
		"four, and one byte is missing": {four[:len(four)-1], "4159 bytes where its header says 4160"},
		"one byte is missing":           {image(banner61, 100)[:3135], "3135 bytes where its header says 3136"},
		"the version at the end": {change(func(b []byte) {
			le.PutUint16(b[0x20e:], 3*512-0x200-8)
			copy(b[3*512-8:], "6.1 #1\x00")
		}), ""},
		"the version behind the end": {change(func(b []byte) { le.PutUint16(b[0x20e:], 3*512-0x200) }), "outside of its setup code"},
		"the version has no end": {change(func(b []byte) {
			le.PutUint16(b[0x20e:], 3*512-0x200-3)
			copy(b[3*512-3:], "6.1")
		}), "has no end"},
		"the header alone": {image(banner61, 0)[:0x207], "cut off"},
		"half a header":    {image(banner61, 0)[:0x206], "no kernel image"},
	} {
		k, err := ParseKernel(bytes.NewReader(c.image))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			err == nil && !strings.HasPrefix(k.Release, "6.1") {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
	for text, want := range map[string]Kernel{
		"6.1 (gcc (Debian 12.2.0-14) 12) #1 SMP Debian 6.1.176-1 (2026)": {Form: "x", Release: "6.1", Package: "6.1.176-1"},
		" 6.12-rc1\n": {Form: "x", Release: "6.12-rc1"},
	} {
		if k, err := versioned("x", text); err != nil || k != want {
			t.Errorf("%q: %+v, %v", text, k, err)
		}
	}
}

// TestSections: parts of an EFI program lie where its table says, in whatever order that is.
func TestSections(t *testing.T) {
	le := binary.LittleEndian
	base := efi(".linux", "kernel", ".uname", "6.1", ".cmdline", "quiet", ".osrel", "PRETTY_NAME='A'\nPRETTY_NAME=B\n")
	table := 64 + 64 + 24 + 112
	change := func(f func(b []byte)) []byte { b := bytes.Clone(base); f(b); return b }
	full := Unified{Title: "A", Release: "6.1", Options: "quiet", Kernel: true}
	without := func(f func(*Unified)) Unified { u := full; f(&u); return u }
	ninetySix := func(n int) []byte {
		parts := []string{".linux", "k"}
		for range n - 1 {
			parts = append(parts, ".x", "y")
		}
		return efi(parts...)
	}
	for name, c := range map[string]struct {
		image []byte
		want  Unified
		err   error
	}{
		"as built": {base, full, nil},
		"in another order": {change(func(b []byte) {
			first := bytes.Clone(b[table : table+40])
			copy(b[table:], b[table+40:table+80])
			copy(b[table+40:], first)
		}), full, nil},
		"an empty part":     {change(func(b []byte) { le.PutUint32(b[table+40+8:], 0) }), without(func(u *Unified) { u.Release = "" }), nil},
		"a part in another": {change(func(b []byte) { le.PutUint32(b[table+40+20:], 70) }), without(func(u *Unified) { u.Release = "" }), nil},
		"a part that is cut": {change(func(b []byte) {
			le.PutUint32(b[table+3*40+8:], 9000)
			le.PutUint32(b[table+3*40+16:], 9000)
		}), full, ErrCut},
		"raw is shorter":    {change(func(b []byte) { le.PutUint32(b[table+40+16:], 1) }), without(func(u *Unified) { u.Release = "6" }), nil},
		"96 parts":          {ninetySix(96), Unified{Kernel: true}, nil},
		"97 parts":          {ninetySix(97), Unified{}, ErrNotUnified},
		"no PE":             {change(func(b []byte) { b[128] = 'X' }), Unified{}, ErrNotUnified},
		"a header too near": {change(func(b []byte) { le.PutUint32(b[60:], 63) }), Unified{}, ErrNotUnified},
		"a header too far":  {change(func(b []byte) { le.PutUint32(b[60:], 1<<20+1) }), Unified{}, ErrNotUnified},
		"no header there":   {change(func(b []byte) { le.PutUint32(b[60:], 1<<20) }), Unified{}, ErrCut},
		"right behind":      {append(le.AppendUint32(append([]byte("MZ"), make([]byte, 58)...), 64), base[128:]...), Unified{Kernel: true}, nil},
	} {
		u, err := ParseUnified(bytes.NewReader(c.image))
		if name == "right behind" { // all lies 64 bytes earlier than the table says
			c.want = u
		}
		if !errors.Is(err, c.err) || err == nil && u != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, u, err, c.want, c.err)
		}
	}
}
