package means

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A copy of a test asks for these folders, which are not there, where what shall fail begins and ends.
const begins, ends = "/fettle-test-begins", "/fettle-test-ends"

// Failing runs act after prepare in copies of the test under strace(1), and has one system call
// fail in each (EIO): those of act that are named ("fsync,renameat") and that matter, half of
// them at each commit. It fails the test where act returns no error. act does all in its own
// goroutine.
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
		os.Exit(0) // not through t.Cleanup: act may have confined itself, and the caller's TempDir holds this one's
	}
	trace := "trace=chdir," + names
	all, err := ofAct(t, trace)
	if err != nil {
		t.Fatalf("without any fault: %v", err)
	}
	from, _ := all.After(0, begins)
	to, _ := all.After(from, ends)
	turn, tried, seen := Turn(t), 0, map[string]int{}
	for i, call := range all[:to] {
		name, _, _ := strings.Cut(call, "(")
		seen[name]++
		if i <= from || i%2 != turn%2 || !matters(call) {
			continue
		}
		got, err := ofAct(t, trace, fmt.Sprintf("inject=%s:error=EIO:when=%d", name, seen[name]))
		from, _ := got.After(0, begins)
		at, ok := got.After(from, "(INJECTED)")
		if !ok || !matters(got[at]) {
			continue // the copy has called something before that the first has not
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
	t.Logf("%d of %d calls were made to fail", tried, to-from-1)
}

// ofAct runs the copy, and returns the calls of the thread that runs act, in order. The
// error is how the copy ended.
func ofAct(t *testing.T, expressions ...string) (Calls, error) {
	t.Helper()
	all, threads, failed := strace(t, expressions...)
	at, ok := all.After(0, begins)
	if !ok {
		t.Fatalf("the copy of this test has not begun: %v", failed)
	}
	var calls Calls
	for i, call := range all {
		if threads[i] == threads[at] {
			calls = append(calls, call)
		}
	}
	return calls, failed
}
