package files

import (
	"fmt"
	"io"
	"os"
)

// ReadAtMost reads a file that an admin names, if it has at most limit
// bytes: a device or the wrong file must not fill the memory.
func ReadAtMost(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return AtMost(f, name, limit)
}

func AtMost(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return b, err
}
