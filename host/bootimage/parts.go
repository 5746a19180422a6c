package bootimage

import (
	"bufio"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"fettle/host/archive"
)

// open tells the form that b begins with and returns its unpacked stream. That
// ends with the first member, frame or stream, and leaves b behind it.
func open(b *bufio.Reader) (r io.Reader, form string, err error) {
	head, err := b.Peek(6)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	begins := func(magic string) bool { return len(head) >= len(magic) && string(head[:len(magic)]) == magic }
	switch {
	case begins("070701"), begins("070702"):
		return b, "cpio", nil
	case begins("\x1f\x8b"):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, "gzip", err
		}
		z.Multistream(false)
		return z, "gzip", nil
	case begins("\xfd7zXZ\x00"):
		r, err := archive.XZStream(b, window)
		return r, "xz", err
	case begins("\x28\xb5\x2f\xfd"):
		f := &frame{r: b}
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, "zstd", err
		}
		return &whole{z, f}, "zstd", nil
	case begins("BZh"):
		return bzip2.NewReader(b), "bzip2", nil
	case begins("\x02\x21\x4c\x18"), begins("\x04\x22\x4d\x18"):
		return nil, "lz4", errors.New("compressed with lz4, which fettle does not read")
	case begins("\x5d\x00\x00"):
		return nil, "lzma", errors.New("compressed with lzma, which fettle does not read")
	}
	return nil, "", fmt.Errorf("begins with %.6q: neither cpio nor compressed with gzip, xz, zstd or bzip2", head)
}

// whole is a frame's content. The decoder takes one that ends in its header for an empty one.
type whole struct {
	z *zstd.Decoder
	f *frame
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.z.Read(p)
	if err == io.EOF && !w.f.done {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// frame hands out one zstd frame and ends there (RFC 8878, section 3.1.1): the
// decoder by itself would read on, into what is no zstd.
type frame struct {
	r     *bufio.Reader
	begun bool
	sum   bool  // a checksum of four bytes follows the last block
	left  int64 // of what is handed out now
	last  bool
	head  []byte // read to find the way, and not yet handed out
	done  bool
}

func (f *frame) Read(p []byte) (int, error) {
	for {
		if len(f.head) > 0 {
			n := copy(p, f.head)
			f.head = f.head[n:]
			return n, nil
		}
		if f.left > 0 {
			n, err := f.r.Read(p[:min(int64(len(p)), f.left)])
			f.left -= int64(n)
			if n == 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
		if f.done {
			return 0, io.EOF
		}
		if err := f.next(); err != nil {
			return 0, err
		}
	}
}

func (f *frame) take(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(f.r, b)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	f.head = append(f.head, b...)
	return b, err
}

func (f *frame) next() error {
	if !f.begun {
		f.begun = true
		return f.header()
	}
	if f.last {
		f.done = true
		if f.sum {
			f.left = 4
		}
		return nil
	}
	b, err := f.take(3)
	if err != nil {
		return err
	}
	h := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
	f.last, f.left = h&1 == 1, int64(h>>3)
	if h>>1&3 == 1 { // RLE: one byte, repeated
		f.left = 1
	}
	return nil
}

// header is section 3.1.1.1: magic, descriptor, window, dictionary id, content size.
func (f *frame) header() error {
	b, err := f.take(5)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b) != 0xfd2fb528 {
		return errors.New("no zstd frame")
	}
	d := b[4]
	f.sum = d&4 != 0
	rest := []int{0, 1, 2, 4}[d&3] + []int{0, 2, 4, 8}[d>>6]
	if d&0x20 == 0 {
		rest++ // the window's descriptor
	} else if d>>6 == 0 {
		rest++ // one byte of content size
	}
	_, err = f.take(rest)
	return err
}
