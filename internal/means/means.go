// Package means tells tests whether the machine has what they need. A test
// that lacks its means is skipped and says so; under CI=true it fails, so that
// no proof goes missing silently.
package means

import (
	"os"
	"strings"
	"testing"
)

// Root wants the test to run as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "needs root")
	}
}

// Tool wants a program and returns where it is.
func Tool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		p := dir + "/" + name
		if st, err := os.Stat(p); err == nil && st.Mode()&0o111 != 0 {
			return p
		}
	}
	Missing(t, "needs the program "+name)
	return ""
}

// Missing ends a test whose means, named by what ("needs libpam's headers"),
// are not there.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must have the means for every test: this one %s", what)
	}
	t.Skip(nothing + "this test " + what)
}

// nothing is how a test that lacks its means begins to say so.
const nothing = "SKIPPED, NOTHING PROVED: "

// Copy ends a test that ran a copy of itself elsewhere, in namespaces of its
// own, as the copy ended: err is the copy's, and said what it printed.
func Copy(t testing.TB, said []byte, err error) {
	t.Helper()
	t.Logf("%s", said)
	if err != nil {
		t.Errorf("the copy of this test: %v", err)
	}
	if _, what, ok := strings.Cut(string(said), nothing); ok {
		what, _, _ = strings.Cut(what, "\n")
		t.Skip(nothing + what)
	}
}

// Long leaves a test to make lab-long, which sets FETTLE_LONG; what says why
// ("boots a real initramfs").
func Long(t testing.TB, what string) {
	t.Helper()
	if !long() {
		Left(t, "it "+what+"; FETTLE_LONG=1 runs it, as make lab-long does")
	}
}

func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// Short leaves a test out of go test -short.
func Short(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		Left(t, "it "+what+", and this is a short run")
	}
}

// Left leaves out a test that is not part of every run, in CI neither.
func Left(t testing.TB, why string) {
	t.Helper()
	t.Skip("LEFT OUT: " + why)
}
