package trace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Formats are the names of what Open reads.
var Formats = []string{"blkparse", "blktrace", "iolog", "csv", "oracleGeneral"}

// Error is what is wrong with a trace, and where.
type Error struct {
	File   string
	Line   int   // of text; 0 when the file as a whole is meant
	Offset int64 // of binary records, in bytes; -1 for text
	Err    error
}

func (e *Error) Error() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	case e.Offset >= 0:
		return fmt.Sprintf("%s: at byte %d: %v", e.File, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}
func (e *Error) Unwrap() error { return e.Err }

// Open reads a trace. Several files are one trace, as blktrace writes one file
// a CPU; their requests are put in the order of time. An empty format is found
// out from the first bytes and the name. What zstd packed is unpacked.
func Open(format string, opt Options, files ...string) (*Trace, error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("no trace to read")
	}
	b, err := newBuilder(opt)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if err := b.file(name, format); err != nil {
			return nil, err
		}
	}
	t, err := b.done()
	if err != nil {
		return nil, &Error{File: strings.Join(files, ", "), Offset: -1, Err: err}
	}
	if len(files) > 1 && t.Times == nil {
		return nil, &Error{
			File:   strings.Join(files, ", "),
			Offset: -1,
			Err:    fmt.Errorf("several files are put in order by time, and these have none"),
		}
	}
	t.Name = filepath.Base(files[0])
	return t, nil
}

func (b *builder) file(name, format string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		return &Error{File: name, Offset: -1, Err: errors.New("is a folder, not a trace")}
	}
	b.bytes = st.Size() // 0 of pipes
	return b.read(f, name, format)
}

// Read is Open of what is at hand; the name is that of its errors.
func Read(r io.Reader, name, format string, opt Options) (*Trace, error) {
	b, err := newBuilder(opt)
	if err != nil {
		return nil, err
	}
	if err := b.read(r, name, format); err != nil {
		return nil, err
	}
	t, err := b.done()
	if err != nil {
		return nil, &Error{File: name, Offset: -1, Err: err}
	}
	t.Name = filepath.Base(name)
	return t, nil
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func (b *builder) read(r io.Reader, name, format string) error {
	in := bufio.NewReaderSize(r, 1<<16)
	if head, _ := in.Peek(4); bytes.Equal(head, zstdMagic) {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return &Error{File: name, Offset: -1, Err: err}
		}
		defer z.Close()
		b.bytes = 0
		in = bufio.NewReaderSize(whole{z}, 1<<16)
	}
	if format == "" {
		var err error
		if format, err = sniff(in, name); err != nil {
			return err
		}
	}
	switch format {
	case "blkparse":
		return b.lines(in, name, b.blkparse())
	case "blktrace":
		return b.blktrace(in, name)
	case "iolog":
		return b.lines(in, name, b.iolog())
	case "csv":
		return b.lines(in, name, b.csv())
	case "oracleGeneral":
		return b.oracle(in, name)
	}
	return fmt.Errorf("%s: trace format %q is not known; it is one of %s", name, format, strings.Join(Formats, ", "))
}

// whole says of what is packed that it is cut off, where it is: bare
// ErrUnexpectedEOF would speak of a record.
type whole struct{ r io.Reader }

func (w whole) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the compressed file is truncated")
	}
	return n, err
}

var blkparseLine = regexp.MustCompile(`^ *\d+,\d+ +\d+ +\d+ +\d+\.\d+ `)

// sniff tells the format from the first bytes and the name.
func sniff(in *bufio.Reader, name string) (string, error) {
	head, err := in.Peek(4096)
	if len(head) == 0 {
		if err != nil && err != io.EOF {
			return "", &Error{File: name, Offset: -1, Err: err}
		}
		return "", &Error{File: name, Offset: -1, Err: fmt.Errorf("is empty")}
	}
	if len(head) >= 4 && (binary.LittleEndian.Uint32(head)>>8 == blkMagic || binary.BigEndian.Uint32(head)>>8 == blkMagic) {
		return "blktrace", nil
	}
	base := filepath.Base(name)
	if strings.Contains(base, "oracleGeneral") {
		return "oracleGeneral", nil
	}
	if bytes.HasPrefix(head, []byte("fio version ")) {
		return "iolog", nil
	}
	for line := range bytes.Lines(head) {
		if blkparseLine.Match(line) {
			return "blkparse", nil
		}
	}
	for line := range bytes.Lines(head) {
		if line[0] == '#' {
			continue
		}
		if bytes.IndexByte(head, 0) < 0 && bytes.ContainsAny(line, ",;") {
			return "csv", nil
		}
		break
	}
	return "", &Error{
		File:   name,
		Offset: -1,
		Err:    fmt.Errorf("is not a trace with a known beginning; name its format, one of %s", strings.Join(Formats, ", ")),
	}
}

// maxLine is more than any format's lines have.
const maxLine = 64 << 10

// lines hands each line to parse and says in which one an error was.
func (b *builder) lines(in *bufio.Reader, name string, parse func(line string) error) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	n := 0
	for s.Scan() {
		n++
		if err := parse(strings.TrimSuffix(s.Text(), "\r")); err != nil {
			return &Error{File: name, Line: n, Offset: -1, Err: err}
		}
	}
	if err := s.Err(); err != nil {
		if err == bufio.ErrTooLong {
			err = fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		return &Error{File: name, Line: n + 1, Offset: -1, Err: err}
	}
	return nil
}
