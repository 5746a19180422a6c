package means

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const insideEnv = "FETTLE_TEST_INSIDE"

// Inside tells whether the test runs, as root, in new namespaces, of clone(2)'s flags. Where it does not, a copy
// of it did, for at most limit (0: as long as it takes), and all that is left is to return. What is mounted in
// a mount namespace of its own nobody else sees.
func Inside(t *testing.T, namespaces uintptr, limit time.Duration) bool {
	t.Helper()
	Root(t)
	if os.Getenv(insideEnv) != t.Name() {
		Elsewhere(t, namespaces, limit, insideEnv+"="+t.Name())
		return false
	}
	if namespaces&syscall.CLONE_NEWNS != 0 {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// Elsewhere runs a copy of the test in new namespaces, of clone(2)'s flags, for at most
// limit (0: as long as it takes), and ends the test as the copy ended. env, "NAME=value",
// tells the copy that it is the copy.
func Elsewhere(t *testing.T, namespaces uintptr, limit time.Duration, env string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+limit.String())
	cmd.Env = append(os.Environ(), env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // whose end is what the copy ends with (PR_SET_PDEATHSIG(2const))
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	Copy(t, out, err)
}
