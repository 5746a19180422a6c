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
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir, "fettle/cmd/fettle", "fettle/cmd/fettle-lab")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
})

var built atomic.Bool

// Programs builds fettle-lab and fettle once, statically linked, for guests.
func Programs(t testing.TB) lab.Options {
	t.Helper()
	built.Store(true)
	dir, err := build()
	if err != nil {
		t.Fatal("building fettle for the guest:", err)
	}
	return lab.Options{Init: filepath.Join(dir, "fettle-lab"), Fettle: filepath.Join(dir, "fettle")}
}

// Cleanup removes what Programs built; call it from TestMain.
func Cleanup() {
	if built.Load() {
		if dir, err := build(); err == nil {
			os.RemoveAll(dir)
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
	opt := Programs(t)
	opt.Kernel = k
	return opt
}

// Lacks ends a test that the machine has not the means for: it fails under
// CI=true, and is skipped loudly elsewhere.
func Lacks(t testing.TB, err error) {
	t.Helper()
	means.Missing(t, "cannot run: "+err.Error())
}
