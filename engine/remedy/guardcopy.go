package remedy

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// copyProgram puts the program, or the running one, beside the journal, so that
// an upgrade or removal of the package does not disarm the guard.
func copyProgram(c *Change, program string) (string, error) {
	self, content := program, program
	if program == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return "", err
		}
		content = "/proc/self/exe" // the running one, also when an upgrade put another in its place
	}
	src, err := os.Open(content)
	if err != nil {
		return "", err
	}
	defer src.Close()
	if noExec(c.dir()) { // a copy would not start
		return self, stays(self, src)
	}
	dst, err := c.store.root.OpenFile(c.in("fettle"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Sync()
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = c.store.disk.Sync(inStore(c.ID))
	}
	if err != nil {
		return "", fmt.Errorf("copying fettle beside the journal: %w", err)
	}
	return filepath.Join(c.dir(), "fettle"), nil
}

// stays tells whether a guard may start the program by its path: it must be
// the running one, and lie where only root can put another in its place.
func stays(self string, running *os.File) error {
	now, err := os.Stat(self)
	if err != nil {
		return fmt.Errorf("finding fettle's own program: %w", err)
	}
	if was, err := running.Stat(); err != nil || !os.SameFile(was, now) {
		return fmt.Errorf("%s was replaced while it ran: run it again", self)
	}
	if _, err := rootsPath(filepath.Dir(self)); err != nil {
		return fmt.Errorf("the folder of changes is mounted noexec, so the guard would have to start %s: %w", self, err)
	}
	return nil
}
