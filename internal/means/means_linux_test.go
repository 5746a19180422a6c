package means

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestInner is what TestMissing and TestCopy start.
func TestInner(t *testing.T) {
	switch os.Getenv("MEANS_INNER") {
	case "missing":
		Missing(t, "needs a unicorn")
	case "copy":
		out, err := inner("missing", "CI=")
		Copy(t, out, err)
	case "elsewhere":
		Elsewhere(t, 0, time.Minute, "MEANS_INNER=missing")
	case "too long":
		Elsewhere(t, 0, time.Millisecond, "MEANS_INNER=sleeps")
	case "sleeps":
		time.Sleep(time.Minute)
	case "long":
		Long(t, "takes a year")
	}
}

func inner(what string, env ...string) ([]byte, error) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestInner$", "-test.v")
	cmd.Env = append(os.Environ(), append(env, "MEANS_INNER="+what)...)
	return cmd.CombinedOutput()
}

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		what, env string
		fails     bool
		says      string
	}{
		{"missing", "CI=", false, "SKIPPED, NOTHING PROVED: this test needs a unicorn"},
		{"missing", "CI=true", true, "CI must have the means for every test: this one needs a unicorn"},
		{"copy", "CI=", false, "--- SKIP: TestInner"},
		{"copy", "CI=true", false, "--- SKIP: TestInner"}, // its copy ran without CI
		{"elsewhere", "CI=", false, "--- SKIP: TestInner"},
		{"elsewhere", "CI=true", true, "the copy of this test: exit status 1"},
		{"too long", "CI=", true, "test timed out after 1ms"},
		{"long", "FETTLE_LONG=", false, "LEFT OUT: it takes a year"},
		{"long", "FETTLE_LONG=1", false, "--- PASS: TestInner"},
	} {
		out, err := inner(c.what, c.env)
		if (err != nil) != c.fails || !strings.Contains(string(out), c.says) {
			t.Errorf("%s with %s: %v\n%s", c.what, c.env, err, out)
		}
	}
}

// TestInside: nobody outside sees what is mounted inside, also where all mounts are shared, as systemd has them.
func TestInside(t *testing.T) {
	Root(t)
	if os.Getenv("MEANS_SHARED") == "" {
		Elsewhere(t, syscall.CLONE_NEWNS, time.Minute, "MEANS_SHARED=1")
		return
	}
	if os.Getenv(insideEnv) == "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
			t.Fatal(err)
		}
	}
	if !Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("means", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, 0)
	for process, sees := range map[int]bool{os.Getpid(): true, os.Getppid(): false} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", process))
		if err != nil || strings.Contains(string(b), dir) != sees {
			t.Errorf("process %d sees %s: %v, want %v; %v", process, dir, !sees, sees, err)
		}
	}
}

func TestTrace(t *testing.T) {
	calls := Trace(t, "fsync,renameat,renameat2", func() {
		dir := t.TempDir()
		f, err := os.Create(dir + "/a")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close(), os.Rename(dir+"/a", dir+"/b")); err != nil {
			t.Fatal(err)
		}
	})
	calls.Order(t, "fsync( /a>", "rename /a /b")
	if _, ok := calls.After(0, "fsync(", "/b"); ok || len(calls) != 2 {
		t.Errorf("calls: %q", calls)
	}
}
