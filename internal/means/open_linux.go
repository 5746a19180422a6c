package means

import (
	"os"
	"testing"
)

// OpenFiles are the descriptors that this process has open, and what they lead to
// (proc_pid_fd(5)). What was forgotten stays open only while no garbage is collected.
func OpenFiles(t testing.TB) map[string]string {
	t.Helper()
	const dir = "/proc/self/fd/"
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, n := range names {
		if to, err := os.Readlink(dir + n.Name()); err == nil { // not that of the folder itself
			files[n.Name()] = to
		}
	}
	return files
}
