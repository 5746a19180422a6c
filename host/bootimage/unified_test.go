package bootimage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// efi is an EFI program with sections of names and contents in turn, each padded to 512 bytes as objcopy does.
func efi(parts ...string) []byte {
	le := binary.LittleEndian
	head := make([]byte, 64)
	copy(head, "MZ")
	le.PutUint32(head[60:], 128)
	head = append(head, make([]byte, 64)...)
	coff := make([]byte, 24)
	copy(coff, "PE\x00\x00")
	le.PutUint16(coff[6:], uint16(len(parts)/2))
	le.PutUint16(coff[20:], 112)
	head = append(append(head, coff...), make([]byte, 112)...)
	at := (len(head) + 40*len(parts)/2 + 511) &^ 511
	var body []byte
	for i := 0; i < len(parts); i += 2 {
		raw := (len(parts[i+1]) + 511) &^ 511
		h := make([]byte, 40)
		copy(h, parts[i])
		le.PutUint32(h[8:], uint32(len(parts[i+1])))
		le.PutUint32(h[16:], uint32(raw))
		le.PutUint32(h[20:], uint32(at+len(body)))
		head = append(head, h...)
		body = append(append(body, parts[i+1]...), make([]byte, raw-len(parts[i+1]))...)
	}
	return append(append(head, make([]byte, at-len(head))...), body...)
}

// TestUnified: the sections are read that tell what will start, and the initrd as one that is a file.
func TestUnified(t *testing.T) {
	initrd := string(zst(cpio("lib/modules/6.1.0-50-amd64/a.ko", "x", "conf/initramfs.conf", "x")))
	whole := efi(".text", "code", ".osrel", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n", ".uname", "6.1.0-50-amd64",
		".cmdline", "root=UUID=1234 ro\n", ".linux", strings.Repeat("k", 5000), ".initrd", initrd)
	want := Unified{Title: "Debian GNU/Linux 12 (bookworm)", Release: "6.1.0-50-amd64", Options: "root=UUID=1234 ro", Kernel: true,
		Initrd: true}
	if u, err := ParseUnified(bytes.NewReader(whole)); err != nil || u != want {
		t.Errorf("%+v, %v", u, err)
	}
	i, err := parseInitrdOf(bytes.NewReader(whole))
	if err != nil || i.Modules["6.1.0-50-amd64"] != 1 || i.Builder != "initramfs-tools" {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err := parseInitrdOf(strings.NewReader(initrd)); err != nil || i.Builder != "initramfs-tools" {
		t.Errorf("an initrd that is a file: %+v, %v", i, err)
	}
	for name, c := range map[string]struct {
		image []byte
		want  error
	}{
		"cut off":          {whole[:len(whole)-600], ErrCut},
		"a boot loader":    {efi(".text", "code", ".sdmagic", "#### LoaderInfo: systemd-boot 252 ####"), ErrNotUnified},
		"a program of DOS": {append([]byte("MZ"), make([]byte, 500)...), ErrNotUnified},
		"text":             {[]byte(strings.Repeat("words ", 100)), ErrNotUnified},
		"nothing":          {nil, ErrCut},
	} {
		if u, err := ParseUnified(bytes.NewReader(c.image)); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want %v", name, u, err, c.want)
		}
	}
	if _, err := parseInitrdOf(bytes.NewReader(efi(".linux", "k"))); !errors.Is(err, ErrNotUnified) {
		t.Errorf("an image without an initrd: %v", err)
	}
}

// FuzzUnified: no image makes the reader fail but with an error.
func FuzzUnified(f *testing.F) {
	f.Add(efi(".uname", "6.1", ".linux", "k", ".initrd", "070701"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if u, err := ParseUnified(bytes.NewReader(b)); err == nil && !u.Kernel {
			t.Errorf("%+v", u)
		}
		parseInitrdOf(bytes.NewReader(b))
	})
}
