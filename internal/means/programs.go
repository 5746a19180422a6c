package means

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// Programs builds programs of fettle's as they are shipped, static and stripped, and
// returns a folder with copies of them that are the test's own. All packages' tests share
// what is built, in the user's cache: only what has changed since is linked again.
func Programs(t testing.TB, names ...string) string {
	t.Helper()
	return ProgramsOf(t, runtime.GOARCH, names...)
}

// ProgramsOf are those for an architecture, as GOARCH names it.
func ProgramsOf(t testing.TB, arch string, names ...string) string {
	t.Helper()
	shared, err := build(arch, names)
	if err != nil {
		t.Fatalf("building %v: %v", names, err)
	}
	defer shared.Close() // and with it the lock
	own := t.TempDir()
	for _, n := range names {
		if err := copyProgram(filepath.Join(shared.Name(), n), filepath.Join(own, n)); err != nil {
			t.Fatal(err)
		}
	}
	return own
}

// build returns the folder of the programs, locked against other tests until it is closed.
func build(arch string, names []string) (*os.File, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil { // a test without HOME
		cache = os.TempDir()
	}
	checkout := sha256.Sum256(mod)
	dir := filepath.Join(cache, "fettle-test-programs", hex.EncodeToString(checkout[:6])+"-"+arch)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	args := []string{"build", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator)}
	for _, n := range names {
		args = append(args, "fettle/cmd/"+n)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return f, nil
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
