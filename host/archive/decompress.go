package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"fettle/internal/units"
)

// formats are told by how a file begins, never by its name.
var formats = []struct {
	name   string
	offset int
	magic  string
	open   func(context.Context, *os.File, Limits) (io.ReadCloser, error)
}{
	{"gzip", 0, "\x1f\x8b", func(_ context.Context, f *os.File, _ Limits) (io.ReadCloser, error) { return gzip.NewReader(f) }},
	{"xz", 0, xzMagic, func(_ context.Context, f *os.File, l Limits) (io.ReadCloser, error) { return newXZReader(f, l.Window) }},
	{"zstd", 0, "\x28\xb5\x2f\xfd", func(_ context.Context, f *os.File, l Limits) (io.ReadCloser, error) {
		d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(l.Window)), zstd.WithDecoderMaxMemory(uint64(l.Unpacked)))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
	{"bzip2", 0, "BZh", func(_ context.Context, f *os.File, _ Limits) (io.ReadCloser, error) {
		return io.NopCloser(bzip2.NewReader(bufio.NewReader(f))), nil
	}},
	{"tar", 257, "ustar", func(_ context.Context, f *os.File, _ Limits) (io.ReadCloser, error) { return io.NopCloser(f), nil }},
}

// decompress finds the format of f and returns its unpacked stream.
func decompress(ctx context.Context, f *os.File, lim Limits) (io.ReadCloser, error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	for _, fm := range formats {
		if fm.offset < n && bytes.HasPrefix(head[fm.offset:n], []byte(fm.magic)) {
			r, err := fm.open(ctx, f, lim)
			if err != nil {
				return nil, fmt.Errorf("not readable as %s: %w", fm.name, err)
			}
			return r, nil
		}
	}
	return nil, ErrFormat
}

// ErrFormat is a file that is no archive fettle knows.
var ErrFormat = fmt.Errorf("not a tar archive (plain, or compressed with gzip, xz, zstd or bzip2)")

// meter watches the unpacked stream: how long it is, how it compares with
// what was read of the packed file, and whether the user gave up.
type meter struct {
	ctx   context.Context
	r     io.Reader
	file  *os.File // its offset is how much was read
	lim   Limits
	n     int64
	large bool
	usual int // how far the heap grew before the stream was large (GOGC)
}

// largeStream are more bytes than a host of some hundred answers has. To look at a program's whole
// heap, as a change of GOGC does, takes longer than to read those.
const largeStream = 4 << 20

// end ends what a large stream has changed.
func (m *meter) end() {
	if m.large {
		debug.SetGCPercent(m.usual)
	}
}

func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, fmt.Errorf("interrupted")
	}
	n, err := m.r.Read(p)
	if merr := m.count(int64(n)); merr != nil {
		return n, merr
	}
	return n, err
}

// count adds to what was unpacked.
func (m *meter) count(n int64) error {
	if m.n += n; m.n > m.lim.Unpacked {
		return fmt.Errorf("unpacks to more than %s: refused", units.Size(m.lim.Unpacked))
	}
	if m.n > largeStream && !m.large {
		// A dictionary of 64 MiB would let the heap grow to twice that and more
		// before the collector looks at it.
		m.large, m.usual = true, debug.SetGCPercent(25)
	}
	if m.n > 64<<20 {
		if packed, err := m.file.Seek(0, io.SeekCurrent); err == nil && m.n > packed*m.lim.Ratio {
			return fmt.Errorf("unpacks to over %d times its size: refused as a decompression bomb", m.lim.Ratio)
		}
	}
	return nil
}

// copy copies a member's content. What the tar reader makes up, the zeros of a
// sparse member's holes, counts as if it had been read.
func (m *meter) copy(w io.Writer, member io.Reader, buf []byte) (total int64, err error) {
	for {
		before := m.n
		n, err := member.Read(buf)
		if made := int64(n) - (m.n - before); made > 0 {
			if err := m.count(made); err != nil {
				return total, err
			}
		}
		if _, werr := w.Write(buf[:n]); werr != nil {
			return total, werr
		}
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
