// Package means tells tests whether the machine has what they need. A test
// whose means are missing skips and says so; under CI=true it fails, so that
// no proof goes missing in silence.
package means

import (
	"os"
	"testing"
)

// Root wants the test to run as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "needs root")
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
	missing(t, "needs the program "+name)
	return ""
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must have the means for every test: this one %s", what)
	}
	t.Skipf("SKIPPED, NOTHING PROVED: this test %s", what)
}

// Missing ends a test whose means, named by what ("needs libpam's headers"),
// are not there.
func Missing(t testing.TB, what string) {
	t.Helper()
	missing(t, what)
}
