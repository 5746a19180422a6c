package bootimage

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"fettle/internal/means"
)

const banner61 = "6.1.0-50-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-02)"

// image is a bzImage as the setup header of protocol 2.00 describes it.
func image(version string, payload int) []byte {
	b := make([]byte, 3*512+payload*16)
	b[0x1f1] = 2
	binary.LittleEndian.PutUint32(b[0x1f4:], uint32(payload))
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(b[0x20e:], 0x180)
	copy(b[0x380:], version+"\x00")
	return b
}

// arm is an arm64 Image: words that only look like the banner come first, and
// the banner lies across the end of the reader's buffer.
func arm(at int) []byte {
	b := make([]byte, at+4096)
	copy(b, "MZ")
	copy(b[0x38:], "ARM\x64")
	copy(b[5000:], "Linux version %s\x00")
	copy(
		b[at:],
		"Linux version 6.1.0-50-arm64 (debian-kernel@lists.debian.org) (gcc-12 "+
			"(Debian 12.2.0-14) 12.2.0) #1 SMP Debian 6.1.176-1 (2026-07-02)\n\x00",
	)
	return b
}

func TestKernel(t *testing.T) {
	whole := Kernel{Form: "bzImage", Release: "6.1.0-50-amd64", Package: "6.1.176-1"}
	armed := Kernel{Form: "arm64 Image", Release: "6.1.0-50-arm64", Package: "6.1.176-1"}
	boot := append([]byte("MZ\x00\x00zimg\x40\x00\x00\x00"), make([]byte, 52)...)
	packed := gz(arm(100_000))
	binary.LittleEndian.PutUint32(boot[12:], uint32(len(packed)))
	boot = append(boot, packed...)
	for name, tt := range map[string]struct {
		image []byte
		want  Kernel
		err   string
	}{
		"bzImage":          {image(banner61, 100), whole, ""},
		"signed behind":    {append(image(banner61, 100), "a signature"...), whole, ""},
		"cut off":          {image(banner61, 100)[:2000], Kernel{}, "cut off: 2000 bytes where its header says 3136"},
		"cut in its setup": {image(banner61, 100)[:700], Kernel{}, "cut off"},
		"no version":       {image("\x01\x02", 100), Kernel{}, "cannot be read"},
		"arm64":            {arm(bufferSize*2 - 7), armed, ""},
		"arm64, gzip":      {gz(arm(200_000)), armed, ""},
		"arm64, cut off":   {arm(200_000)[:150_000], Kernel{}, "cut off"},
		"zboot":            {boot, Kernel{Form: "EFI zboot", Release: armed.Release, Package: armed.Package}, ""},
		"text":             {[]byte("#!/bin/sh\n"), Kernel{}, "no kernel image"},
		"empty":            {nil, Kernel{}, "no kernel image"},
	} {
		k, err := ParseKernel(bytes.NewReader(tt.image))
		if tt.err == "" && (err != nil || k != tt.want) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %+v, %v; want %+v, %q", name, k, err, tt.want, tt.err)
		}
	}
}

// cpio is an archive of names and contents in turn.
func cpio(files ...string) []byte {
	var all [][]byte
	for i := 0; i < len(files); i += 2 {
		all = append(all, entry(files[i], 0o100644, files[i+1]))
	}
	return ended(all...)
}

func pack(w func(io.Writer) io.WriteCloser, b []byte) []byte {
	var out bytes.Buffer
	z := w(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func gz(b []byte) []byte {
	return pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, b)
}
func zst(b []byte) []byte {
	return pack(func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }, b)
}
func xzed(b []byte) []byte {
	return pack(func(w io.Writer) io.WriteCloser { z, _ := xz.NewWriter(w); return z }, b)
}

func TestInitrd(t *testing.T) {
	one := cpio(
		"./lib/modules/6.1.0-50-amd64/kernel/fs/ext4.ko",
		"elf",
		"lib/modules/6.1.0-50-amd64/modules.dep",
		"x",
		"etc/default-release",
		"bookworm\n",
		"etc/lsb-release",
		"DISTRIB_ID=Debian\nDISTRIB_RELEASE=\"12 (bookworm) - installer build 20230607+deb12u15\"\n",
	)
	two := cpio(
		"usr/lib/modules/6.1.0-47-amd64/a/b.ko.xz",
		strings.Repeat("e", 70_001),
		"preseed.cfg",
		"d-i mirror/http/hostname string deb.example.org\nd-i passwd/root-password password hunter2\nd-i mirror/http/proxy string "+
			"http://me:secret@proxy/\n",
	)
	want := Initrd{Modules: map[string]int{"6.1.0-50-amd64": 1, "6.1.0-47-amd64": 1}, Codename: "bookworm", Distribution: "Debian",
		Description: "12 (bookworm) - installer build 20230607+deb12u15", Preseed: []string{"d-i mirror/http/hostname string deb.example.org"}}
	packers := map[string]func([]byte) []byte{"cpio": func(b []byte) []byte { return b }, "gzip": gz, "xz": xzed, "zstd": zst}
	for a, first := range packers {
		for z, second := range packers {
			for _, gap := range []int{0, 4, 1021} {
				in := append(append(first(one), make([]byte, gap)...), second(two)...)
				want.Parts = []string{a, z}
				got, err := ParseInitrd(bytes.NewReader(in))
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %d zeros, %s: %+v, %v", a, gap, z, got, err)
				}
			}
		}
	}
	got, err := ParseInitrd(bytes.NewReader(gz(append(append(bytes.Clone(one), 0, 0, 0, 0), two...))))
	want.Parts = []string{"gzip"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("two archives in one part: %+v, %v", got, err)
	}
}

