package files

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fettle/internal/means"
)

// TestReplace: a regular file is replaced in one step or left as it was, and
// what is no regular file stays what it is.
func TestReplace(t *testing.T) {
	means.Ends(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.svg")
	says := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error { io.WriteString(w, text); return err }
	}
	if err := Replace(file, says("old", nil)); err != nil {
		t.Fatal(err)
	}
	if err := Replace(file, says("half of the n", io.ErrShortWrite)); err != io.ErrShortWrite {
		t.Errorf("a writer that failed: %v", err)
	}
	if b, err := os.ReadFile(file); string(b) != "old" {
		t.Errorf("after a failed write there is %q, %v", b, err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 1 {
		t.Errorf("left behind: %v", es)
	}

	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if err := Replace(fifo, says("through", nil)); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("through the pipe came %q", s)
	}
	if st, err := os.Lstat(fifo); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is now %v, %v", st, err)
	}
}
