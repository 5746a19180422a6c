package cli

import (
	"fmt"
	"io"
	"os"
)

// readFileAtMost reads a file that an admin names, if it has at most limit
// bytes: a device or the wrong file must not fill the memory.
func readFileAtMost(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, name, limit)
}

func readAtMost(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return b, err
}
