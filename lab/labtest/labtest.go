// Package labtest helps tests that boot throwaway machines.
package labtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
)

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fettle-labtest-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "fettle")
	cmd := exec.Command("go", "build", "-o", out, "fettle/cmd/fettle")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return out, cmd.Run()
})

var built atomic.Bool

// Binary builds fettle once, statically linked, for guests.
func Binary(t testing.TB) string {
	t.Helper()
	built.Store(true)
	b, err := build()
	if err != nil {
		t.Fatal("building fettle for the guest:", err)
	}
	return b
}

// Cleanup removes what Binary built; call it from TestMain.
func Cleanup() {
	if built.Load() {
		if b, err := build(); err == nil {
			os.RemoveAll(filepath.Dir(b))
		}
	}
}

// Options are for a scenario on User-Mode Linux.
func Options(t testing.TB) lab.Options {
	t.Helper()
	means.Tool(t, "linux.uml")
	k, err := lab.UML()
	if err != nil {
		t.Fatal(err)
	}
	return lab.Options{Kernel: k, Binary: Binary(t)}
}

// Lacks ends a test that the machine has not the means for: it fails under
// CI=true, and is skipped loudly elsewhere.
func Lacks(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must have the means for every test: %v", err)
	}
	t.Skipf("SKIPPED, NOTHING PROVED: %v", err)
}
