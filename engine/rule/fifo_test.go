//go:build unix

package rule

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

func mkfifo(t *testing.T, name string) { must(t, syscall.Mkfifo(name, 0o644)) }

// TestFolderThatIsNone: a folder of rules that is a pipe, or a device, holds
// nobody up and is not opened.
func TestFolderThatIsNone(t *testing.T) {
	dir := t.TempDir()
	fifo, link, zero := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "zero")
	mkfifo(t, fifo)
	must(t, os.Symlink(fifo, link))
	must(t, os.Symlink("/dev/zero", zero))
	done := make(chan []Refused, 1)
	go func() {
		_, refused := Load([]string{fifo, link, zero}, nil, nil)
		done <- refused
	}()
	select {
	case refused := <-done:
		if len(refused) != 3 {
			t.Errorf("refused: %v", refused)
		}
	case <-time.After(means.Patience):
		t.Fatal("reading the folders hangs")
	}
}

// TestDirsUnderSudo: the home of who called sudo is not root's.
func TestDirsUnderSudo(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, ".config/fettle/traps.d"), 0o755))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("SUDO_UID", "")
	own := filepath.Join(home, ".config/fettle/traps.d")
	if !slices.Contains(Dirs(), own) {
		t.Errorf("without sudo: %v", Dirs())
	}
	t.Setenv("SUDO_UID", "1000")
	if got := slices.Contains(Dirs(), own); got != (os.Geteuid() != 0) {
		t.Errorf("under sudo, as user %d: %v", os.Geteuid(), Dirs())
	}
}
