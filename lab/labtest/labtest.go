// Package labtest helps tests that boot throwaway machines.
package labtest

import (
	"path/filepath"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
)

// Programs are fettle-lab and fettle, statically linked, for guests.
func Programs(t testing.TB) lab.Options {
	t.Helper()
	dir := means.Programs(t, "fettle", "fettle-lab")
	return lab.Options{Init: filepath.Join(dir, "fettle-lab"), Fettle: filepath.Join(dir, "fettle")}
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
