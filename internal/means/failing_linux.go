package means

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A copy of a test asks for these folders, which are not there, where what shall fail begins and ends.
const begins, ends = "/fettle-test-begins", "/fettle-test-ends"

// Failing runs act after prepare in copies of the test under strace(1), and has one system call
// fail in each (EIO): those of act that are named ("fsync,renameat") and that matter, half of
// them at each commit. It fails the test where act returns no error. act does all
// in its own goroutine.
func Failing(t *testing.T, names string, matters func(call string) bool, prepare func(), act func() error) {
	t.Helper()
	if os.Getenv(tracedEnv) == t.Name() {
		runtime.LockOSThread()
		prepare()
		unix.Chdir(begins)
		err := act()
		unix.Chdir(ends)
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(3)
		}
		t.SkipNow()
	}
	all, err := underStrace(t, "-e", "trace=chdir,"+names)
	if err != nil {
		t.Fatalf("without any fault: %v", err)
	}
	tried := 0
	seen := map[string]int{}
	begun := false
	for i, call := range all {
		name, _, _ := strings.Cut(call, "(")
		seen[name]++
		if strings.Contains(call, ends) {
			break
		}
		begun = begun || strings.Contains(call, begins)
		if !begun || i%2 != Turn(t)%2 || !matters(call) {
			continue
		}
		got, err := underStrace(t, "-e", "trace=chdir,"+names, "-e", fmt.Sprintf("inject=%s:error=EIO:when=%d", name, seen[name]))
		at := len(got) - 1
		for at >= 0 && !strings.HasSuffix(got[at], "(INJECTED)") {
			at--
		}
		if at < 0 || !strings.Contains(strings.Join(got[:at], "\n"), begins) {
			continue // the copy's own thread has called something before that the first has not
		}
		tried++
		if err == nil {
			t.Errorf("it does not matter that this failed: %s", got[at])
		} else if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("%s: %v", got[at], err)
		}
	}
	if tried == 0 {
		t.Error("no call was made to fail")
	}
	t.Logf("%d of %d calls were made to fail", tried, len(all))
}

// underStrace runs the copy, and returns the calls of the thread that has begun.
func underStrace(t *testing.T, args ...string) ([]string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "calls")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"-f", "-qq", "-y", "-e", "signal=none", "-o", out}, args...)
	cmd := exec.CommandContext(t.Context(), Tool(t, "strace"), append(argv, self, "-test.run=^"+t.Name()+"$")...)
	cmd.Env = append(os.Environ(), tracedEnv+"="+t.Name())
	said, failed := cmd.CombinedOutput()
	if failed != nil {
		failed = fmt.Errorf("%w: %s", failed, said)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		thread, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		threads[thread] = append(threads[thread], strings.TrimSpace(call))
	}
	for _, calls := range threads {
		if strings.Contains(strings.Join(calls, "\n"), begins) {
			return calls, failed
		}
	}
	t.Fatalf("the copy has not begun: %v", failed)
	return nil, nil
}
