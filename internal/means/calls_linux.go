package means

import (
	"fmt"
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
	calls, _, err := strace(t, "trace="+names)
	if err != nil {
		t.Fatalf("the copy of this test under strace: %v", err)
	}
	return calls
}

// strace runs a copy of the test, and returns its system calls and the threads that made
// them. The error is how the copy ended, with what it said.
func strace(t *testing.T, expressions ...string) (calls Calls, threads []string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "calls")
	args := []string{"-f", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-o", out}
	for _, e := range expressions {
		args = append(args, "-e", e)
	}
	cmd := exec.CommandContext(t.Context(), Tool(t, "strace"), append(args, self, "-test.run=^"+t.Name()+"$")...)
	cmd.Env = append(os.Environ(), tracedEnv+"="+t.Name(), "TMPDIR="+dir)
	said, failed := cmd.CombinedOutput()
	if failed != nil {
		failed = fmt.Errorf("%w\n%s", failed, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		thread, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		calls, threads = append(calls, strings.TrimSpace(call)), append(threads, thread)
	}
	return calls, threads, failed
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