// TestInitrdTools: what makes volumes is known by its place, with and without a merged /usr.
func TestInitrdTools(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		builder string
		tools   []string
	}{
		"initramfs-tools": {[]string{"conf/initramfs.conf", "x", "usr/sbin/mdadm", "x", "sbin/lvm", "x", "sbin/cryptsetup", "x"},
			"initramfs-tools", []string{"mdadm", "lvm", "cryptsetup"}},
		"dracut": {[]string{"usr/lib/dracut-lib.sh", "x", "usr/lib/systemd/systemd-cryptsetup", "x"}, "dracut", []string{"systemd-cryptsetup"}},
		"folders and rules of that name": {[]string{"etc/lvm/lvm", "x", "scripts/local-block/mdadm", "x", "lib/cryptsetup/askpass", "x",
			"usr/sbin/lvm2", "x"}, "", nil},
	} {
		got, err := ParseInitrd(bytes.NewReader(cpio(c.files...)))
		if err != nil || got.Builder != c.builder || !reflect.DeepEqual(got.Tools, c.tools) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestInitrdConfiguration: what mdadm and cryptsetup are told in it, as initramfs-tools 0.142 packed it.
func TestInitrdConfiguration(t *testing.T) {
	got, err := ParseInitrd(bytes.NewReader(cpio("cryptroot/crypttab", "cr1 UUID=4afb5844 none luks,discard,initramfs\n",
		"etc/mdadm/mdadm.conf", "HOMEHOST <system>\nARRAY /dev/md0 metadata=1.2 UUID=1111:2222 name=vm:0\n", "etc/crypttab", "no\n")))
	if err != nil || got.Volumes == nil || got.Volumes["cr1"] != "UUID=4afb5844" || got.Arrays == nil ||
		got.Arrays.HomeHost != "<system>" || len(got.Arrays.Lines) != 1 || got.Arrays.Lines[0].UUID != "11112222" {
		t.Errorf("%+v, %+v, %v", got.Volumes, got.Arrays, err)
	}
}

func TestInitrdRefuses(t *testing.T) {
	long := cpio("a", strings.Repeat("a", 1000))
	bomb := gz(cpio("zeros", string(make([]byte, 80<<20))))
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"empty":            {nil, "empty"},
		"zeros":            {make([]byte, 4096), "empty"},
		"text":             {[]byte("<html>404"), "neither cpio nor compressed"},
		"cut":              {long[:600], "cut off"},
		"cut in a packing": {gz(long)[:40], "cut off"},
		"out of it":        {cpio("../../etc/shadow", "x"), "leads out of the archive"},
		"a bomb":           {bomb, "decompression bomb"},
		"lz4":              {[]byte("\x02\x21\x4c\x18aaaa"), "lz4"},
		"no number":        {[]byte("070701" + strings.Repeat("zzzzzzzz", 13)), "no number"},
		"a wild name":      {[]byte("070701" + strings.Repeat("ffffffff", 13)), "refused"},
	} {
		if got, err := ParseInitrd(bytes.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v; want %q", name, got, err, tt.want)
		}
	}
}

// TestByTheirOwnPrograms: what cpio, gzip, xz and zstd write is read.
func TestByTheirOwnPrograms(t *testing.T) {
	cpio := means.Tool(t, "cpio")
	dir := t.TempDir()
	for _, f := range []string{"lib/modules/6.12.1-test/kernel/a.ko", "lib/modules/6.12.1-test/kernel/b.ko.zst"} {
		os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, f), []byte(strings.Repeat(f, 3000)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := exec.Command("find", dir, "-printf", "%P\\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(cpio, "-o", "-H", "newc", "--quiet", "-D", dir)
	c.Stdin = bytes.NewReader(list[1:])
	plain, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, argv := range [][]string{{"cat"}, {"gzip", "-9"}, {"xz", "--check=crc32"}, {"zstd", "-19", "-q"}, {"zstd", "-q", "--no-check"}} {
		c := exec.Command(means.Tool(t, argv[0]), argv[1:]...)
		c.Stdin = bytes.NewReader(plain)
		out, err := c.Output()
		if err != nil {
			t.Fatal(argv, err)
		}
		all = append(all, out...)
	}
	got, err := ParseInitrd(bytes.NewReader(all))
	want := Initrd{Modules: map[string]int{"6.12.1-test": 10}, Parts: []string{"cpio", "gzip", "xz", "zstd", "zstd"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzInitrd(f *testing.F) {
	one := cpio("lib/modules/6.1.0-50-amd64/a.ko", "x", "etc/default-release", "bookworm\n")
	for _, seed := range [][]byte{one, gz(one), xzed(one), zst(one), append(gz(one), one...)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseInitrd(bytes.NewReader(b))
		if err == nil && len(got.Parts) == 0 {
			t.Error("no parts, and no error")
		}
	})
}

func FuzzKernel(f *testing.F) {
	f.Add(image(banner61, 4))
	f.Add(arm(70_000))
	f.Add(gz(arm(70_000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := ParseKernel(bytes.NewReader(b)); err == nil && k.Release == "" {
			t.Errorf("%+v", k)
		}
	})
}
