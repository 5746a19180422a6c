package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOldCopiesGo: with a new copy, those of other versions go that were made
// more than 30 days ago; nothing else does.
func TestOldCopiesGo(t *testing.T) {
	home := t.TempDir()
	cache := filepath.Join(home, ".cache", "fettle")
	old := time.Now().Add(-40 * 24 * time.Hour)
	stays := map[string]bool{strings.Repeat("a", 64): false, strings.Repeat("b", 64): true, "notes": true, "ssh": true}
	for name := range stays {
		dir := filepath.Join(cache, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "fettle"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if name[0] != 'b' {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("program"))
	z.Close()
	sum := sha256.Sum256([]byte("program"))
	hash := hex.EncodeToString(sum[:])
	keep := func(hash string) error {
		cmd := exec.Command("/bin/sh", "-c", keepIt, "fettle", hash)
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
		cmd.Stdin = bytes.NewReader(packed.Bytes())
		return cmd.Run()
	}
	if err := keep(strings.Repeat("c", 64)); err == nil || err.Error() != "exit status 98" {
		t.Errorf("a copy that does not verify: %v", err)
	}
	if _, err := os.Stat(filepath.Join(cache, strings.Repeat("a", 64))); err != nil {
		t.Error("a copy that failed took an old one away")
	}
	if err := keep(hash); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(cache, hash, "fettle")); err != nil || string(b) != "program" {
		t.Errorf("the copy: %q, %v", b, err)
	}
	for name, want := range stays {
		if _, err := os.Stat(filepath.Join(cache, name, "fettle")); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
