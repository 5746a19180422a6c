package archive

import (
	"os"

	"golang.org/x/sys/unix"
)

// TempFile makes a temporary file that has no name, so that nothing of
// somebody's report is left behind, however fettle ends.
func TempFile() (*os.File, error) {
	dir := os.Getenv("TMPDIR")
	if dir == "" {
		// Large files belong in /var/tmp: /tmp is memory on many hosts
		// (systemd's "Using /tmp/ and /var/tmp/ Safely").
		if dir = "/var/tmp"; unix.Access(dir, unix.W_OK) != nil {
			dir = os.TempDir()
		}
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir+"/(unnamed)"), nil
	}
	return unlinkedTemp(dir) // a file system without O_TMPFILE
}
