package renew

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/internal/means"
	"fettle/tools/netboot/hooks"
)

// TestOnDisk: of a new tree all is on the disk before it gets its name, and the name too.
func TestOnDisk(t *testing.T) {
	calls := means.Trace(t, "fsync,rename,renameat,renameat2", func() {
		old := lay(t, "old")
		dir := filepath.Join(old, rel)
		initrd, err := hooks.Append([]byte("\x1f\x8b old"), hooks.Parts)
		if err == nil {
			err = errors.Join(os.WriteFile(dir+"/initrd.gz", initrd, 0o644), os.WriteFile(dir+"/web1.cfg", []byte("ours"), 0o644))
		}
		if err == nil {
			err = renewed(t, live(t), old, filepath.Join(old, ".fettle-netboot-x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	const part = ".fettle-netboot-x.part-"
	for _, name := range []string{rel + "/linux>", rel + "/web1.cfg>", "/version.info>", rel + "/boot-screens/syslinux.cfg>",
		"/" + noteName + ">"} {
		calls.Order(t, "fsync( "+part+" "+name, "renameat( "+part, "fsync( /tftp>", "renameat2 RENAME_EXCHANGE")
	}
	for _, dir := range []string{rel + ">", rel + "/boot-screens>"} {
		calls.Order(t, "fsync( "+part+" /web1.cfg>", "fsync( "+part+" "+dir, "renameat( "+part)
	}
	calls.Order(t, "renameat2 version.info RENAME_EXCHANGE", "fsync( /tftp>", "fsync( /.fettle-netboot-x>", "renameat2 amd64 RENAME_EXCHANGE",
		"fsync( /tftp/debian-installer>", "fsync( /.fettle-netboot-x/debian-installer>")
	// Unpacked, and written again with the old one's hooks.
	calls.Order(t, "fsync( "+part+" /initrd.gz>", "fsync( "+part+" /web1.cfg>", "rename "+part)
	n := 0
	for from := 0; ; n++ {
		at, ok := calls.After(from, "fsync(", part, rel+"/initrd.gz>")
		if !ok {
			break
		}
		from = at + 1
	}
	if n != 2 {
		t.Errorf("the new initrd was synced %d times, want 2: unpacked, and with hooks", n)
	}
}

// claimed is a tar archive of folders that claim to have contents, which none has.
func claimed(n int, size int64) []byte {
	var b bytes.Buffer
	for i := range n {
		var one bytes.Buffer
		w := tar.NewWriter(&one)
		w.WriteHeader(&tar.Header{Name: fmt.Sprintf("d%d", i%3), Mode: 0o755, Typeflag: tar.TypeReg, Size: size, Format: tar.FormatUSTAR})
		h := one.Bytes()[:512]
		h[156] = tar.TypeDir
		copy(h[148:156], "        ")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h)
	}
	b.Write(make([]byte, 1024))
	return b.Bytes()
}

func TestUnpackIsBounded(t *testing.T) {
	for _, c := range []struct {
		files int
		size  int64
		want  string
	}{
		{maxFiles, 0, ""},
		{maxFiles + 1, 0, "more than 20000 files"},
		{1, maxTree, ""},
		{1, maxTree + 1, "more than 2 GiB"},
		{2, maxTree/2 + 1, "more than 2 GiB"},
	} {
		err := Unpack(bytes.NewReader(claimed(c.files, c.size)), "", folder(t))
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d files of %d bytes: %v, want %q", c.files, c.size, err, c.want)
		}
	}
}

// TestCarryIsBounded: so many files and bytes beside the installer's own, and no more.
func TestCarryIsBounded(t *testing.T) {
	for _, c := range []struct {
		files, most int
		size, bytes int64
		want        string
	}{
		{3, 3, 0, 100, ""},
		{4, 3, 0, 100, "more than 3 files were added"},
		{2, 3, 50, 100, ""},
		{2, 3, 51, 100, "bytes were added"},
	} {
		old := folder(t)
		for i := range c.files {
			if err := old.WriteFile(fmt.Sprintf("f%d", i), make([]byte, c.size), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := (&carrying{old: old, new: folder(t), mostFiles: c.most, mostBytes: c.bytes}).all()
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d files of %d bytes: %v, want %q", c.files, c.size, err, c.want)
		}
	}
}

func TestCarryOfManyFiles(t *testing.T) {
	means.Short(t, "takes seconds")
	old, fresh := t.TempDir(), folder(t)
	if err := errors.Join(os.MkdirAll(filepath.Join(old, rel), 0o755), fresh.MkdirAll(rel, 0o755)); err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles + 1 {
		if err := os.Symlink("x", filepath.Join(old, rel, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	err := Carry(t.Context(), live(t), old, &Part{Root: fresh}, rel)
	if err == nil || !strings.Contains(err.Error(), "more than 20000 files") {
		t.Errorf("20001 links were added: %v", err)
	}
}

// TestGrubModules: of GRUB's modules those of the new installer alone are in the new tree.
func TestGrubModules(t *testing.T) {
	root := lay(t, "old")
	old := filepath.Join(root, rel, "grub/x86_64-efi")
	if err := errors.Join(os.MkdirAll(old, 0o755), os.WriteFile(old+"/gone.mod", nil, 0o644),
		os.WriteFile(filepath.Join(root, rel, "grub/font.pf2"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	stage := filepath.Join(root, ".fettle-netboot-x")
	if err := renewed(t, live(t), root, stage); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, rel, "grub/x86_64-efi/gone.mod")); err == nil {
		t.Error("a module of the old GRUB is carried over")
	}
	if _, err := os.Stat(filepath.Join(root, rel, "grub/font.pf2")); err != nil {
		t.Errorf("what lies beside GRUB's modules is not carried over: %v", err)
	}
}

// TestMirrorThatDrips: a small file that never ends has its time.
func TestMirrorThatDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drip := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				theirs.Read(make([]byte, 4096))
				io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
				for range time.Tick(20 * time.Second) {
					if _, err := theirs.Write([]byte("x")); err != nil {
						return
					}
				}
			}()
			return ours, nil
		}
		defer func() { time.Sleep(time.Minute); synctest.Wait() }() // until it has noticed
		began := time.Now()
		_, err := Source{Mirror: "http://mirror.example/debian", Suite: "bookworm", Arch: "amd64", dial: drip}.Find(t.Context())
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "is not whole after 5m0s") || took > 6*time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
