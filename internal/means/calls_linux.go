package means

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const tracedEnv = "FETTLE_TEST_TRACED"

// Calls are what a process asked the kernel for, in order: a line of strace(1) each, as
// `fsync(7</srv/a>) = 0`.
type Calls []string

// Trace runs act in a copy of the test, under strace, and returns those of its system
// calls that are named ("fsync,renameat").
func Trace(t *testing.T, names string, act func()) Calls {
	t.Helper()
	if os.Getenv(tracedEnv) == t.Name() {
		act()
		t.SkipNow()
	}
	strace := Tool(t, "strace")
	out := filepath.Join(t.TempDir(), "calls")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-e", "trace="+names, "-o", out,
		self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), tracedEnv+"="+t.Name())
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the copy of this test under strace: %v\n%s", err, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var calls Calls
	for line := range strings.Lines(string(b)) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ") // the process
		calls = append(calls, strings.TrimSpace(line))
	}
	return calls
}

// After is the number of the first call at or after a number that has all these parts.
func (c Calls) After(from int, parts ...string) (at int, ok bool) {
	for i := from; i < len(c); i++ {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(c[i], p) }) {
			return i, true
		}
	}
	return 0, false
}

// Order fails the test unless there are calls in this order, each with the parts given,
// separated by spaces.
func (c Calls) Order(t *testing.T, calls ...string) {
	t.Helper()
	from := 0
	for _, want := range calls {
		at, ok := c.After(from, strings.Fields(want)...)
		if !ok {
			t.Errorf("after %d calls there is none with %q:\n%s", from, want, strings.Join(c, "\n"))
			return
		}
		from = at + 1
	}
}
