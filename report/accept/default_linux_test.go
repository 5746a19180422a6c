package accept

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
)

// asNobody runs do on a thread whose effective user is nobody. The thread is
// not used again.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	means.Root(t)
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // and never unlocked: it ends with the goroutine
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0))
		if errno == 0 {
			do()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Fatal(errno)
	}
}

// TestDefaultOfOthersHome: an own file that cannot be read or found must not
// stop a check, as it does for cron, service users and after su without "-".
func TestDefaultOfOthersHome(t *testing.T) {
	closed := t.TempDir()
	if err := os.MkdirAll(filepath.Join(closed, ".config", "fettle"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, home, xdg string
		skipped         string // "": no warning
	}{
		{"home of root", closed, "", "permission denied"},
		{"no home", "", "", ""},
		{"relative configuration folder", closed, "conf", "relative"},
		{"home that is not there", "/nonexistent", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HOME", c.home)
			t.Setenv("XDG_CONFIG_HOME", c.xdg)
			asNobody(t, func() {
				l, err := Default()
				switch {
				case err != nil:
					t.Errorf("stops the check: %v", err)
				case c.skipped == "" && len(l.Skipped) > 0:
					t.Errorf("warns: %v", l.Skipped)
				case c.skipped != "" && (len(l.Skipped) != 1 || !strings.Contains(l.Skipped[0].Error(), c.skipped)):
					t.Errorf("skipped %v, want one with %q", l.Skipped, c.skipped)
				}
			})
		})
	}
}
