package means

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

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
