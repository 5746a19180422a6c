package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"fettle/internal/files"
)

// maxCapture is the most that is taken from one host, in bytes.
const maxCapture = 2 << 30

// Capture has fettle capture run on a host, with further arguments, and writes
// what comes back to a file, which it replaces whole; size is in bytes. A host
// that fails leaves no file behind.
func (f *Fleet) Capture(ctx context.Context, host string, args []string, name string) (size int64, err error) {
	file, err := files.Create(name, 0o600) // it shows much of a host
	if err != nil {
		return 0, err
	}
	defer file.Cleanup()
	w := &archiveWriter{w: file}
	exit, errs, err := f.Run(ctx, host, append([]string{"capture", "--output=-"}, args...), w)
	switch {
	case w.err != nil:
		return 0, fmt.Errorf("%s: %w", host, w.err)
	case err != nil:
		return 0, err
	case exit != 0:
		return 0, fmt.Errorf("%s: capturing there: exit status %d: %s", host, exit, strings.Join(strings.Fields(errs), " "))
	case w.n == 0:
		return 0, fmt.Errorf("%s: no capture came back", host)
	}
	return w.n, file.Commit()
}

// archiveWriter passes a zstd stream on, and drops what a login shell printed before it.
type archiveWriter struct {
	w    io.Writer
	head []byte
	n    int64
	err  error
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878 §3.1.1

func (a *archiveWriter) Write(p []byte) (int, error) {
	size := len(p)
	if a.err != nil {
		return 0, a.err
	}
	if a.n == 0 {
		a.head = append(a.head, p...)
		i := bytes.Index(a.head, zstdMagic)
		if i < 0 {
			if len(a.head) > 64<<10 {
				a.err = errors.New("what came back is no capture")
			}
			return size, a.err
		}
		p, a.head = a.head[i:], nil
	}
	if a.n += int64(len(p)); a.n > maxCapture {
		a.err = fmt.Errorf("the capture is larger than %d bytes", int64(maxCapture))
		return 0, a.err
	}
	if _, a.err = a.w.Write(p); a.err != nil {
		return 0, a.err
	}
	return size, nil
}
