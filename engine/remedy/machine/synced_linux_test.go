package machine

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestSynced: a deleted file's copy is on the disk before its last holder is ended.
func TestSynced(t *testing.T) {
	means.Root(t)
	calls := means.Trace(t, "fsync", func() {
		dir := t.TempDir()
		f, err := os.Create(dir + "/held")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
		of := OpenFile{PID: os.Getpid(), FD: int(f.Fd()), Dev: st.Dev, Inode: st.Ino}
		if err := (Linux{}).CopyOpen(t.Context(), of, dir+"/copy"); err != nil {
			t.Fatal(err)
		}
	})
	calls.Order(t, "fsync( /copy>")
}
