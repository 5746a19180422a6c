//go:build unix

package rule

import (
	"io/fs"
	"os"
	"syscall"
)

func owner(st fs.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// openFolder opens a folder and nothing else: a pipe would make it wait, and
// a device act.
func openFolder(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

// openPlain opens without waiting for whoever is behind a pipe.
func openPlain(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
