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

// quick is the kernel that lab/kernels/uml/build has put beside the distribution's.
const quick = "uml/new"

// Options are for a scenario on User-Mode Linux: the quick one, where there is one.
func Options(t testing.TB) lab.Options {
	t.Helper()
	opt := Distribution(t)
	if k, err := lab.Built(quick); err == nil {
		opt.Kernel = k
	}
	return opt
}

// Distribution are Options on the distribution's own kernel.
func Distribution(t testing.TB) lab.Options {
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
