package ssh

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVerified: the copy is hashed once, and again after anything that could have
// changed it; one that is not what it should be is never run.
func TestVerified(t *testing.T) {
	home := t.TempDir()
	const program = "#!/bin/sh\necho ran\n"
	sum := sha256.Sum256([]byte(program))
	hash := hex.EncodeToString(sum[:])
	dir := filepath.Join(home, ".cache", "fettle", hash)
	file, stamp, hashed := filepath.Join(dir, "fettle"), filepath.Join(dir, "verified"), filepath.Join(home, "hashed")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir, 0o700))
	must(os.MkdirAll(filepath.Join(home, "bin"), 0o700))
	must(
		os.WriteFile(filepath.Join(home, "bin", "sha256sum"), []byte("#!/bin/sh\necho hashed >> "+hashed+"\nexec /usr/bin/sha256sum\n"), 0o700),
	)
	put := func(text string) {
		t.Helper()
		must(os.RemoveAll(file)) // a new inode: a script that runs cannot be written to
		must(os.WriteFile(file, []byte(text), 0o700))
	}
	run := func() (says string, hashes int) {
		t.Helper()
		os.Remove(hashed)
		cmd := exec.Command("/bin/sh", "-c", runIt, "fettle", hash)
		cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		b, _ := os.ReadFile(hashed)
		if err != nil {
			return "refused: " + strings.TrimSpace(string(out)), strings.Count(string(b), "\n")
		}
		return strings.TrimSpace(string(out)), strings.Count(string(b), "\n")
	}
	other := strings.Replace(program, "ran", "bad", 1) // as long
	for _, c := range []struct {
		name   string
		change func()
		says   string
		hashes int
	}{
		{"the first run", func() { put(program) }, "ran", 1},
		{"again", func() {}, "ran", 0},
		{"written anew", func() { put(program) }, "ran", 1},
		{"of the same size, and its time set back", func() {
			st, err := os.Stat(file)
			must(err)
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			must(err)
			_, err = f.WriteString(other)
			must(err)
			must(f.Close())
			must(os.Chtimes(file, st.ModTime(), st.ModTime()))
		}, "refused: " + needed, 1},
		{"right again", func() { put(program) }, "ran", 1},
		{"others may write to it", func() { must(os.Chmod(file, 0o777)) }, "ran", 1},
		{"and again", func() {}, "ran", 1},
		{"as it should be", func() { must(os.Chmod(file, 0o700)) }, "ran", 1},
		{"another boot", func() {
			b, err := os.ReadFile(stamp)
			must(err)
			must(os.WriteFile(stamp, append([]byte("g"), b[1:]...), 0o600))
		}, "ran", 1},
		{"the stamp is a link", func() {
			must(os.Rename(stamp, filepath.Join(home, "mine")))
			must(os.WriteFile(filepath.Join(home, "mine"), []byte("mine\n"), 0o600))
			must(os.Symlink(filepath.Join(home, "mine"), stamp))
		}, "ran", 1},
		{"and then none", func() {
			if b, _ := os.ReadFile(filepath.Join(home, "mine")); string(b) != "mine\n" {
				t.Errorf("it was written through: %q", b)
			}
		}, "ran", 0},
		{"no copy", func() { must(os.Remove(file)) }, "refused: " + needed, 0},
	} {
		c.change()
		time.Sleep(10 * time.Millisecond) // a tick of the file system's clock
		says, hashes := run()
		if !strings.HasPrefix(says, c.says) || hashes != c.hashes {
			t.Errorf("%s: %q, hashed %d times; want %q, %d", c.name, says, hashes, c.says, c.hashes)
		}
	}
}
